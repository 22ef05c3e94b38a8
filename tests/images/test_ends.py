"""Images beside other work: cancelled, closed and unloaded, without threads or memory left behind."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from artist import PROMPT, body, files, paint

import sotto
from sotto.backends import Backend, Model, ModelInfo, Request, Source
from sotto.backends.base import Part
from sotto.backends.diffusers.turns import Stopped, Turns

MANY = 400  # steps, more than any test waits for


class Talker(Backend):
    """Chats, a word a step."""

    name = "talker"

    def open(self, source: Source) -> Model:
        """Opens the only model."""
        return TalkerModel()


class TalkerModel(Model):
    """Says as many words as it is asked for."""

    info = ModelInfo(weights=1, streams=4)

    def chat(self, request: Request) -> Iterator[str]:
        """Counts."""
        for word in range(request.body["max_tokens"]):
            time.sleep(0.002)
            yield f"{word} "


def threads() -> int:
    """Threads that generate images."""
    return sum(thread.name == "sotto-diffusers" for thread in threading.enumerate())


def none_left() -> bool:
    """Whether the threads end: a request's end is told a moment before its stream is closed."""
    late = time.monotonic() + 5
    while threads() and time.monotonic() < late:
        time.sleep(0.005)
    return not threads()


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


def test_a_cancelled_image_ends_within_a_step(painter: sotto.Engine) -> None:
    for model in ("pixart", "sd"):
        began = time.monotonic()
        assert paint(painter, model, steps=40)
        step = (time.monotonic() - began) / 41
        request = painter.submit("image_generate", body(model, steps=MANY))
        until_step(painter, request, 5)
        began = time.monotonic()
        painter.cancel(request)
        (last,) = ends(painter, {request}).values()
        assert last.status == sotto.Status.CANCELLED
        assert time.monotonic() - began < 0.25 + 3 * step  # the machine may be busy
        assert none_left()


def test_cancels_at_random_moments_leave_no_thread_and_no_memory(painter: sotto.Engine) -> None:
    chance, process = random.Random(3), psutil.Process()
    (before,) = files(painter, "sd")

    def cancel(times: int) -> int:
        for _ in range(times):
            model = chance.choice(("pixart", "sd"))
            fields: dict[str, Any] = {"size": chance.choice(("32x32", "32x48")), "partial_images": 3}
            request = painter.submit("image_generate", body(model, steps=MANY, n=2, **fields))
            time.sleep(chance.uniform(0, 0.08))
            painter.cancel(request)
            assert ends(painter, {request})[request].status == sotto.Status.CANCELLED
        gc.collect()
        return int(process.memory_info().rss)

    start = cancel(60)  # the libraries keep some memory per size
    assert min(cancel(30), cancel(30)) - start < 8 << 20
    assert none_left()
    assert files(painter, "sd") == [before]


def test_a_chat_goes_on_beside_an_image(engine: sotto.Engine, pixart: Path) -> None:
    engine.add_backend(Talker())
    engine.load_model("npc", path="-", backend="talker")
    engine.load_model("m", path=pixart, backend="diffusers")
    request = engine.submit("image_generate", body("m", steps=200))
    chat = engine.submit(
        "chat", {"model": "npc", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 100}
    )
    came: list[str] = []
    while came.count("request_done") < 2:
        assert engine.wait(60)
        for event in engine.events():
            if event.kind == "request_done":
                assert event.status == 0, event.error
                came.append("request_done")
            elif event.kind in ("text", "progress"):
                came.append({request: "step", chat: "word"}[event.request])
    words = [at for at, what in enumerate(came) if what == "word"]
    assert sum(what == "step" for what in came[words[0] : words[-1]]) >= 3
    assert none_left()


def test_requests_wait_for_each_other(painter: sotto.Engine) -> None:
    requests = {painter.submit("image_generate", body("sd", seed=at)) for at in range(6)}
    assert all(last.status == 0 for last in ends(painter, requests).values())
    assert none_left()


def test_an_engine_that_is_closed_amid_an_image_leaves_nothing(pixart: Path) -> None:
    from sotto.backends.diffusers import Diffusers

    for unload in (False, True):
        with sotto.Engine("cpu") as engine:
            engine.add_backend(Diffusers())
            engine.load_model("m", path=pixart, backend="diffusers")
            request = engine.submit("image_generate", body("m", steps=MANY))
            until_step(engine, request, 2)
            if unload:
                engine.unload_model("m")
                assert engine.memory()["used"] == 0
        assert threads() == 0


def test_memory_comes_back_with_the_model(engine: sotto.Engine, stable_diffusion: Path) -> None:
    import weakref

    from diffusers import UNet2DConditionModel

    engine.load_model("m", path=stable_diffusion, backend="diffusers")
    gc.collect()
    alive = [weakref.ref(one) for one in gc.get_objects() if isinstance(one, UNet2DConditionModel)]
    assert paint(engine, "m", prompt=PROMPT)
    engine.unload_model("m")
    assert sum(one() is None for one in alive) == 1


def test_turns_alternate() -> None:
    computing: list[str] = []

    def work(turns: Turns) -> None:
        for at in range(3):
            computing.append("function")
            turns.hand_over(Part(units=at))

    turns = Turns(work)
    assert not computing
    for at in range(3):
        part = turns.advance(lambda: False)
        assert part is not None and part.units == at
        before = list(computing)
        time.sleep(0.01)
        assert computing == before == ["function"] * (at + 1)
    assert turns.advance(lambda: False) is None and threads() == 0
    turns.close()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a scheduling class on Linux")
def test_the_function_computes_in_the_scheduling_class_of_its_caller() -> None:
    found: list[int] = []

    def work(turns: Turns) -> None:
        for _ in range(3):
            found.append(os.sched_getscheduler(0))
            turns.hand_over(Part())

    def call() -> None:
        turns = Turns(work)
        for policy in (os.SCHED_OTHER, os.SCHED_IDLE, os.SCHED_OTHER):
            os.sched_setscheduler(0, policy, os.sched_param(0))
            turns.advance(lambda: False)
        turns.close()

    caller = threading.Thread(target=call)
    caller.start()
    caller.join()
    assert found == [os.SCHED_OTHER, os.SCHED_IDLE, os.SCHED_OTHER] and threads() == 0


def test_a_cancelled_function_is_unwound_at_its_pause() -> None:
    unwound: list[BaseException] = []

    def work(turns: Turns) -> None:
        try:
            while True:
                time.sleep(0.003)
                turns.pause()
        except Stopped as stop:
            unwound.append(stop)
            raise

    turns = Turns(work)
    asked = iter([False, False, True])
    assert turns.advance(lambda: next(asked)) is None
    assert unwound and threads() == 0


def test_an_error_of_the_function_reaches_the_caller() -> None:
    def work(turns: Turns) -> None:
        raise ValueError("the brush broke")

    turns = Turns(work)
    with pytest.raises(ValueError, match="the brush broke"):
        turns.advance(lambda: False)
    assert threads() == 0 and turns.advance(lambda: False) is None


def test_a_function_that_never_began_needs_no_thread() -> None:
    turns = Turns(lambda turns: None)
    turns.close()
    assert turns.advance(lambda: False) is None and threads() == 0
