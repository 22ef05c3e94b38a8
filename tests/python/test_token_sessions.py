"""Token sessions: completions that go on with the same tokens, and edits of these tokens."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sotto

SEQUENCES = 100 if os.environ.get("SOTTO_FULL") == "1" else 4
TEXTS = [
    "The cellar is locked after dusk, and nobody may carry a lantern into it.",
    "Brenna keeps the inn by the old bridge. She is cheerful, and she knows all rumours of the valley.",
    "The green key is hidden under the millpond, said Tobin, who broke the blue lantern last winter.",
]

pytestmark = pytest.mark.real


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


def test_a_gap_must_be_closed(house: sotto.Engine) -> None:
    ask(house, "open_session", session="raw", model="sotto/house", tokens=[5, 6, 7, 8])
    ask(house, "edit_session", session="raw", action="cut", **{"from": 1, "to": 2})
    with pytest.raises(sotto.InferenceError, match="session 'raw' has no token at position 1") as caught:
        complete(house, [9], session="raw", max_tokens=2)
    assert caught.value.status == sotto.Status.STATE
    assert tokens(house, "raw") == [5, 7, 8]


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
