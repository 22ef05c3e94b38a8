"""`stream`: answers chunk by chunk, cut short in every way there is."""

from __future__ import annotations

import gc
import inspect
import itertools
import json
import threading
import time
from collections.abc import Callable

import jsonschema
import pytest

import sotto
from talk import CHUNK, Ticks, chat, content, load_endless, prompt, spoken


@pytest.fixture
def endless(engine: sotto.Engine) -> sotto.Engine:
    """An engine whose only model never ends, and can hold one stream at a time."""
    load_endless(engine)
    return engine


def _served(engine: sotto.Engine) -> None:
    """The one stream there is room for is free again."""
    began = time.monotonic()
    assert content(engine.llm_chat_completion(chat(model="endless", max_tokens=1))) == " on"
    assert time.monotonic() - began < 5


@pytest.mark.row("A-020", "A-021", "A-022", "A-033")
def test_the_iterator_protocol(npc: sotto.Engine) -> None:
    signature = inspect.signature(sotto.Engine.llm_chat_completion_stream)
    assert list(signature.parameters) == ["self", "request_json", "terms"]
    assert signature.parameters["terms"].kind is inspect.Parameter.VAR_KEYWORD
    assert signature.return_annotation == "TokenStream"
    stream = npc.llm_chat_completion_stream(chat())
    assert isinstance(stream, sotto.TokenStream) and iter(stream) is stream
    first = next(stream)
    assert type(first) is str and json.loads(first)


@pytest.mark.row(*(f"A-{row:03}" for row in range(24, 33)))
def test_chunks_follow_the_schema(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["Hel", "lo", " ☃"]})
    stream = engine.llm_chat_completion_stream(chat())
    chunks = [json.loads(chunk) for chunk in stream]
    for chunk in chunks:
        jsonschema.validate(chunk, CHUNK)
    assert len({chunk["id"] for chunk in chunks}) == 1 and {chunk["model"] for chunk in chunks} == {"npc"}
    choices = [chunk["choices"][0] for chunk in chunks]
    assert {choice["index"] for choice in choices} == {0}
    assert choices[0]["delta"] == {"role": "assistant", "content": "Hel"}
    assert [choice["finish_reason"] for choice in choices] == [None, None, None, "stop"]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(stream)


@pytest.mark.row("A-031")
def test_a_cut_answer_ends_with_length(npc: sotto.Engine) -> None:
    *_, last = npc.llm_chat_completion_stream(chat("a b c", max_tokens=1))
    assert json.loads(last)["choices"][0]["finish_reason"] == "length"


@pytest.mark.row("A-028", "A-032")
def test_an_empty_answer_still_has_a_last_chunk(engine: sotto.Engine) -> None:
    engine.load_model("mute", options={"tokens": []})
    (only,) = engine.llm_chat_completion_stream(chat(model="mute"))
    assert json.loads(only)["choices"][0]["finish_reason"] == "stop"


@pytest.mark.row("A-029", "A-034")
def test_a_stream_says_what_a_blocking_call_says(npc: sotto.Engine) -> None:
    request = chat("the quick brown fox")
    said = spoken(npc.llm_chat_completion_stream(request))
    assert said == content(npc.llm_chat_completion(request)) == "the quick brown fox"


def test_usage_comes_last_where_asked_for(npc: sotto.Engine) -> None:
    request = chat("a b", stream_options={"include_usage": True})
    *_, finish, usage = (json.loads(chunk) for chunk in npc.llm_chat_completion_stream(request))
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 2
    assert "usage" not in finish


def test_text_streams_too(npc: sotto.Engine) -> None:
    chunks = [json.loads(chunk) for chunk in npc.llm_text_completion_stream(prompt("a b c"))]
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "a b c"
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}


@pytest.mark.row("A-022", "A-023")
def test_next_waits_and_lets_others_run(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a", "b"], "token_ms": 200})
    stream = engine.llm_chat_completion_stream(chat())
    began = time.monotonic()
    with Ticks() as ticks:
        next(stream)
    assert time.monotonic() - began > 0.15 and ticks.count > 30


@pytest.mark.row("A-023")
def test_two_streams_speak_at_once(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(trace_capacity=100)
    engine.load_model("npc", options={"tokens": ["a"], "loop": True, "token_ms": 5})
    both = [engine.llm_chat_completion_stream(chat()) for _ in range(2)]
    for _, stream in itertools.product(range(3), both):
        next(stream)
    end = time.monotonic() + 10
    while not any(one.streams == one.generated_tokens == 2 for one in engine.trace()):
        assert time.monotonic() < end
        time.sleep(0.01)
    for stream in both:
        stream.close()


@pytest.mark.row("A-033")
def test_bad_requests_raise_at_the_call(npc: sotto.Engine) -> None:
    with pytest.raises(ValueError, match="expected JSON"):
        npc.llm_chat_completion_stream("{")
    with pytest.raises(sotto.InferenceError, match="model 'ghost' is not loaded: load it first"):
        npc.llm_chat_completion_stream(chat(model="ghost"))


@pytest.mark.row("A-036")
def test_an_error_half_way(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": ["a", "b", "c", "d"], "fail_at": 3})
    stream = engine.llm_chat_completion_stream(chat())
    assert spoken([next(stream) for _ in range(3)]) == "abc"
    with pytest.raises(sotto.InferenceError, match="the script fails at token 3"):
        next(stream)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(stream)


@pytest.mark.row("A-035")
def test_dropping_a_stream_cancels_it(endless: sotto.Engine) -> None:
    for number, _ in enumerate(endless.llm_chat_completion_stream(chat(model="endless"))):
        if number == 2:
            break
    gc.collect()
    _served(endless)


@pytest.mark.row("A-035")
def test_closing_a_stream_cancels_it(endless: sotto.Engine) -> None:
    stream = endless.llm_chat_completion_stream(chat(model="endless"))
    next(stream)
    assert stream.close() is None and stream.close() is None
    assert list(stream) == []
    _served(endless)
    with endless.llm_chat_completion_stream(chat(model="endless")) as second:
        next(second)
    _served(endless)


@pytest.mark.row("A-035")
def test_a_stream_nobody_reads_is_cancelled_too(endless: sotto.Engine) -> None:
    endless.llm_chat_completion_stream(chat(model="endless"))
    gc.collect()
    _served(endless)


def test_closing_a_stream_ends_the_wait_of_another_thread(engine: sotto.Engine) -> None:
    load_endless(engine, token_ms=60_000)
    stream = engine.llm_chat_completion_stream(chat(model="endless"))
    heard: list[list[str]] = []
    thread = threading.Thread(target=lambda: heard.append(list(stream)))
    thread.start()
    time.sleep(0.1)
    stream.close()
    thread.join(1)
    assert heard == [[]]


def test_threads_may_share_a_stream(engine: sotto.Engine) -> None:
    engine.load_model("npc", options={"tokens": [str(number) for number in range(100)]})
    stream = engine.llm_chat_completion_stream(chat())
    heard: list[str] = []
    threads = [threading.Thread(target=lambda: heard.extend(stream)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 101


@pytest.mark.row("A-037")
@pytest.mark.parametrize("token_ms", [1, 60_000])
def test_closing_the_engine_ends_a_stream(open_engine: Callable[..., sotto.Engine], token_ms: float) -> None:
    engine = open_engine()
    load_endless(engine, token_ms=token_ms)
    stream = engine.llm_chat_completion_stream(chat(model="endless"))
    raised: list[Exception] = []

    def read() -> None:
        try:
            list(stream)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(0.1)
    engine.close()
    thread.join(1)
    assert not thread.is_alive()
    assert [type(error) for error in raised] == [sotto.InferenceError]
    assert list(stream) == []
    stream.close()


def test_a_stream_outlives_a_closed_engine_harmlessly(npc: sotto.Engine) -> None:
    stream = npc.llm_chat_completion_stream(chat())
    npc.close()
    with pytest.raises(sotto.InferenceError, match="engine is closed"):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)
    del stream
    gc.collect()
