"""KV cache states in memory: `read_state()`, `Session.state()`, `restore_state()`, and damaged ones."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED

MUTANTS = 3000 if os.environ.get("SOTTO_FULL") == "1" else 150
SHEET = "Name: Brenna\nRole: innkeeper\nManner: cheerful\nFacts:\n- The cellar is locked after dusk."
SHORT = {"max_tokens": 8, "temperature": 0}
SCRIPT = {"token_ids": True, "tokens": ["a"], "fingerprint": '{"model": "a1"}'}
HOUSE = {"model": "sotto/house"}


def house() -> sotto.Engine:
    engine = sotto.Engine(mode="prioritize_compute", threads=1)
    engine.load_model("sotto/house")
    return engine


@pytest.fixture(scope="module")
def first() -> Iterator[sotto.Engine]:
    with house() as engine:
        yield engine


def timings(response: str) -> dict[str, Any]:
    return dict(json.loads(response)["timings"])


@pytest.mark.real
def test_a_session_goes_on_in_another_engine_without_another_prefill(first: sotto.Engine) -> None:
    with first.session(messages=SHEET, model="sotto/house") as brenna:
        brenna.say("What about the cellar?", SHORT)
        messages, state = brenna.messages, brenna.state()
        turn = {"session": brenna.id, "messages": [{"role": "user", "content": "Who are you?"}], **SHORT}
        expected = json.loads(first.llm_chat_completion(turn))
    with house() as second:
        brenna = second.session(messages=messages, model="sotto/house", state=state)
        answer = json.loads(second.llm_chat_completion({**turn, "session": brenna.id}))
    assert answer["choices"][0]["message"] == expected["choices"][0]["message"]
    assert answer["timings"]["cache_n"] >= answer["usage"]["prompt_tokens"] // 2
    assert answer["timings"]["cache_n"] > 60


@pytest.mark.real
def test_a_state_has_the_bytes_of_its_file(first: sotto.Engine, tmp_path: Path) -> None:
    body = {**HOUSE, "prompt": list(range(300, 340))}
    told = json.loads(first.save_state({**body, "path": str(tmp_path / "a")}))
    state = first.read_state(body)
    assert state == (tmp_path / "a").read_bytes() and len(state) == told["bytes"]
    with house() as second:
        assert json.loads(second.restore_state(HOUSE, state)) == {"tokens": 40, "bytes": len(state)}
        assert json.loads(second.restore_state({**HOUSE, "path": str(tmp_path / "a")}))["tokens"] == 40
        more = {**body, "prompt": [*range(300, 340), 400], "max_tokens": 1}
        assert timings(second.llm_text_completion(more))["cache_n"] == 40


@pytest.mark.real
def test_mutants_of_a_state_are_refused_and_change_nothing(first: sotto.Engine) -> None:
    state = first.read_state({**HOUSE, "prompt": [300, 301, 302]})
    random = Random(7)
    for number in range(MUTANTS):
        mutant = bytearray(state)
        kind = number % 4
        if kind == 0:  # a flipped bit, mostly in the header
            at = random.randrange(400) if number % 8 else random.randrange(len(state))
            mutant[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            del mutant[random.randrange(1, len(mutant)) :]
        elif kind == 2:
            mutant += random.randbytes(random.randint(1, 100))
        else:
            at = random.randrange(len(mutant) - 8)
            mutant[at : at + 8] = random.randbytes(8)
        if mutant == state:
            continue
        with pytest.raises(sotto.SottoError, match="the state ") as caught:
            first.restore_state(HOUSE, bytes(mutant))
        assert caught.value.status == sotto.Status.MODEL and "\n" not in str(caught.value)
    assert json.loads(first.restore_state(HOUSE, state))["tokens"] == 3


@pytest.mark.real
def test_a_state_of_another_model_is_refused(first: sotto.Engine, tiny_file: Path) -> None:
    first.load_model("tiny", path=tiny_file)
    state = first.read_state({"model": "tiny", "prompt": [300, 301]})
    with pytest.raises(sotto.InferenceError, match=r"the state has model '.*': expected '.*'; save it again"):
        first.restore_state(HOUSE, state)
    first.unload_model("tiny")


def test_wrong_arguments_are_named(engine: sotto.Engine) -> None:
    engine.load_model("npc", options=json.dumps(SCRIPT))
    with pytest.raises(sotto.ArgumentError, match="missing state: expected the bytes"):
        engine.restore_state({"model": "npc"}, b"")
    with pytest.raises(sotto.ArgumentError, match="missing model: expected the id of a loaded model"):
        engine.restore_state({}, b"a")
    with pytest.raises(TypeError, match="invalid state 'a': expected bytes, not str"):
        engine.restore_state({"model": "npc"}, "a")  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match="invalid path: expected no path"):
        engine.read_state({"model": "npc", "prompt": "a", "path": "b"})
    with pytest.raises(sotto.ArgumentError, match=r"missing path: expected the file .*; read_state\(\)"):
        engine.save_state({"model": "npc", "prompt": "a"})
    with pytest.raises(sotto.InferenceError, match="model 'nobody' is not loaded"):
        engine.restore_state({"model": "nobody"}, b"a")
    with pytest.raises(sotto.InferenceError, match="the state has no header of a Sotto state"):
        engine.restore_state({"model": "npc"}, b"a")
    with pytest.raises(sotto.InferenceError, match="the state has no header"):
        engine.session("mara", model="npc", state=b"a")
    assert "mara" not in engine.sessions()
    engine.load_model("other", options="{}")
    with pytest.raises(sotto.ArgumentError, match="missing model: expected the id of the model that"):
        engine.session(state=b"a")
    with pytest.raises(sotto.ArgumentError, match="missing messages: expected at least one"):
        engine.session("empty", model="npc").state()


def test_states_in_asyncio() -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options=SCRIPT)
            async with await engine.session("mara", "be kind", model="npc") as mara:
                state = await mara.state()
                assert state == await engine.read_state({"model": "npc", "prompt": "a"})
                told = json.loads(await engine.restore_state({"model": "npc"}, state))
                assert told["bytes"] == len(state)
                again = await engine.session("odo", "be kind", model="npc", state=state)
                assert await again.say("hello") == "a"
            raw = await engine.token_session("raw", [5, 6], model="npc", state=state)
            assert await raw.state() == state
            with pytest.raises(sotto.SottoError, match="the state is damaged"):
                await engine.restore_state({"model": "npc"}, state[:-1] + b"!")

    asyncio.run(main())
