"""The models of a `Runner`: routing, statuses, unloading, and loading again on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from runner_house import HOUSE, chat, said, text, write_models
from sotto.runner import (
    CompletionRequest,
    EmbeddingRequest,
    Runner,
    RunnerError,
    Which,
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three models of random weights, and two adapters of the first."""
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def three(folder: Path) -> Iterator[Runner]:
    """A runner with models "one", "two" and "three"."""
    with Runner(Which.GGUF(str(folder), "1.gguf"), max_seqs=4, alias="one") as runner:
        for number, name in ((2, "two"), (3, "three")):
            assert runner.add_model(Which.GGUF(str(folder), f"{number}.gguf"), alias=name) == name
        yield runner


@pytest.mark.row("E-031", "E-033", "E-037", "E-044", "E-048", "E-081")
def test_requests_are_routed(three: Runner) -> None:
    names = ["one", "two", "three"]
    assert three.list_models() == names
    texts = [text(three, name) for name in names]
    assert len(set(texts)) == 3 and text(three) == texts[0]
    for name, expected in zip(names, texts, strict=True):
        asked = CompletionRequest("hello there", name, max_tokens=6)
        answer = three.send_completion_request(asked)
        assert answer.choices[0].text == expected and answer.model == name
        assert three.send_completion_request(asked, "two").choices[0].text == texts[1]
    messages = [{"role": "user", "content": "hi"}]
    answers = {said(chat(three, messages, model=name)) for name in names}
    assert len(answers) == 3
    assert three.detokenize_text(three.tokenize_text("a b", False, None, "three"), True, "three") == "a b"
    for call in (
        lambda: text(three, "four"),
        lambda: three.tokenize_text("x", False, None, "four"),
        lambda: three.detokenize_text([1], False, "four"),
        lambda: three.max_sequence_length("four"),
        lambda: three.send_embedding_request(EmbeddingRequest("x"), "four"),
        lambda: three.send_re_isq("Q4K", "four"),
    ):
        with pytest.raises(ValueError, match=r"invalid model_id 'four': .*'one', 'two', 'three'"):
            call()


@pytest.mark.row("E-066", "E-067", "E-068", "E-069")
def test_the_default_model(three: Runner) -> None:
    assert three.get_default_model_id() == "one"
    three.set_default_model_id("two")
    assert three.get_default_model_id() == "two" and text(three) == text(three, "two")
    with pytest.raises(ValueError, match="invalid model_id 'four'"):
        three.set_default_model_id("four")
    three.unload_model("three")
    with pytest.raises(ValueError, match="a loaded model"):
        three.set_default_model_id("three")
    three.unload_model("two")
    assert three.get_default_model_id() == "one"
    three.unload_model("one")
    assert three.get_default_model_id() == "one" and text(three)


@pytest.mark.row("E-070", "E-071", "E-073", "E-074", "E-075", "E-076", "E-078", "E-079")
def test_unloaded_models_can_be_loaded_again(three: Runner) -> None:
    before, memory = text(three, "two"), three._loader.engine.stats().bytes_in_use
    three.unload_model("two")
    assert three._loader.engine.stats().bytes_in_use < memory
    assert three.list_models_with_status() == [("one", "loaded"), ("two", "unloaded"), ("three", "loaded")]
    assert three.list_models() == ["one", "two", "three"] and three.list_unloaded_models() == ["two"]
    assert [three.is_model_loaded(name) for name in ("one", "two", "four")] == [True, False, False]
    statuses = [three.get_model_status(name) for name in ("one", "two", "four")]
    assert statuses == ["loaded", "unloaded", None]
    with pytest.raises(ValueError, match="model 'two' is not loaded"):
        three.unload_model("two")
    three.reload_model("two")
    three.reload_model("two")
    assert three.list_unloaded_models() == [] and text(three, "two") == before
    for call in (three.unload_model, three.reload_model, three.remove_model):
        with pytest.raises(ValueError, match="invalid model_id 'four'"):
            call("four")
        with pytest.raises(TypeError, match="model_id"):
            call(4)  # type: ignore[arg-type]


@pytest.mark.row("E-072", "E-077")
def test_eight_requests_load_a_model_once(three: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = text(three, "two")
    three.unload_model("two")
    loads, slow = 0, threading.Event()
    load = three._loader.engine.load_model

    def counted(*args: Any, **options: Any) -> None:
        nonlocal loads
        loads += 1
        slow.wait(10)
        load(*args, **options)

    monkeypatch.setattr(three._loader.engine, "load_model", counted)
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(text(three, "two"))) for _ in range(8)]
    for one in threads:
        one.start()
    end = time.monotonic() + 10
    while three.get_model_status("two") != "reloading" and time.monotonic() < end:
        time.sleep(0.001)
    assert three.get_model_status("two") == "reloading" and not three.is_model_loaded("two")
    assert text(three, "one")  # the other models answer meanwhile
    slow.set()
    for one in threads:
        one.join()
    assert loads == 1 and answers == [expected] * 8


def test_requests_while_a_model_is_unloaded_again_and_again(three: Runner) -> None:
    expected, wrong, done = text(three, "two"), [], threading.Event()

    def unload() -> None:
        while not done.is_set():
            try:
                three.unload_model("two")
            except RunnerError as error:
                assert "not loaded" in str(error)
            time.sleep(0.02)

    def ask() -> None:
        for _ in range(10):
            try:
                answer = text(three, "two")
            except RunnerError as error:  # it was unloaded while it answered
                if "unloaded" not in str(error) and "not loaded" not in str(error):
                    wrong.append(str(error))
                continue
            if answer != expected:
                wrong.append(answer)

    unloads = threading.Thread(target=unload)
    asks = [threading.Thread(target=ask) for _ in range(3)]
    for one in (unloads, *asks):
        one.start()
    for one in asks:
        one.join()
    done.set()
    unloads.join()
    assert wrong == [] and text(three, "two") == expected


def test_a_model_that_cannot_be_loaded_again(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes((folder / "1.gguf").read_bytes())
    with Runner(Which.GGUF(str(tmp_path), "m.gguf"), alias="one") as runner:
        runner.unload_model("one")
        path.unlink()
        for _ in range(2):
            with pytest.raises(RunnerError, match=r"m\.gguf"):
                text(runner)
        assert runner.get_model_status("one") == "unloaded"
        path.write_bytes((folder / "1.gguf").read_bytes())
        assert text(runner)


@pytest.mark.row("E-080")
def test_models_are_removed(three: Runner) -> None:
    three.remove_model("one")
    assert three.list_models() == ["two", "three"] and three.get_default_model_id() == "two"
    assert three.get_model_status("one") is None
    with pytest.raises(ValueError, match="invalid model_id 'one'"):
        text(three, "one")
    three.unload_model("two")
    three.remove_model("two")
    with pytest.raises(ValueError, match="the only one"):
        three.remove_model("three")
    assert three.list_models() == ["three"] and text(three)


def test_ids_that_cannot_be(three: Runner, folder: Path) -> None:
    one = Which.GGUF(str(folder), "1.gguf")
    for taken in ("one", "default"):
        with pytest.raises(RunnerError, match=f"alias '{taken}'"):
            three.add_model(one, taken)
    with pytest.raises(ValueError, match="alias"):
        three.add_model(one, "")
    with pytest.raises(TypeError, match="alias"):
        three.add_model(one, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="which"):
        three.add_model("1.gguf")  # type: ignore[arg-type]
    with pytest.raises(RunnerError, match="one of its attributes"):
        three.add_model(Which())
    assert three.add_model(one) == str(folder)


def test_a_model_of_the_host(folder: Path) -> None:
    with sotto.Engine("cpu", mode="prioritize_compute", threads=1) as engine:
        engine.load_model("npc", path=folder / "1.gguf")
        with (
            Runner(Which.GGUF("npc", ""), engine=engine)
            if False
            else Runner(Which.GGUF("npc", "any.gguf"), engine=engine) as runner
        ):
            runner.add_model(Which.GGUF(str(folder), "2.gguf"), "two")
            assert text(runner) != text(runner, "two")
            with pytest.raises(RunnerError, match="loaded by the host"):
                runner.unload_model("npc")
            with pytest.raises(RunnerError, match="pa_gpu_mem with engine"):
                Runner(Which.GGUF("npc", "any.gguf"), engine=engine, pa_gpu_mem=64)
        assert engine.model_is_loaded("npc") and not engine.model_is_loaded("two")
    with pytest.raises(TypeError, match="engine"):
        Runner(HOUSE, engine="cpu")  # type: ignore[arg-type]
