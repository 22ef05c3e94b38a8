"""The memory budget: what is told of memory, plans, and the ceiling that holds whatever happens under it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED
from ledger import HOUSE, MB, mb, states, until
from sotto._lib import library_folder
from talk import chat, content, figures, load_endless, spoken

USES = ["weights", "kv", "compute", "adapter", "image", "spilled_kv"]
Open = Callable[..., sotto.Engine]


def scratch_files(folder: Path) -> list[str]:
    """Paths that open files of a folder which have no name, as parked characters do, can be opened by."""
    paths = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [path for path in paths if os.path.realpath(path).startswith(f"{folder}/")]


# What is told


def test_what_is_told_adds_up(engine: sotto.Engine) -> None:
    engine.load_model("one", options={"weights": 30 * MB, "kv": 8 * MB, "compute": 2 * MB, "streams": 2})
    engine.load_model("two", options={"weights": 5 * MB})
    told = engine.memory()
    assert (told["budget"], told["over"]) == (0, 0)
    assert list(told["uses"]) == USES
    assert told["used"] == told["peak"] == 45 * MB == sum(use["used"] for use in told["uses"].values())
    for name, use in told["uses"].items():
        assert use["used"] == sum(model[name] for model in told["models"]), name
    assert states(told) == {"one": "ready", "two": "ready"}
    places = {model["id"]: (model["streams"], model["max_streams"]) for model in told["models"]}
    assert places == {"one": (2, 2), "two": (4, 4)}
    assert told["parked"] == {"count": 0, "memory": 0, "disk": 0}
    stats = figures(engine, lambda now: now.bytes_in_use == 45 * MB)
    assert (stats.vram_budget, stats.bytes_peak, stats.bytes_parked, stats.models_evicted) == (
        0,
        45 * MB,
        0,
        0,
    )
    assert (stats.bytes_weights, stats.bytes_kv, stats.bytes_compute) == (35 * MB, 8 * MB, 2 * MB)
    engine.unload_model("one")
    assert (engine.memory()["used"], engine.memory()["peak"]) == (5 * MB, 45 * MB)
    until(engine, lambda told: states(told) == {"two": "ready"})


def test_the_system_is_asked_too(engine: sotto.Engine) -> None:
    system = engine.memory()["system"]
    assert system is not None
    assert 0 < system["available"] <= system["total"] and system["total"] > 64 * MB
    assert 0 < system["process"] < system["total"] and system["mapped"] > 0


@pytest.mark.real
def test_a_real_models_memory_is_told(real_engine: sotto.Engine) -> None:
    told = real_engine.memory()
    (house,) = (model for model in told["models"] if model["id"] == HOUSE)
    (listed,) = (model for model in json.loads(real_engine.model_list()) if model["id"] == HOUSE)
    assert listed["bytes"] == {name: house[name] for name in ("weights", "kv", "compute", "host")}
    assert house["weights"] > 0 and house["kv"] > 0 and house["compute"] > 0
    assert (house["state"], house["streams"]) == ("ready", listed["streams"])


def test_asyncio_tells_the_same(engine: sotto.Engine) -> None:
    options = {"weights": 30 * MB}

    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, vram_budget_mb=40, kv_spill_memory_mb=2) as other:
            plan = await other.plan_model("npc", options=options)
            assert plan["fits"] and plan == {**engine.plan_model("npc", budget_mb=40, options=options)}
            assert (await other.plan_model("npc", budget_mb=8, options=options))["rung"] is None
            await other.load_model("npc", options=options)
            assert (other.memory()["used"], other.memory()["budget"]) == (30 * MB, 40 * MB)
            with pytest.raises(sotto.ModelLoadError, match="does not exist"):
                await other.plan_model("/nowhere/x.gguf")
        with pytest.raises(sotto.SottoError, match="engine is closed"):
            await other.plan_model("npc")

    asyncio.run(main())


# The ceiling, while they speak

ASKED = [
    "Tell me of the old mill by the river.",
    "Who guards the gate at night?",
    "What does a bed cost here?",
    "What news from the north?",
]


def speak(engine: sotto.Engine, meanwhile: Callable[[], None] = lambda: None) -> list[str]:
    """What four streams say at once; `meanwhile` happens once each has begun."""
    streams = [
        engine.llm_chat_completion_stream(
            chat(asked, model=HOUSE, max_tokens=60, temperature=0, ignore_eos=True), target_tps=40
        )
        for asked in ASKED
    ]
    begun = [next(stream) for stream in streams]
    meanwhile()
    return [spoken([first, *stream]) for first, stream in zip(begun, streams, strict=True)]


@pytest.fixture(scope="module")
def undisturbed() -> list[str]:
    """What they say where nothing is short."""
    with sotto.Engine(mode="prioritize_compute", threads=1, deterministic=True) as engine:
        engine.load_model(HOUSE)
        said = speak(engine)
    assert all(said) and len(set(said)) == len(said)
    return said


def one_place(engine: sotto.Engine) -> int:
    """Megabytes into which the house model fits as it is, but with a single place."""
    (rung,) = engine.plan_model(HOUSE, options={"parallel": 1, "kv_type": "f16"})["rungs"]
    return mb(rung["bytes"])


@pytest.mark.real
def test_lowering_parks_streams_and_they_say_the_same(open_house: Open, undisturbed: list[str]) -> None:
    engine = open_house(deterministic=True)
    engine.load_model(HOUSE)
    before = engine.memory()["used"]
    budget = one_place(engine) + 2  # and room for those that are parked
    assert budget * MB < before

    def lower() -> None:
        engine.set_vram_budget_mb(budget)
        told = until(engine, lambda told: told["over"] == 0 and told["models"][0]["streams"] < 4)
        assert told["used"] <= told["budget"] == budget * MB
        assert told["models"][0]["max_streams"] == 4
        until(engine, lambda told: told["parked"]["count"] > 0)
        assert figures(engine, lambda now: now.parked > 0).vram_budget == budget * MB

    assert speak(engine, lower) == undisturbed
    assert until(engine, lambda told: told["parked"]["count"] == 0)["over"] == 0
    assert engine.stats().failed == 0
    engine.set_vram_budget_mb(0)
    assert speak(engine) == undisturbed
    assert engine.memory()["models"][0]["streams"] == 4, "places come back with the room"


@pytest.mark.real
def test_a_budget_that_changes_all_the_time_changes_no_answer(
    open_house: Open, undisturbed: list[str]
) -> None:
    engine = open_house(deterministic=True)
    engine.load_model(HOUSE)
    budgets = [0, one_place(engine) + 2, 4096, one_place(engine) + 6]

    def change() -> None:
        for number in range(40):
            engine.set_vram_budget_mb(budgets[number % len(budgets)])
            time.sleep(0.016)
        engine.set_vram_budget_mb(0)

    assert speak(engine, change) == undisturbed
    assert engine.stats().failed == 0


@pytest.mark.real
@pytest.mark.parametrize("kept", ["in files", "read-only", "files vanish", "the folder vanishes"])
def test_wherever_they_are_parked_they_say_the_same(
    open_house: Open, undisturbed: list[str], tmp_path: Path, kept: str
) -> None:
    folder = Path("/proc") if kept == "read-only" else tmp_path / "Räume"  # that one for root, too
    folder.mkdir(exist_ok=True)
    engine = open_house(deterministic=True, kv_spill_dir=folder, kv_spill_memory_mb=1)
    engine.load_model(HOUSE)
    if kept == "the folder vanishes":
        folder.rmdir()
    budget = one_place(engine)  # and next to none for those that are parked

    def lower() -> None:
        engine.set_vram_budget_mb(budget)
        until(engine, lambda told: told["budget"] == budget * MB and told["over"] == 0)
        if kept in ("in files", "files vanish"):
            until(engine, lambda told: told["parked"]["disk"] > 0)
            assert scratch_files(folder) and not list(folder.iterdir())
        if kept == "files vanish":
            for file in scratch_files(folder):
                os.truncate(file, 0)

    assert speak(engine, lower) == undisturbed
    assert engine.stats().failed == 0
    engine.close()
    assert kept == "read-only" or not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.real
def test_a_model_that_sleeps_comes_back_when_it_is_asked(open_house: Open, undisturbed: list[str]) -> None:
    engine = open_house(deterministic=True)
    engine.load_model(HOUSE)
    assert speak(engine) == undisturbed
    engine.set_vram_budget_mb(1)
    told = until(engine, lambda told: states(told) == {HOUSE: "evicted"} and told["over"] == 0)
    assert told["used"] <= MB
    assert figures(engine, lambda now: now.models_evicted == 1).bytes_in_use <= MB
    for on_budget in ("fail", "wait"):  # it could not fit, however long it waits
        with pytest.raises(sotto.InferenceError, match=r"needs \d+ MB.* of the budget of 1 MB") as caught:
            engine.llm_chat_completion(chat(model=HOUSE, on_budget=on_budget))
        assert caught.value.status == -4
    engine.set_vram_budget_mb(4096)
    assert speak(engine) == undisturbed
    assert states(engine.memory()) == {HOUSE: "ready"}
    figures(engine, lambda now: now.models_evicted == 0)


@pytest.mark.real
@pytest.mark.parametrize(("part", "other"), [(1.8, "ready"), (1.1, "evicted")])
def test_two_models_take_turns_under_a_budget_for_one(open_house: Open, part: float, other: str) -> None:
    engine = open_house(deterministic=True)
    file = library_folder() / "house.gguf"
    engine.load_model("one", path=file, options={"parallel": 1, "kv_type": "f16", "context": 1024})
    budget = mb(engine.memory()["used"] * part)
    engine.set_vram_budget_mb(budget)
    engine.load_model("two", path=file, options={"parallel": 1, "kv_type": "f16", "context": 1024})
    said = set()
    for _ in range(3):
        for model in ("one", "two"):
            asked = chat(ASKED[1], model=model, max_tokens=12, temperature=0)
            said.add(content(engine.llm_chat_completion(asked)))
            told = engine.memory()
            assert states(told) == {"one": other, "two": other, model: "ready"}
            assert {one["id"]: one["streams"] for one in told["models"]} == {"one": 0, "two": 0, model: 1}
    assert len(said) == 1
    assert engine.memory()["peak"] <= budget * MB


def test_idle_models_give_way_the_one_unused_longest_first(open_engine: Open) -> None:
    engine = open_engine(vram_budget_mb=100)
    for name in ("a", "b", "c"):
        engine.load_model(name, options={"weights": 30 * MB})
    assert content(engine.llm_chat_completion(chat("hello", model="a"))) == "hello"
    engine.load_model("d", options={"weights": 30 * MB})
    assert states(engine.memory()) == {"a": "ready", "b": "evicted", "c": "ready", "d": "ready"}
    assert content(engine.llm_chat_completion(chat("wake up", model="b"))) == "wake up"
    told = engine.memory()
    assert states(told) == {"a": "ready", "b": "ready", "c": "evicted", "d": "ready"}
    assert (told["used"], told["peak"]) == (90 * MB, 90 * MB)


def test_a_request_waits_for_room_or_does_not(open_engine: Open) -> None:
    engine = open_engine(vram_budget_mb=100)
    engine.load_model("npc", options={"weights": 60 * MB})
    load_endless(engine, "busy", weights=60 * MB)
    with engine.llm_chat_completion_stream(chat(model="busy")) as busy:
        next(busy)
        with pytest.raises(
            sotto.InferenceError, match=r"npc needs 60 MB.*; 60 MB of the budget of 100 MB.*on_budget"
        ) as caught:
            engine.llm_chat_completion(chat("now or never", model="npc", on_budget="fail"))
        assert caught.value.status == -4
        request = engine.submit("chat", chat("patience", model="npc"))
        figures(engine, lambda now: now.waiting == 1)
        assert next(busy) and states(engine.memory())["npc"] in ("evicted", "loading")
    told = []
    while not told or told[-1].kind != "request_done":
        assert engine.wait(10)
        told += list(engine.events())
    assert {event.request for event in told} == {request} and told[-1].status == 0
    assert "".join(event.text for event in told if event.kind == "text") == "patience"


def test_a_budget_that_threads_quarrel_over_fails_nobody(open_engine: Open) -> None:
    engine = open_engine()
    names = ["a", "b", "c"]
    for name in names:
        engine.load_model(name, options={"weights": 40 * MB, "token_ms": 1})
    over = threading.Event()
    wrong: list[object] = []

    def talk(number: int) -> None:
        for turn in range(12):
            said = f"{number} says {turn}"
            try:
                heard = content(engine.llm_chat_completion(chat(said, model=names[(number + turn) % 3])))
            except Exception as error:
                heard = repr(error)
            if heard != said:
                wrong.append(heard)

    def change(budgets: list[int]) -> None:
        for budget in itertools.cycle(budgets):
            if over.is_set():
                return
            engine.set_vram_budget_mb(budget)
            engine.memory()
            time.sleep(0.004)

    talkers = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    changers = [threading.Thread(target=change, args=(budgets,)) for budgets in ([50, 90, 0], [45, 1000])]
    for thread in [*talkers, *changers]:
        thread.start()
    for thread in talkers:
        thread.join(60)
    over.set()
    for thread in changers:
        thread.join(10)
    assert wrong == [] and not any(thread.is_alive() for thread in [*talkers, *changers])
    engine.set_vram_budget_mb(45)
    assert until(engine, lambda told: told["budget"] == 45 * MB and told["over"] == 0)["used"] <= 45 * MB


@pytest.mark.real
def test_who_may_shrink_comes_back_smaller(open_house: Open) -> None:
    engine = open_house()
    engine.load_model(HOUSE)
    engine.set_vram_budget_mb(1)
    until(engine, lambda told: states(told) == {HOUSE: "evicted"} and told["over"] == 0)
    small = engine.plan_model(HOUSE, options={"parallel": 1, "kv_type": "q8_0"})["rungs"][0]
    engine.set_vram_budget_mb(mb(small["bytes"]))
    asked = {"model": HOUSE, "max_tokens": 8}
    with pytest.raises(sotto.InferenceError, match="of the budget of") as caught:
        engine.llm_chat_completion(chat(ASKED[1], **asked))
    assert caught.value.status == -4
    assert content(engine.llm_chat_completion(chat(ASKED[1], **asked, on_budget="shrink")))
    told = engine.memory()
    assert told["used"] <= told["budget"] and told["models"][0]["streams"] == 1


# Bad input

NAN = float("nan")
BAD: list[tuple[Callable[[sotto.Engine], Any], type[Exception], str]] = [
    (lambda e: e.set_vram_budget_mb(True), TypeError, "invalid mb 'True': expected an integer"),
    (lambda e: e.set_vram_budget_mb(NAN), TypeError, "invalid mb 'nan': expected an integer"),
    (lambda e: e.set_vram_budget_mb(-1), ValueError, "invalid mb '-1': expected an integer from 0"),
    (lambda e: e.set_vram_budget_mb(10**30), ValueError, "invalid mb '1000000"),
    (lambda e: e.plan_model("npc", budget_mb=-1), ValueError, "invalid budget_mb '-1': expected an integer"),
    (lambda e: e.plan_model("npc", budget_mb=1 << 44), ValueError, "invalid budget_mb '17592186044416'"),
    (lambda e: e.plan_model("npc", budget_mb=NAN), TypeError, "invalid budget_mb 'nan': expected an integer"),
    (lambda e: e.plan_model("npc", budget_mb=1.5), TypeError, "invalid budget_mb '1.5'"),
    (lambda e: e.plan_model("npc", budget_mb="40"), TypeError, "invalid budget_mb '40'"),
    (lambda e: e.plan_model("npc", budget_mb=True), TypeError, "invalid budget_mb 'True'"),
    (lambda e: e.plan_model("npc", budget_mb=None), TypeError, "invalid budget_mb 'None'"),
    (lambda e: e.plan_model(7), TypeError, "invalid model_id '7': expected a str"),
    (lambda e: e.plan_model(""), ValueError, "invalid model_id ''"),
    (lambda e: e.plan_model("npc", options=7), TypeError, "invalid options '7': expected a str of JSON"),
    (lambda e: sotto.Engine(vram_budget_mb=True), TypeError, "invalid vram_budget_mb 'True'"),
    (lambda e: sotto.Engine(kv_spill_memory_mb=-1), ValueError, "invalid kv_spill_memory_mb '-1'"),
    (lambda e: sotto.Engine(kv_spill_memory_mb=1 << 44), ValueError, "invalid kv_spill_memory_mb '175921"),
    (lambda e: sotto.Engine(kv_spill_memory_mb="64"), TypeError, "invalid kv_spill_memory_mb '64'"),
    (lambda e: sotto.Engine(kv_spill_memory_mb=NAN), TypeError, "invalid kv_spill_memory_mb 'nan'"),
    (lambda e: sotto.Engine(kv_spill_dir=""), ValueError, "invalid kv_spill_dir ''"),
    (
        lambda e: sotto.Engine(kv_spill_dir="/nowhere/at/all"),
        ValueError,
        "invalid kv_spill_dir '/nowhere/at/all': expected",
    ),
    (lambda e: sotto.Engine(kv_spill_dir=__file__), ValueError, "invalid kv_spill_dir '/"),
    (lambda e: sotto.Engine(kv_spill_dir=7), TypeError, "expected str, bytes or os.PathLike"),
    (
        lambda e: e.llm_chat_completion(chat(on_budget="hope")),
        ValueError,
        "invalid on_budget 'hope': expected",
    ),
    (lambda e: e.llm_chat_completion(chat(on_budget=1)), ValueError, "invalid on_budget '1': expected"),
]


@pytest.mark.parametrize(("call", "error", "said"), BAD, ids=[said for _, _, said in BAD])
def test_bad_arguments(
    npc: sotto.Engine, call: Callable[[sotto.Engine], Any], error: type[Exception], said: str
) -> None:
    before = npc.memory()
    with pytest.raises(error) as caught:
        call(npc)
    assert str(caught.value).startswith(said)
    after = npc.memory()
    assert {**after, "system": None} == {**before, "system": None}


@pytest.mark.parametrize("budget", [0, 1, 1 << 20, (1 << 44) - 1])
def test_any_budget_may_be_set(npc: sotto.Engine, budget: int) -> None:
    npc.set_vram_budget_mb(budget)
    assert until(npc, lambda told: told["budget"] == budget * MB)["over"] == 0
    assert content(npc.llm_chat_completion(chat("on we go", on_budget="shrink"))) == "on we go"
