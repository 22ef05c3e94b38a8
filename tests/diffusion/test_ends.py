"""Images beside other work: cancelled, closed and unloaded, without threads or memory left behind."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from artist import body, files, paint
from tiny_diffusion import Parts

import sotto
from conftest import load

MANY = 900  # steps, more than any test waits for
CANCELS = int(os.environ.get("SOTTO_TEST_KILLS", 60))


def ends(engine: sotto.Engine, requests: set[int]) -> dict[int, sotto.Event]:
    """The last event of each request."""
    found: dict[int, sotto.Event] = {}
    while len(found) < len(requests):
        assert engine.wait(60)
        found |= {event.request: event for event in engine.events() if event.kind == "request_done"}
    return found


def until_step(engine: sotto.Engine, request: int, steps: int) -> None:
    """Waits until an image has some steps."""
    seen = 0
    while seen < steps:
        assert engine.wait(60)
        seen += sum(event.request == request and event.kind == "progress" for event in engine.events())


def threads() -> int:
    """Threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))


def falls_to(count: int) -> bool:
    """Whether threads end: a request's end is told a moment before its stream is closed."""
    late = time.monotonic() + 5
    while threads() > count and time.monotonic() < late:
        time.sleep(0.005)
    return threads() <= count


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_cancelled_image_ends_within_a_step(painter: sotto.Engine) -> None:
    began = time.monotonic()
    assert paint(painter, "m", steps=40)
    step = (time.monotonic() - began) / 41
    for steps in (1, 5):
        request = painter.submit("image_generate", body("m", steps=MANY))
        until_step(painter, request, steps)
        began = time.monotonic()
        assert painter.cancel(request)
        (last,) = ends(painter, {request}).values()
        assert last.status == sotto.Status.CANCELLED
        assert time.monotonic() - began < 0.25 + 3 * step  # the machine may be busy


def test_a_step_is_cancelled_in_its_middle(engine: sotto.Engine, parts: Parts) -> None:
    load(engine, parts, max_pixels=512 * 512)
    wide = body("m", size="512x512", steps=MANY)
    for share in (0.1, 0.3, 0.6, 0.9):
        request = engine.submit("image_generate", wide)
        until_step(engine, request, 1)
        began = time.monotonic()
        until_step(engine, request, 1)
        step = time.monotonic() - began
        time.sleep(share * step)
        began = time.monotonic()
        assert engine.cancel(request)
        (last,) = ends(engine, {request}).values()
        assert last.status == sotto.Status.CANCELLED
        assert time.monotonic() - began < max(0.25, 0.4 * step)  # the machine may be busy


def test_cancels_at_random_moments_leave_no_thread_and_no_memory(painter: sotto.Engine) -> None:
    chance = random.Random(3)
    (before,) = files(painter, "m")
    idle = threads()

    def cancel(times: int) -> int:
        for _ in range(times):
            size = chance.choice(("64x64", "32x48"))
            request = painter.submit("image_generate", body("m", steps=MANY, n=2, size=size))
            time.sleep(chance.uniform(0, 0.15))
            painter.cancel(request)
            assert ends(painter, {request})[request].status == sotto.Status.CANCELLED
        return resident()

    start = cancel(CANCELS // 2)
    assert min(cancel(CANCELS // 4), cancel(CANCELS // 4)) - start < 32 << 20
    assert falls_to(idle)
    assert files(painter, "m") == [before]


def test_requests_wait_for_each_other(painter: sotto.Engine) -> None:
    alone = {seed: files(painter, "m", seed=seed) for seed in range(4)}
    requests = {painter.submit("image_generate", body("m", seed=seed)): seed for seed in range(4)}
    assert all(last.status == 0 for last in ends(painter, set(requests)).values())
    assert {seed: files(painter, "m", seed=seed) for seed in range(4)} == alone


def test_two_models_generate_at_the_same_time(engine: sotto.Engine, parts: Parts) -> None:
    for name in ("one", "two"):
        load(engine, parts, name)
    alone = files(engine, "one", embed_metadata=False)
    requests = {engine.submit("image_generate", body(name, steps=20)) for name in ("one", "two")}
    assert all(last.status == 0 for last in ends(engine, requests).values())
    assert files(engine, "two", embed_metadata=False) == alone


def test_an_engine_that_is_closed_amid_an_image_leaves_nothing(parts: Parts) -> None:
    before = threads()
    for unload in (False, True):
        with sotto.Engine("cpu", mode="prioritize_compute") as engine:
            load(engine, parts)
            request = engine.submit("image_generate", body("m", steps=MANY))
            until_step(engine, request, 2)
            if unload:
                engine.unload_model("m")
                assert engine.memory()["used"] == 0
                (last,) = ends(engine, {request}).values()
                assert last.status < 0 and last.error
        assert falls_to(before)


def test_memory_is_counted_and_comes_back_with_the_model(parts: Parts) -> None:
    held = []
    for _ in range(8):
        with sotto.Engine("cpu", mode="prioritize_compute") as engine:
            load(engine, parts)
            told = engine.memory()
            weights = sum(Path(path).stat().st_size for path in parts.options.values())
            assert 0.9 * weights < told["uses"]["weights"]["used"] < 1.3 * weights
            assert paint(engine, "m")["data"]
            engine.unload_model("m")
            assert engine.memory()["used"] == 0
        held.append(resident())
    assert min(held[-3:]) - max(held[:3]) < 32 << 20  # glibc keeps memory per thread


def test_the_budget_holds_the_largest_image(parts: Parts) -> None:
    with sotto.Engine("cpu", mode="prioritize_compute", vram_budget_mb=400) as engine:
        try:
            load(engine, parts, max_pixels=1 << 20, size="1024x1024")
        except sotto.ModelLoadError as refusal:
            assert refusal.status == sotto.Status.BUDGET
        else:
            raise AssertionError("a model of 1024x1024 was loaded in 400 MB")
        load(engine, parts)
        assert 0 < engine.memory()["used"] < 400 << 20 and files(engine, "m")


def test_a_model_is_loaded_and_unloaded_while_another_generates(painter: sotto.Engine, parts: Parts) -> None:
    (before,) = files(painter, "m")
    request = painter.submit("image_generate", body("m", steps=MANY))
    until_step(painter, request, 2)
    load(painter, parts, "other")
    assert paint(painter, "other")["data"]
    painter.unload_model("other")
    painter.cancel(request)
    ends(painter, {request})
    assert files(painter, "m") == [before]
