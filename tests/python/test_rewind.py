"""`Session.rewind()`: the last turns are dropped, and what stays is not prefilled again."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED
from talk import content

SEQUENCES = 500 if os.environ.get("SOTTO_FULL") == "1" else 6  # of each kind
SHEETS = [
    "Name: Brenna\nRole: innkeeper\nManner: cheerful\nFacts:\n- The cellar is locked after dusk.\n"
    f"- The green key is hidden under the {place}.\n- Nobody may carry a lantern into the {place}."
    for place in ("millpond", "stable", "old bridge")
]
QUESTIONS = [
    "What about the cellar?",
    "Who are you?",
    "What news?",
    "Where is the key?",
    "May I carry a lantern?",
]
SHORT = {"max_tokens": 8, "temperature": 0}


def message(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def test_turns_are_taken_back(npc: sotto.Engine) -> None:
    with npc.session("mara", "You keep the inn.", model="npc") as mara:
        for text in ("one", "two", "three"):
            mara.say(text)
        fork = mara.fork()
        mara.rewind()
        assert npc.sessions()["mara"] == 5
        mara.rewind(2)
        assert mara.messages == [message("system", "You keep the inn.")]
        assert mara.say("four") == "four"
        mara.rewind(keep=2)
        assert mara.messages == [message("system", "You keep the inn."), message("user", "four")]
        assert mara.say() == "four"  # the line stayed, so that only its answer is another
        assert len(fork.messages) == 7


def test_a_wrong_rewind_changes_nothing(npc: sotto.Engine) -> None:
    mara = npc.session("mara", model="npc")
    mara.say("one")
    for turns, why in (
        (0, "expected an integer from 1"),
        (2, "expected 1 to 1, the turns of session 'mara'"),
    ):
        with pytest.raises(ValueError, match=f"invalid turns '{turns}': {why}"):
            mara.rewind(turns)
    with pytest.raises(ValueError, match="invalid keep '3': expected 0 to 2, the messages of session 'mara'"):
        mara.rewind(keep=3)
    for wrong in (None, True, "1", 1.0):
        with pytest.raises(TypeError, match="invalid turns"):
            mara.rewind(wrong)  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match="invalid turns '-1'"):
        mara.rewind(-1)
    assert len(mara.messages) == 2
    mara.close()
    with pytest.raises(sotto.InferenceError, match="session 'mara' is not open"):
        mara.rewind()


def test_a_session_that_answers_is_not_rewound(npc: sotto.Engine) -> None:
    npc.load_model("slow", options=json.dumps({"tokens": ["a"] * 50, "token_ms": 10}))
    mara = npc.session("mara", model="slow")
    with mara.chat("one") as answer:
        next(answer)
        with pytest.raises(sotto.InferenceError, match=r"already answers request .*, or cancel it") as caught:
            mara.rewind()
        assert caught.value.status == sotto.Status.BUSY


def test_a_rewind_in_asyncio() -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options={"streams": 2})
            mara = await engine.session("mara", "be kind", model="npc")
            for text in ("one", "two", "three"):
                await mara.say(text)
            await mara.rewind()
            await mara.rewind(keep=3)
            assert [one["content"] for one in await mara.messages()] == ["be kind", "one", "one"]
            with pytest.raises(ValueError, match="invalid turns '2'"):
                await mara.rewind(2)

    asyncio.run(main())


class Told:
    """Sessions, and beside each the conversation as it must be."""

    def __init__(self, engine: sotto.Engine, random: Random) -> None:
        self.engine, self.random = engine, random
        self.answers = self.equal = 0  # answers, and those that equal the conversation told from scratch
        sheet = random.choice(SHEETS)
        self.all = [(engine.session(messages=sheet, model="sotto/house"), [message("system", sheet)])]

    def step(self) -> None:
        """Says, takes back, forks or changes the sheet, and compares."""
        session, talk = self.random.choice(self.all)
        turns = sum(one["role"] == "user" for one in talk)
        kind = self.random.choice(["say", "say", "say", "rewind", "rewind", "fork", "sheet"])
        if kind == "rewind" and turns:
            back = self.random.randint(1, turns)
            session.rewind(back)
            del talk[1 + 2 * (turns - back) :]
        elif kind == "fork" and len(self.all) < 3:
            self.all.append((session.fork(), list(talk)))
        elif kind == "sheet" and turns < 2:
            talk[0] = message("system", self.random.choice(SHEETS))
            session.set_system(talk[0]["content"])
        elif turns < 5:
            talk.append(message("user", self.random.choice(QUESTIONS)))
            alone = {"model": "sotto/house", "messages": talk, "cache_prompt": False, **SHORT}
            said = session.say(talk[-1]["content"], SHORT)
            self.answers += 1
            self.equal += said == content(self.engine.llm_chat_completion(alone))
            talk.append(message("assistant", said))
        assert session.messages == talk


@pytest.mark.real
@pytest.mark.parametrize("deterministic", [True, False])
def test_random_sequences_equal_conversations_from_scratch(deterministic: bool) -> None:
    """All answers if `deterministic`. Else prompts reuse the KV cache, whose batches round differently."""
    answers, equal = 0, 0
    with sotto.Engine(mode="prioritize_compute", threads=1, deterministic=deterministic) as engine:
        engine.load_model("sotto/house", options={"parallel": 4})
        for seed in range(SEQUENCES):
            told = Told(engine, Random(seed))
            for _ in range(12):
                told.step()
            for session, _ in told.all:
                session.close()
            answers, equal = answers + told.answers, equal + told.equal
    assert answers > 4 * SEQUENCES
    assert equal >= (1 if deterministic else 0.9) * answers


@pytest.mark.real
def test_a_rewind_prefills_nothing_that_stays() -> None:
    """Also if more was dropped than stays, on one slot and on several, pinned or parked."""
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        for slots in (1, 2, 4):
            engine.load_model("sotto/house", options={"parallel": slots})
            for seed in range(min(SEQUENCES, 30) // 2):
                rewind_often(engine, Random(seed))
            engine.unload_model("sotto/house")


def rewind_often(engine: sotto.Engine, random: Random) -> None:
    """Checks that each prompt reuses all tokens of the last turn that stayed."""
    with engine.session(messages=random.choice(SHEETS), model="sotto/house") as session:
        prompts: list[int] = []  # tokens of each turn's prompt
        for _ in range(16):
            if prompts and random.random() < 0.4:
                back = random.randint(1, len(prompts))
                session.rewind(back)
                del prompts[-back:]
                continue
            body: dict[str, Any] = {
                "session": session.id,
                "messages": [message("user", random.choice(QUESTIONS))],
            }
            answer = json.loads(engine.llm_chat_completion({**body, **SHORT}))
            cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
            assert cached == answer["timings"]["cache_n"]
            if prompts:
                assert cached >= prompts[-1] - 2  # where the old prompt ends, tokens may join
            prompts.append(answer["usage"]["prompt_tokens"])


@pytest.mark.real
def test_a_rewind_is_quick() -> None:
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        talk = [message("user" if i % 2 == 0 else "assistant", "all that was said " * 50) for i in range(400)]
        session = engine.session(messages=talk, model="sotto/house")
        times = []
        for _ in range(100):
            start = time.perf_counter()
            session.rewind()
            times.append(time.perf_counter() - start)
        assert sorted(times)[len(times) // 2] < 1e-3, times
        assert len(session.messages) == 200


@pytest.mark.real
def test_a_save_game_holds_what_stayed(tmp_path: Path) -> None:
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house")
        mara = engine.session("mara", SHEETS[0], model="sotto/house")
        mara.say(QUESTIONS[0], SHORT)
        stays = mara.messages
        mara.say(QUESTIONS[1], SHORT)
        mara.rewind()
        engine.save_game(tmp_path / "game")
        mara.say(QUESTIONS[2], SHORT)
        engine.restore_game(tmp_path / "game")
        assert mara.messages == stays
