"""Conversations longer than the context, and requests larger than anybody needs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import sotto
from talk import chat, content

SHEET = {"role": "system", "content": "You keep the inn. " * 12}
SHORT = {"max_tokens": 8, "temperature": 0}
CONTEXT = 512
Body = Callable[[int], dict[str, Any]]


def user(text: str) -> dict[str, str]:
    """What a user says."""
    return {"role": "user", "content": text}


def turns(count: int) -> list[dict[str, str]]:
    """A conversation that ends with a question."""
    said = [SHEET]
    for number in range(count):
        said += [user(f"And the cellar, number {number}?"), {"role": "assistant", "content": "It is cold."}]
    return [*said, user("Who are you?")]


@pytest.fixture
def house(open_house: Callable[..., sotto.Engine]) -> sotto.Engine:
    """An engine with the house model, of a small context."""
    engine = open_house()
    engine.load_model("sotto/house", options={"context": CONTEXT, "parallel": 2})
    return engine


def ask(engine: sotto.Engine, messages: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    """The whole response to a chat."""
    request = {"model": "sotto/house", "messages": messages, **SHORT, **more}
    return dict(json.loads(engine.llm_chat_completion(request)))


@pytest.mark.real
def test_a_session_longer_than_the_context_keeps_its_cut_for_many_turns(house: sotto.Engine) -> None:
    house.session("brenna", [SHEET], model="sotto/house")
    timings = []
    for number in range(70):
        request = {"session": "brenna", "messages": [user(f"And the cellar, number {number}?")], **SHORT}
        timings.append(json.loads(house.llm_chat_completion(request))["timings"])
    dropped = [timing.get("dropped_messages", 0) for timing in timings]
    full = next(number for number, count in enumerate(dropped) if count)
    cuts = [number for number in range(full, 70) if dropped[number] != dropped[number - 1]]
    assert 2 <= len(cuts) <= (70 - full) / 4, dropped
    assert sorted(dropped) == dropped
    sheet = json.loads(house.tokenize({"model": "sotto/house", "content": SHEET["content"]}))["tokens"]
    for number in range(full, 70):
        assert timings[number]["cache_n"] >= len(sheet), "the sheet is always there"
        if number not in cuts:
            assert timings[number]["prompt_n"] < CONTEXT / 6, "what came before is cached"


@pytest.mark.real
def test_the_cut_of_a_conversation_depends_on_its_messages_alone(house: sotto.Engine) -> None:
    counts = range(15, 90, 3)
    first = [ask(house, turns(count))["timings"].get("dropped_messages", 0) for count in counts]
    again = [ask(house, turns(count))["timings"].get("dropped_messages", 0) for count in reversed(counts)]
    assert first == again[::-1]
    assert len(set(first)) <= len(first) / 2 and max(first) > 60
    whole = turns(80)
    response = ask(house, whole, cache_prompt=False)
    kept = [SHEET, *whole[1 + response["timings"]["dropped_messages"] :]]
    assert kept[1]["role"] == "user" and kept[-1] == whole[-1]
    assert content(json.dumps(response)) == content(json.dumps(ask(house, kept, cache_prompt=False)))
    assert ask(house, kept)["timings"].get("dropped_messages", 0) == 0


@pytest.mark.real
def test_a_text_longer_than_the_context_begins_at_a_border(house: sotto.Engine) -> None:
    words = " ".join(f"the inn {number}" for number in range(1500))
    request = {"model": "sotto/house", "context_overflow": "truncate", **SHORT}
    timings = []
    for length in range(6000, 6400, 20):
        response = house.llm_text_completion({**request, "prompt": words[:length]})
        timings.append(json.loads(response)["timings"])
    cached = [timing["cache_n"] for timing in timings[1:]]
    assert sum(count > CONTEXT / 8 for count in cached) >= len(cached) - 4, cached


@pytest.mark.real
def test_a_conversation_of_thousands_of_turns_is_read_and_cut(house: sotto.Engine) -> None:
    response = ask(house, turns(5000))
    assert response["timings"]["dropped_messages"] > 9800
    with pytest.raises(sotto.InferenceError, match=r"the prompt has more than \d+ tokens, but the model's"):
        ask(house, turns(5000), context_overflow="error")
    with pytest.raises(sotto.InferenceError, match=r"the prompt has .*tokens, but the model's context holds"):
        ask(house, [user("horse " * 400_000)])


def nested(fields: int) -> dict[str, int]:
    """An object of so many fields."""
    return {f"field{number}": number for number in range(fields)}


LARGE: dict[str, tuple[int, Body]] = {
    "fields": (20_000, lambda n: {"messages": [user("hi")], **nested(n)}),
    "messages": (10_000, lambda n: {"messages": [user("hi")] * n}),
    "parts": (10_000, lambda n: {"messages": [{**user(""), "content": [{"type": "text", "text": "a"}] * n}]}),
    "fields of a message": (20_000, lambda n: {"messages": [{**user("hi"), **nested(n)}]}),
    "control tokens": (20_000, lambda n: {"messages": [user("<|end|><|user|>" * n)]}),
    "marks": (100_000, lambda n: {"messages": [user("<" * n)]}),
    "a session": (10_000, lambda n: {"session": "brenna", "messages": [{**user("hi"), **nested(n)}]}),
}


@pytest.mark.real
@pytest.mark.parametrize("what", LARGE)
def test_the_time_that_a_request_takes_grows_as_its_length(house: sotto.Engine, what: str) -> None:
    """What grows as the square takes 16 times as long where there are four times as many.

    Counts this process's seconds, which others on the machine do not add to.
    """
    count, body_of = LARGE[what]
    house.session("brenna", [SHEET], model="sotto/house")

    def took(number: int) -> float:
        body = json.dumps({"model": "sotto/house", **SHORT, **body_of(number)})
        begin = time.process_time()
        try:
            house.llm_chat_completion(body)
        except sotto.InferenceError as error:
            assert "tokens" in str(error)
        return time.process_time() - begin

    took(16)
    few = min(took(count) for _ in range(3))
    many = min(took(4 * count) for _ in range(3))
    assert many < 8 * few or many < 0.5, f"{count}: {few:.3f} s, {4 * count}: {many:.3f} s"


@pytest.mark.real
@pytest.mark.parametrize("what", ["tokens", "messages", "content"])
def test_a_large_request_stops_nobody_from_speaking(house: sotto.Engine, what: str) -> None:
    """Others went silent for as long as it was read, rendered and tokenized."""
    endless = {"model": "sotto/house", "messages": [user("Who are you?")], "ignore_eos": True}
    speaks = house.submit("chat", {**endless, "max_tokens": 1_000_000, "context_overflow": "shift"})
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "tokens": ("tokenize", {"content": "the inn by the river\n" * 150_000}),
        "messages": ("chat", {"messages": [user(f"hi {number}") for number in range(60_000)], **SHORT}),
        "content": ("chat", {"messages": [user("the inn " * 2_000_000)], **SHORT}),
    }
    op, body = bodies[what]
    text = json.dumps({"model": "sotto/house", **body})
    spoken: list[int] = []
    until(house, lambda event: event.request == speaks and event.kind == "text" and event.tokens > 20)
    large = house.submit(op, text)
    until(
        house,
        lambda event: event.request == large and event.kind == "request_done",
        lambda event: spoken.append(event.tokens) if event.request == speaks else None,
    )
    assert spoken[-1] - spoken[0] >= 30, f"{spoken[-1] - spoken[0]} tokens"
    house.cancel(speaks)


def until(
    engine: sotto.Engine,
    holds: Callable[[sotto.Event], bool],
    see: Callable[[sotto.Event], None] = lambda event: None,
) -> None:
    """Takes events until one is as wanted."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        engine.wait(0.1)
        for event in engine.events():
            see(event)
            if holds(event):
                return
    pytest.fail("the event never came")


def test_large_requests_are_refused_with_their_limits(npc: sotto.Engine) -> None:
    call = {"type": "function", "function": {"name": "look", "arguments": json.dumps(nested(5000))}}
    deep = {**call, "function": {"name": "look", "arguments": '{"a":' * 200 + "1" + "}" * 200}}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"messages": [user("hi")] * 70_000}, r"invalid messages '70000 messages': expected at most 65536; "),
        (
            {"chat_template_kwargs": nested(300)},
            r"kwargs '300 fields, \d+ bytes': expected at most 256 fields",
        ),
        (
            {"chat_template_kwargs": {"a": "b" * 70_000}},
            r"and 65536 bytes; remove fields that the template does",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [call]}]},
            r"arguments '.+': expected at most 4096",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [deep]}]},
            r"nested at most 128 levels deep; shorten",
        ),
    ]
    for fields, why in refused:
        with pytest.raises(sotto.ArgumentError, match=why):
            npc.llm_chat_completion(chat(**fields))
    with pytest.raises(sotto.ArgumentError, match=r"invalid body '\d+ bytes': expected at most 67108864"):
        npc.llm_chat_completion(chat("a" * (65 << 20)))
    assert content(npc.llm_chat_completion(chat("a " * 100_000 + "b", stop=["b"]))).startswith("a")


@pytest.mark.real
def test_a_turn_takes_as_long_late_in_a_conversation_as_early(house: sotto.Engine) -> None:
    """What is new is tokenized, and what is kept rendered."""
    house.session("brenna", turns(3000)[:-1], model="sotto/house")

    def took(session: str) -> float:
        begin = time.perf_counter()
        house.llm_chat_completion({"session": session, "messages": [user("hi")], **SHORT, "max_tokens": 1})
        return time.perf_counter() - begin

    took("brenna")
    late = sorted(took("brenna") for _ in range(9))
    house.session("pip", turns(8)[:-1], model="sotto/house")
    early = sorted(took("pip") for _ in range(9))
    assert all(a <= b for a, b in pairwise(late))
    assert late[4] < 10 * early[4] + 0.25, (early, late)
