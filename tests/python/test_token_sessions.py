"""Token sessions: completions that go on with the same tokens, and edits of these tokens."""

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

SEQUENCES = 100 if os.environ.get("SOTTO_FULL") == "1" else 4
TEXTS = [
    "The cellar is locked after dusk, and nobody may carry a lantern into it.",
    "Brenna keeps the inn by the old bridge. She is cheerful, and she knows all rumours of the valley.",
    "The green key is hidden under the millpond, said Tobin, who broke the blue lantern last winter.",
]


@pytest.fixture
def house() -> Iterator[sotto.Engine]:
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house")
        yield engine


def ask(engine: sotto.Engine, op: Any, **body: Any) -> dict[str, Any]:
    """Runs a request. Returns its result."""
    return dict(json.loads(engine._ask(op, body, {}).finish().json or "{}"))


def encode(engine: sotto.Engine, text: str) -> list[int]:
    return list(json.loads(engine.tokenize({"model": "sotto/house", "content": text}))["tokens"])


def complete(engine: sotto.Engine, prompt: list[int], **more: Any) -> dict[str, Any]:
    """Completes tokens greedily, and returns the response with the ids of the answer."""
    fixed = {"temperature": 0, "return_tokens": True, "ignore_eos": True}
    return ask(engine, "completion", prompt=prompt, **fixed, **more)


def tokens(engine: sotto.Engine, session: str) -> list[int]:
    return list(ask(engine, "read_session", session=session)["tokens"])


@pytest.mark.real
def test_a_completion_prefills_its_own_tokens_only(house: sotto.Engine) -> None:
    ask(house, "open_session", session="raw", model="sotto/house", tokens=[])
    held: list[int] = []
    for text in TEXTS:
        prompt = encode(house, text)
        answer = complete(house, prompt, session="raw", max_tokens=8)
        usage, choice = answer["usage"], answer["choices"][0]
        assert len(choice["tokens"]) == usage["completion_tokens"] == 8
        assert usage["prompt_tokens"] == len(held) + len(prompt)
        last = 1 if held else 0  # the last token of an answer was not computed yet
        assert answer["timings"]["prompt_n"] == len(prompt) + last
        held += prompt + choice["tokens"]
        assert tokens(house, "raw") == held
        assert ask(house, "edit_session", session="raw", action="read")["end"] == len(held) - 1
    alone = complete(house, held, model="sotto/house", max_tokens=8, cache_prompt=False)
    more = complete(house, [], session="raw", max_tokens=8)
    assert more["choices"][0]["tokens"] == alone["choices"][0]["tokens"]


@pytest.mark.real
def test_a_cut_at_the_end_prefills_nothing_and_a_copy_neither(house: sotto.Engine) -> None:
    prompt = encode(house, " ".join(TEXTS))
    ask(house, "open_session", session="raw", model="sotto/house", tokens=[])
    complete(house, prompt, session="raw", max_tokens=8)
    half = len(prompt) // 2
    copied = ask(house, "edit_session", session="raw", action="copy", to_session="copy", to=half)
    assert copied["session"] == "copy" and copied["tokens"] == half
    cut = ask(house, "edit_session", session="raw", action="cut", **{"from": half})
    assert cut["tokens"] == half and cut["end"] == half - 1
    for session in ("raw", "copy"):
        answer = complete(house, encode(house, " And then"), session=session, max_tokens=8)
        assert answer["timings"]["cache_n"] >= half
    assert tokens(house, "raw") == tokens(house, "copy")


class Told:
    """Token sessions, and beside each the tokens that it must hold."""

    def __init__(self, engine: sotto.Engine, random: Random) -> None:
        self.engine, self.random = engine, random
        ask(engine, "open_session", session="0", model="sotto/house", tokens=[])
        self.all: dict[str, list[int]] = {"0": []}
        self.answers = self.equal = 0  # answers, and those that equal a fresh run of the same tokens

    def edit(self, session: str, action: str, **fields: Any) -> dict[str, Any]:
        return ask(self.engine, "edit_session", session=session, action=action, **fields)

    def step(self) -> None:
        """Completes, cuts, shifts or copies, and compares."""
        session = self.random.choice(list(self.all))
        held = self.all[session]
        kind = self.random.choice(["complete", "complete", "end", "middle", "copy"])
        start = self.random.randint(0, len(held))
        end = self.random.randint(start, len(held))
        if kind == "end":
            self.edit(session, "cut", **{"from": start})
            del held[start:]
        elif kind == "middle":
            self.edit(session, "cut", **{"from": start, "to": end})
            del held[start:end]
            if start < len(held) and end > start:
                self.edit(session, "shift", **{"from": end, "delta": start - end})
        elif kind == "copy":
            into = str(self.random.randint(0, 2))
            self.edit(session, "copy", to_session=into, to=end)
            self.all[into] = held[:end]
        elif len(held) < 300:
            prompt = encode(self.engine, self.random.choice(TEXTS))
            alone = {"model": "sotto/house", "max_tokens": 6, "cache_prompt": False}
            expected = complete(self.engine, held + prompt, **alone)["choices"][0]["tokens"]
            answer = complete(self.engine, prompt, session=session, max_tokens=6)["choices"][0]["tokens"]
            self.answers += 1
            self.equal += answer == expected
            held += prompt + answer
        for name, should in self.all.items():
            read = ask(self.engine, "read_session", session=name)
            assert read["tokens"] == should
            assert read["end"] == len(should) - 1


@pytest.mark.real
@pytest.mark.parametrize("deterministic", [True, False])
def test_random_edits_equal_fresh_runs_of_the_same_tokens(deterministic: bool) -> None:
    """All answers if `deterministic`. Else prompts reuse the KV cache, whose batches round differently."""
    answers, equal = 0, 0
    with sotto.Engine(mode="prioritize_compute", threads=1, deterministic=deterministic) as engine:
        engine.load_model("sotto/house")
        for seed in range(SEQUENCES):
            told = Told(engine, Random(seed))
            for _ in range(15):
                told.step()
            for name in told.all:
                ask(engine, "close_session", session=name)
            answers, equal = answers + told.answers, equal + told.equal
    assert answers > 3 * SEQUENCES
    assert equal >= (1 if deterministic else 0.9) * answers


@pytest.mark.real
def test_a_gap_must_be_closed(house: sotto.Engine) -> None:
    ask(house, "open_session", session="raw", model="sotto/house", tokens=[5, 6, 7, 8])
    ask(house, "edit_session", session="raw", action="cut", **{"from": 1, "to": 2})
    with pytest.raises(sotto.InferenceError, match="session 'raw' has no token at position 1") as caught:
        complete(house, [9], session="raw", max_tokens=2)
    assert caught.value.status == sotto.Status.STATE
    assert tokens(house, "raw") == [5, 7, 8]


@pytest.mark.real
def test_a_save_game_holds_token_sessions(house: sotto.Engine, tmp_path: Path) -> None:
    ask(house, "open_session", session="raw", model="sotto/house", tokens=[5, 6, 7, 8])
    ask(house, "edit_session", session="raw", action="cut", **{"from": 1, "to": 2})
    house.session("mara", "You keep the inn.", model="sotto/house")
    assert house.sessions() == {"mara": 1, "raw": 3}
    house.save_game(tmp_path / "game")
    for name in ("mara", "raw"):
        ask(house, "close_session", session=name)
    house.restore_game(tmp_path / "game")
    read = ask(house, "read_session", session="raw")
    assert (read["tokens"], read["end"]) == ([5, 7, 8], 3)  # with the gap
    assert len(sotto.Session(house, "mara").messages) == 1


@pytest.mark.real
def test_sessions_hold_messages_or_tokens(house: sotto.Engine) -> None:
    ask(house, "open_session", session="raw", model="sotto/house", tokens=[5])
    mara = house.session("mara", "You keep the inn.", model="sotto/house")
    with pytest.raises(ValueError, match="a session with messages, but it holds tokens"):
        sotto.Session(house, "raw").say("hi")
    with pytest.raises(ValueError, match="a session with messages, but it holds tokens"):
        sotto.Session(house, "raw").rewind()
    with pytest.raises(ValueError, match="a token session, but it holds messages"):
        complete(house, [5], session=mara.id)
    with pytest.raises(ValueError, match=r"invalid prompt 'text': expected an array of tokens"):
        ask(house, "completion", session="raw", prompt="text")


SCRIPT = {"token_ids": True, "tokens": ["a", "b"], "fingerprint": '{"model": "a1"}'}  # ids 0 and 1


def test_the_typed_methods(engine: sotto.Engine) -> None:
    engine.load_model("npc", options=json.dumps(SCRIPT))
    with engine.token_session("raw", (5, 6, 7), model="npc") as raw:
        assert repr(raw) == "<sotto.TokenSession 'raw'>"
        answer = raw.complete([8])
        assert (answer.tokens, answer.text, answer.finish_reason) == ((0, 1), "ab", "stop")
        assert raw.tokens == [5, 6, 7, 8, 0, 1] and raw.end == 5
        with raw.copy("copy", 1, 3) as copy:
            assert copy.tokens == [6, 7] and copy.end == 2
            assert engine.sessions() == {"copy": 2, "raw": 6}
        raw.cut(1, 3)
        with pytest.raises(sotto.InferenceError, match="session 'raw' has no token at position 1"):
            raw.complete()
        raw.shift(-2, 3)
        assert raw.tokens == [5, 8, 0, 1] and raw.end == 3
        raw.cut(1)
        assert sotto.TokenSession(engine, "raw").tokens == [5]
        raw.cut()
        assert raw.tokens == [] and raw.end == -1
        assert raw.complete([3], {"max_tokens": 1}).tokens == (0,)
        raw.pin()
        raw.pin(False)
    assert engine.sessions() == {}


def test_wrong_edits_are_named(engine: sotto.Engine) -> None:
    engine.load_model("npc", options=json.dumps(SCRIPT))
    raw = engine.token_session("raw", [5, 6], model="npc")
    mara = engine.session("mara", "be kind", model="npc")
    for call, error, why in (
        (lambda: raw.cut(0, 3), ValueError, "invalid to '3': expected -1 for the end, or 0 to 2"),
        (lambda: raw.cut(-1), ValueError, "invalid from_ '-1'"),
        (lambda: raw.cut("a"), TypeError, "invalid from_ 'a': expected an integer"),  # type: ignore[arg-type]
        (lambda: raw.shift(-1), ValueError, "invalid delta '-1': expected 0 to"),
        (lambda: raw.shift(1 << 31), ValueError, "invalid delta"),
        (lambda: raw.shift(True), TypeError, "invalid delta 'True': expected an integer"),
        (lambda: raw.copy("mara"), ValueError, "a token session, but it holds messages"),
        (lambda: raw.complete("abc"), TypeError, "invalid prompt 'abc': expected tokens"),  # type: ignore[arg-type]
        (lambda: raw.complete([-1]), ValueError, r"invalid prompt\[0\] '-1'"),
        (lambda: sotto.TokenSession(engine, mara.id).tokens, ValueError, "it holds messages; use Session"),
        (lambda: sotto.Session(engine, "raw").rewind(), ValueError, "but it holds tokens"),
        (lambda: engine.token_session("raw"), sotto.InferenceError, "session 'raw' is already open"),
    ):
        with pytest.raises(error, match=why):
            call()
    assert raw.tokens == [5, 6]
    raw.close()
    raw.close()
    with pytest.raises(sotto.InferenceError, match="session 'raw' is not open"):
        raw.end  # noqa: B018


def test_token_sessions_in_asyncio() -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options=SCRIPT)
            async with await engine.token_session("raw", [5, 6, 7], model="npc") as raw:
                assert (await raw.complete([8])).tokens == (0, 1)
                copy = await raw.copy("copy", 1, 3)
                assert (await copy.tokens(), await copy.end()) == ([6, 7], 2)
                await copy.aclose()
                await raw.cut(1, 3)
                await raw.shift(-2, 3)
                assert await raw.tokens() == [5, 8, 0, 1]
                with pytest.raises(ValueError, match="invalid to '9'"):
                    await raw.cut(0, 9)
            assert await engine.sessions() == {}

    asyncio.run(main())


def test_the_twins_have_the_same_methods() -> None:
    for blocking, twin in ((sotto.TokenSession, sotto.aio.TokenSession), (sotto.Session, sotto.aio.Session)):
        names = {name for name in dir(blocking) if not name.startswith("_")} - {"close"}
        assert names - {name for name in dir(twin) if not name.startswith("_")} <= {"submit"}
