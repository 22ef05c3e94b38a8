"""`sessions`: conversations that the engine keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED
from ledger import until
from talk import chat, content, load_endless, spoken

SHEET = {"role": "system", "content": "You keep the inn."}


def lines(session: sotto.Session) -> list[str]:
    """Who said what."""
    return [f"{message['role']}: {message['content']}" for message in session.messages]


def test_a_session_remembers(npc: sotto.Engine) -> None:
    with npc.session("mara", "You keep the inn.", model="npc") as mara:
        assert mara.say("one two") == "one two"
        assert spoken(mara.chat("three", {"max_tokens": 5}, priority="foreground")) == "three"
        assert content(npc.llm_chat_completion(chat("four", session="mara"))) == "four"
        expected = ["one two", "one two", "three", "three", "four", "four"]
        assert [message["content"] for message in mara.messages] == ["You keep the inn.", *expected]
        assert [message["role"] for message in mara.messages] == ["system", *["user", "assistant"] * 3]
        assert npc.sessions() == {"mara": 7}
    assert npc.sessions() == {}
    with pytest.raises(sotto.InferenceError, match="session 'mara' is not open: open it first") as caught:
        mara.say("hello")
    assert caught.value.status == -7
    mara.close()


def test_what_may_be_said(npc: sotto.Engine) -> None:
    mara = npc.session(messages=[SHEET], model="npc")
    assert mara.say({"role": "user", "content": "one"}) == "one"
    assert mara.say([{"role": "user", "content": "two"}, {"role": "user", "content": "three"}]) == "three"
    assert mara.say(message for message in [{"role": "user", "content": "four"}]) == "four"
    assert mara.say() == "four"
    assert lines(mara)[0] == "system: You keep the inn." and len(lines(mara)) == 9
    for wrong in (3, b"hello", 2.5):
        with pytest.raises((TypeError, ValueError)):
            mara.say(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"invalid request .*: expected a mapping of further fields, not str"):
        mara.say("a", "b")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="invalid n '2': expected 1 in a session"):
        mara.say("a", {"n": 2})
    with pytest.raises(ValueError, match=r"invalid messages\[0\].role 'king'"):
        mara.say({"role": "king", "content": "a"})
    assert len(lines(mara)) == 9


def test_forks_go_their_own_way(npc: sotto.Engine) -> None:
    mara = npc.session("mara", [SHEET], model="npc")
    mara.say("one")
    fork, early, named = mara.fork(), mara.fork(keep=1), mara.fork("named")
    fork.say("two")
    early.say("three")
    mara.say("four")
    begun = ["system: You keep the inn.", "user: one", "assistant: one"]
    assert lines(mara) == [*begun, "user: four", "assistant: four"]
    assert lines(fork) == [*begun, "user: two", "assistant: two"]
    assert lines(early) == [begun[0], "user: three", "assistant: three"]
    assert lines(named) == begun and named.id == "named"
    assert len({mara.id, fork.id, early.id, named.id}) == 4 == len(npc.sessions())
    with pytest.raises(sotto.SottoError, match="session 'named' is already open: close it first") as caught:
        mara.fork("named")
    assert caught.value.status == -5
    with pytest.raises(ValueError, match="invalid keep '-1'"):
        mara.fork(keep=-1)


def test_a_session_is_moved_to_another_engine(npc: sotto.Engine, open_engine: Callable[..., Any]) -> None:
    mara = npc.session("mara", [SHEET], model="npc")
    mara.say("one")
    other = open_engine()
    other.load_model("npc", options={})
    moved = other.session("mara", mara.messages, model="npc")
    assert moved.messages == mara.messages
    assert moved.say("two") == "two"
    assert sotto.Session(other, "mara").messages == moved.messages  # one that is open already


def test_an_answer_that_is_cut_off_is_forgotten(engine: sotto.Engine) -> None:
    load_endless(engine)
    mara = engine.session("mara", model="endless")
    with mara.chat("tell me a story") as stream:
        next(stream)
        with pytest.raises(sotto.InferenceError, match="session 'mara' already answers request") as caught:
            mara.say("hello")
        assert caught.value.status == -11
        assert lines(mara.fork()) == []
    assert mara.say("go on", {"max_tokens": 2}) == " on on"
    assert lines(mara) == ["user: go on", "assistant:  on on"]


def test_bad_ids_and_engines_that_are_closed(engine: sotto.Engine) -> None:
    for wrong in ("", "a\0b"):
        with pytest.raises(ValueError, match="invalid session_id"):
            engine.session(wrong)
    with pytest.raises(TypeError, match="invalid session_id '3'"):
        engine.session(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a string of 1 to 128 bytes"):
        engine.session("ß" * 65)
    mara = engine.session("ß" * 64)
    with pytest.raises(sotto.SottoError, match="is already open: close it first, or choose another id"):
        engine.session("ß" * 64)
    engine.close()
    mara.close()
    with pytest.raises(sotto.SottoError, match="engine is closed"):
        mara.say("hello")


def test_sessions_frame_by_frame(npc: sotto.Engine) -> None:
    asked = [
        npc.submit("open_session", {"session": "mara", "model": "npc", "messages": [SHEET]}),
        npc.submit("chat", {"session": "mara", "messages": [{"role": "user", "content": "one"}]}),
        npc.submit("read_session", {"session": "nobody"}),
    ]
    ends: dict[int, sotto.Event] = {}
    while len(ends) < len(asked):
        npc.wait(5)
        ends.update({event.request: event for event in npc.events() if event.kind == "request_done"})
    assert [ends[request].status for request in asked] == [0, 0, -7]
    assert json.loads(ends[asked[0]].json)["messages"] == 1
    assert npc.sessions() == {"mara": 3}


def test_sessions_on_an_event_loop() -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options={})
            async with await engine.session("mara", "You keep the inn.", model="npc") as mara:
                assert await mara.say("one two") == "one two"
                assert len([chunk async for chunk in mara.chat("three")]) == 2
                fork = await mara.fork(keep=1)
                assert await fork.messages() == [SHEET]
                assert (await mara.messages())[-1] == {"role": "assistant", "content": "three"}
                assert await engine.sessions() == {"mara": 5, fork.id: 1}
            await mara.aclose()
            assert await engine.sessions() == {fork.id: 1}
            both = [engine.session(f"npc {number}", model="npc") for number in range(20)]
            said = await asyncio.gather(*(one.say("hi") for one in await asyncio.gather(*both)))
            assert said == ["hi"] * 20

    asyncio.run(main())


def test_a_session_is_pinned_and_let_go_of(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"streams": 2})
    mara = engine.session("mara", model="npc", pinned=True)
    tobin = engine.session("tobin", model="npc")
    full = "1 session is pinned; unpin a session, or load the model with a larger"
    for refused in (tobin.pin, lambda: engine.session("oswin", model="npc", pinned=True)):
        with pytest.raises(sotto.SottoError, match=full) as caught:
            refused()
        assert caught.value.status == -4
    mara.pin(False)
    tobin.pin()
    assert [one.say("hi") for one in (mara, tobin)] == ["hi", "hi"]
    for wrong in (1, None, "yes"):
        with pytest.raises(TypeError, match="expected True or False"):
            mara.pin(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected True or False"):
            engine.session("late", pinned=wrong)  # type: ignore[arg-type]
    assert engine.sessions() == {"mara": 2, "tobin": 2}

    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as loop_engine:
            await loop_engine.load_model("npc", options={"streams": 2})
            late = await loop_engine.session("late", model="npc", pinned=True)
            with pytest.raises(sotto.SottoError, match=full):
                await loop_engine.session("later", model="npc", pinned=True)
            await late.pin(False)
            assert await (await loop_engine.session("last", model="npc", pinned=True)).say("hi") == "hi"

    asyncio.run(main())


# On the house model: what a session remembers need not be worked through again.

RULES = [
    f"Rule {number} of the inn: nobody may carry a lantern into cellar {number}." for number in range(12)
]
LONG = "Name: Brenna\nRole: innkeeper\nManner: cheerful\nFacts:\n- " + "\n- ".join(RULES)
SHORT = {"max_tokens": 12, "temperature": 0}
QUESTIONS = ["What about the cellar?", "Who are you?", "What news?", "May I carry a lantern?"]


@pytest.fixture
def house() -> Any:
    """An engine with the house model, for two streams at a time."""
    with sotto.Engine(mode="prioritize_compute", threads=1, deterministic=False) as engine:
        engine.load_model("sotto/house", options={"parallel": 2})
        yield engine


def turn(engine: sotto.Engine, session: str, said: str) -> tuple[int, int, str]:
    """Prompt tokens, those that were remembered, and what was said."""
    request = {"session": session, "messages": [{"role": "user", "content": said}], **SHORT}
    response = json.loads(engine.llm_chat_completion(request))
    usage = response["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return usage["prompt_tokens"], cached, response["choices"][0]["message"]["content"]


@pytest.mark.real
def test_a_turn_computes_what_is_new(house: sotto.Engine) -> None:
    house.session("brenna", LONG, model="sotto/house")
    before, cached, _ = turn(house, "brenna", QUESTIONS[0])
    assert before > 150 and cached == 0
    for question in QUESTIONS[1:]:
        prompt, cached, _ = turn(house, "brenna", question)
        assert cached >= before - 2  # where the old prompt ends, tokens may join
        assert prompt - cached < 60
        before = prompt


@pytest.mark.real
def test_a_fork_takes_over_what_its_origin_remembers(house: sotto.Engine) -> None:
    brenna = house.session("brenna", LONG, model="sotto/house")
    prompt, _, _ = turn(house, "brenna", QUESTIONS[0])
    fork = brenna.fork("gossip")
    _, cached, _ = turn(house, fork.id, QUESTIONS[1])  # after it
    assert cached >= prompt - 2
    with brenna.chat(QUESTIONS[2], {"max_tokens": 200, "temperature": 0, "ignore_eos": True}) as stream:
        next(stream)
        late = brenna.fork()  # while it speaks: of what is settled
        _, cached, _ = turn(house, late.id, QUESTIONS[3])
        assert cached >= prompt - 2


@pytest.mark.real
def test_a_session_without_a_place_answers_from_its_text() -> None:
    with sotto.Engine(mode="prioritize_compute", threads=1, deterministic=True) as engine:
        engine.load_model("sotto/house", options={"parallel": 2})
        names = ["Brenna", "Garrick", "Silvane", "Amalie", "Pip"]  # more than there are places
        sheets = {name: LONG.replace("Brenna", name) for name in names}
        talks: dict[str, list[dict[str, str]]] = {}
        for name, sheet in sheets.items():
            engine.session(name, sheet, model="sotto/house")
            talks[name] = [{"role": "system", "content": sheet}]
        for question in QUESTIONS[:3]:
            for name in names:
                _, _, said = turn(engine, name, question)
                talks[name].append({"role": "user", "content": question})
                alone = {"model": "sotto/house", "messages": talks[name], "cache_prompt": False, **SHORT}
                assert said == content(engine.llm_chat_completion(alone))
                talks[name].append({"role": "assistant", "content": said})
        for name in names:
            assert sotto.Session(engine, name).messages == talks[name]


@pytest.mark.real
def test_a_session_that_outgrows_its_context_keeps_all_that_was_said() -> None:
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house", options={"parallel": 1, "context": 256})
        brenna = engine.session("brenna", [SHEET], model="sotto/house")
        dropped = []
        for number in range(12):
            said = {"role": "user", "content": f"{RULES[number]} What about the cellar?"}
            request = {"session": brenna.id, "messages": [said], **SHORT}
            response = json.loads(engine.llm_chat_completion(request))
            dropped.append(response["timings"].get("dropped_messages", 0))
        assert dropped[0] == 0 and dropped[-1] > 0
        assert len(brenna.messages) == 25


@pytest.mark.real
def test_a_sessions_prompt_is_that_of_its_messages(house: sotto.Engine) -> None:
    brenna = house.session("brenna", [SHEET], model="sotto/house")
    brenna.say(QUESTIONS[0], SHORT)
    more = {"role": "user", "content": QUESTIONS[1]}
    whole = {"model": "sotto/house", "messages": [*brenna.messages, more]}
    assert house.apply_template({"session": "brenna", "messages": [more]}) == house.apply_template(whole)
    assert len(brenna.messages) == 3


@pytest.mark.real
def test_a_session_is_saved_as_it_is(house: sotto.Engine, tmp_path: Any) -> None:
    brenna = house.session("brenna", LONG, model="sotto/house")
    prompt, _, _ = turn(house, "brenna", QUESTIONS[0])
    house.save_state(
        {"session": "brenna", "path": str(tmp_path / "brenna.state"), "add_generation_prompt": False}
    )
    talk = brenna.messages
    assert len(talk) == 3
    with sotto.Engine(mode="prioritize_compute", threads=1) as later:
        later.load_model("sotto/house", options={"parallel": 2})
        later.restore_state({"model": "sotto/house", "path": str(tmp_path / "brenna.state")})
        later.session("brenna", talk, model="sotto/house")
        _, cached, _ = turn(later, "brenna", QUESTIONS[1])
        assert cached >= prompt - 2


@pytest.mark.real
def test_who_is_pinned_is_never_parked_and_says_the_same(house: sotto.Engine) -> None:
    """Six characters and two places: the model is reminded of all but one."""
    ids = [f"npc {number}" for number in range(6)]
    texts: list[list[str]] = []
    for pinned in (0, 1):
        for one in ids:
            house.session(one, f"{LONG}\n- {one} sleeps in the stable.", model="sotto/house")
        if pinned:
            sotto.Session(house, ids[0]).pin()
        said = [[turn(house, one, question) for one in ids] for question in QUESTIONS]
        for earlier, later in pairwise(said):
            for (prompt, _, _), (_, cached, _) in zip(earlier, later, strict=True):
                assert cached >= prompt - 2
        kept = len(ids) - pinned
        until(house, lambda told, kept=kept: told["parked"]["count"] == kept)
        texts.append([text for question in said for _, _, text in question])
        for one in ids:
            sotto.Session(house, one).close()
    assert texts[0] == texts[1]
