"""Backends in Python, on a real engine, and the conformance suite for backends of any language."""

from __future__ import annotations

import gc
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from broken_backends import Good, Sound
from conftest import BUILD, ROOT
from made_backend import Made, have
from sotto.backends import Backend, Model, ModelInfo, Part, Request, Source, check
from sotto.backends._cases import CASES, Target

HERE = Path(__file__).parent


class Every(Model):
    """Does all operations with data."""

    info = ModelInfo(weights=3 << 20, compute=1 << 20, streams=2, description={"architecture": "every"})

    def embed(self, request: Request) -> Any:
        vectors = [[float(len(text)), 1.0] for text in request.inputs]
        for vector in vectors:
            yield Part(data=json.dumps(vector).encode(), info={"type": "json"})
        return {"object": "list", "data": [{"index": at, "embedding": v} for at, v in enumerate(vectors)]}

    def transcribe(self, request: Request) -> Any:
        for word in ("well", " met"):
            yield Part(word, units=0)
        return {"text": "well met", "language": request.body.get("language", "en")}


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    with sotto.Engine("cpu") as made:
        yield made


def ask(engine: sotto.Engine, op: Any, **fields: Any) -> list[sotto.Event]:
    """The events of a request."""
    engine.submit(op, {"model": "m", **fields})
    events: list[sotto.Event] = []
    while not events or events[-1].kind != "request_done":
        assert engine.wait(20)
        events += engine.events()
    return events


def test_a_model_in_python_chats(engine: sotto.Engine) -> None:
    backend = have(engine, Good())
    answer = engine.chat("Hello.", model="m", max_tokens=40)
    assert (answer.text, answer.finish_reason) == ("one two three four five", "stop")
    assert engine.chat("Hello.", model="m", max_tokens=2).text == "one two"
    assert engine.chat("Hello.", model="m", stop=["three"], max_tokens=40).text == "one two "
    source = backend.source
    assert (source.path, source.options, source.device) == ("somewhere", {"depth": 3}, "cpu")
    source.progress(0.5)  # too late: nothing happens
    assert engine.memory()["used"] == 1 << 20
    engine.unload_model("m")
    assert engine.memory()["used"] == 0


def test_operations_with_data_return_events_and_a_response(engine: sotto.Engine) -> None:
    have(engine, Every())
    events = ask(engine, "embed", input=["a", "four"])
    assert [json.loads(event.data) for event in events if event.kind == "data"] == [[1.0, 1.0], [4.0, 1.0]]
    assert {event.json for event in events if event.kind == "data"} == {'{"type": "json"}'}
    assert [one["embedding"] for one in json.loads(events[-1].json)["data"]] == [[1.0, 1.0], [4.0, 1.0]]
    events = ask(engine, "transcribe", file="a.wav", language="de")
    assert [event.text for event in events if event.kind == "text"] == ["well", " met"]
    assert json.loads(events[-1].json) == {"text": "well met", "language": "de"}


def test_an_operation_that_a_model_lacks_is_refused_by_name(engine: sotto.Engine) -> None:
    have(engine, Every())
    (refused,) = ask(engine, "chat", messages=[{"role": "user", "content": "hi"}])
    assert refused.status == sotto.Status.UNSUPPORTED
    assert refused.error == (
        "invalid op 'chat': expected an operation of model 'm' (embed, transcribe); use another model"
    )


class Raises(Good):
    def __init__(self, where: str, error: BaseException) -> None:
        self.where, self.error = where, error

    def chat(self, request: Request) -> Iterator[str | Part]:
        yield "one"
        if self.where == "chat":
            raise self.error
        yield " two"

    def units(self, request: Request) -> int:
        if self.where == "units":
            raise self.error
        return 1

    def close(self) -> None:
        if self.where == "close":
            raise self.error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ZeroDivisionError("of all things"), "INFERENCE"),
        (MemoryError("full"), "MEMORY"),
        (NotImplementedError("not yet"), "UNSUPPORTED"),
        (sotto.ArgumentError("bad line"), "ARGUMENT"),
        (SystemExit(3), "INFERENCE"),
    ],
)
@pytest.mark.parametrize("where", ["chat", "units"])
def test_an_exception_fails_its_request_alone(
    engine: sotto.Engine, caplog: pytest.LogCaptureFixture, where: str, error: BaseException, status: str
) -> None:
    have(engine, Raises(where, error))
    with caplog.at_level(logging.ERROR, "sotto.backends"):
        last = ask(engine, "chat", messages=[{"role": "user", "content": "hi"}])[-1]
    assert last.status.name == status
    assert str(error) in last.error
    if not isinstance(error, sotto.SottoError):
        assert type(error).__name__ in last.error
        assert any(record.exc_info for record in caplog.records)  # the traceback
    assert engine.model_is_loaded("m")


def test_a_backend_that_calls_the_engine_from_inside_gets_an_answer_or_an_error(engine: sotto.Engine) -> None:
    class Curious(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            yield f"{len(json.loads(engine.model_list()))} model, {engine.stats().live} request"

    have(engine, Curious())
    assert engine.chat("hi", model="m", max_tokens=9).text == "1 model, 1 request"


def test_a_backend_cannot_wait_for_its_own_engine(engine: sotto.Engine) -> None:
    class Recursive(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            for call in (lambda: engine.chat("again", model="m", max_tokens=2), engine.close):
                try:
                    call()
                except sotto.SottoError as error:
                    yield f"{error}|"

    have(engine, Recursive())
    said = engine.chat("hi", model="m", max_tokens=40).text
    assert "a backend cannot wait for a request of the engine that runs it; use another engine" in said
    assert "a backend cannot close the engine that runs it" in said
    assert engine.chat("hi", model="m", max_tokens=40).text == said


def test_an_engine_that_is_collected_inside_a_backend_ends(engine: sotto.Engine) -> None:
    class Drops(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            other = sotto.Engine("cpu")
            other.itself = other  # type: ignore[attr-defined]  # only the garbage collector frees it
            other.add_backend(Made(Good()))
            del other
            gc.collect()
            yield "done"

    have(engine, Drops())
    assert engine.chat("hi", model="m", max_tokens=9).text == "done"


@pytest.mark.parametrize(
    ("info", "said"),
    [
        (ModelInfo(weights=1.5e9), "ModelInfo.weights is 1500000000.0"),  # type: ignore[arg-type]
        (ModelInfo(compute=-1), "ModelInfo.compute is -1"),
        (ModelInfo(streams=1 << 20), "ModelInfo.streams is 1048576"),
    ],
)
def test_a_model_whose_info_is_refused_is_closed(engine: sotto.Engine, info: ModelInfo, said: str) -> None:
    closed: list[bool] = []

    class Odd(Good):
        def close(self) -> None:
            closed.append(True)

    model = Odd()
    model.info = info
    with pytest.raises(sotto.ModelLoadError, match=said):
        have(engine, model)
    assert closed == [True]


def test_a_response_without_its_keys_is_an_error_by_name(engine: sotto.Engine) -> None:
    class Half(Model):
        info = ModelInfo(weights=1)

        def translate(self, request: Request) -> Any:
            yield Part()
            return {"text": "x"}

    have(engine, Half())
    with pytest.raises(sotto.InferenceError, match="response of translate has no 'texts'"):
        engine.translate("x")


def test_host_memory_is_told_apart(engine: sotto.Engine) -> None:
    model = Every()
    model.info = ModelInfo(weights=1 << 20, host=5 << 20)
    have(engine, model)
    (told,) = json.loads(engine.model_list())
    assert (told["bytes"]["weights"], told["bytes"]["host"]) == (1 << 20, 5 << 20)


def test_backends_that_are_none_are_refused(engine: sotto.Engine) -> None:
    for wrong in (None, "inn", Backend, object()):
        with pytest.raises(TypeError, match="invalid backend"):
            engine.add_backend(wrong)  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match=r"backend\.name"):
        engine.add_backend(Backend())
    engine.add_backend(Made(Good()))
    with pytest.raises(sotto.SottoError, match="made"):
        engine.add_backend(Made(Good()))


def test_a_backend_opens_only_models_that_name_it(engine: sotto.Engine) -> None:
    backend = Made(Good())
    engine.add_backend(backend)
    with pytest.raises(sotto.SottoError):
        engine.load_model("m", path="somewhere")
    assert not hasattr(backend, "source")
    engine.load_model("m", path="somewhere", backend="made")
    assert backend.source.path == "somewhere"


def test_a_backend_lives_as_long_as_its_engine() -> None:
    engine = sotto.Engine("cpu")
    engine.add_backend(Made(Good()))  # nothing else refers to it
    gc.collect()
    engine.load_model("m", path="-", backend="made")
    gc.collect()
    assert engine.chat("hi", model="m", max_tokens=9).text
    engine.close()
    from sotto.backends import _table

    assert not {table for table in _table._live if table.backend.name == "made"}
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is _table.Table]


def test_closing_the_engine_closes_models_and_generators() -> None:
    seen: list[str] = []

    class Slow(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            try:
                while not request.cancelled():
                    time.sleep(0.005)
                    yield "x"
            finally:
                seen.append("generator")

        def close(self) -> None:
            seen.append("model")

    engine = sotto.Engine("cpu")
    have(engine, Slow())
    engine.submit("chat", {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    while not any(event.kind == "text" for event in engine.events()):
        assert engine.wait(20)
    engine.close()
    assert seen == ["generator", "model"]


def test_a_game_does_not_wait_for_a_slow_backend(engine: sotto.Engine) -> None:
    class Heavy(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            for _ in range(3):
                time.sleep(0.1)  # without the GIL
                yield "x"

    have(engine, Heavy())
    engine.submit("chat", {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    longest, done = 0.0, False
    while not done:
        began = time.perf_counter()
        done = any(event.kind == "request_done" for event in engine.events())
        longest = max(longest, time.perf_counter() - began)
        time.sleep(0.002)
    assert longest < 0.05


def test_a_load_can_be_cancelled_while_it_reports_progress(engine: sotto.Engine) -> None:
    reported = threading.Event()

    class Long(Made):
        def open(self, source: Source) -> Model:
            for step in range(2000):
                source.progress(step / 2000)
                reported.set()
                time.sleep(0.005)
            return Good()

    engine.add_backend(Long(Good()))
    refused: list[sotto.ModelLoadError] = []

    def load() -> None:
        try:
            engine.load_model("m", path="-", backend="made")
        except sotto.ModelLoadError as error:
            refused.append(error)

    loading = threading.Thread(target=load)
    loading.start()
    assert reported.wait(10)
    engine.unload_model("m")
    loading.join(10)
    assert not loading.is_alive() and refused


# The conformance suite


def test_the_sample_passes_the_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "samples" / "python")
    assert check.main(["backend:Inn"]) == 0
    assert f"{len(CASES)} passed, 0 failed" in capsys.readouterr().out


def test_the_scripted_backend_passes_the_suite(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"weights": 1 << 20, "tokens": ["one", " two", " three"]}))
    target = Target("scripted", str(script), str(BUILD / "scripted"))
    assert {name: check.outcome(target, name, 30) for name in CASES} == dict.fromkeys(CASES, "")


BROKEN = {
    "RaisesInOpen": ("load", "the weights are on holiday"),
    "OpensNothing": ("load", "expected a Model"),
    "DoesNothing": ("load", "implements no operation"),
    "NegativeMemory": ("load", "ModelInfo.weights is -5"),
    "NoMemory": ("load", "it takes no memory"),
    "RaisesInStep": ("answer", "ZeroDivisionError: of all things"),
    "YieldsNumbers": ("answer", "yielded 42"),
    "ReturnsNoGenerator": ("answer", "expected a generator"),
    "SaysNothing": ("answer", "without text"),
    "NeverReturns": ("cancel", "did not end within"),
    "Leaks": ("leak", "the process grew by"),
    "Crashes": ("answer", "signal" if sys.platform != "win32" else "exit status"),
    "WrongResponse": ("answer", "expected a dict"),
    "OneVector": ("answer", "1 vectors"),
    "OpensAnything": ("missing", "it opened /no/such/model"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_backend_fails_the_suite_for_its_own_reason(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    case, reason = BROKEN[name]
    found = check.outcome(Target(f"broken_backends:{name}", "model"), case, 6)
    assert reason in found, found


def test_the_backend_that_they_change_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    target = Target(f"broken_backends:{Sound.__name__}", "model")
    assert {name: check.outcome(target, name, 30) for name in CASES} == dict.fromkeys(CASES, "")
