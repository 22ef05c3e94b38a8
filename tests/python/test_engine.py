"""`engine`: its life, and the models in it."""

from __future__ import annotations

import gc
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT, SCRIPTED
from sotto._opens_sessions import OpensSessions
from sotto.frame import Frames
from sotto.settings import Settings
from talk import Ticks, chat, content, load_endless, prompt, threads, until_threads

CALLS: dict[str, Callable[[sotto.Engine], Any]] = {
    "load_model": lambda engine: engine.load_model("npc", options={}),
    "plan_model": lambda engine: engine.plan_model("npc", options={}),
    "unload_model": lambda engine: engine.unload_model("npc"),
    "model_list": lambda engine: engine.model_list(),
    "model_is_loaded": lambda engine: engine.model_is_loaded("npc"),
    "llm_chat_completion": lambda engine: engine.llm_chat_completion(chat()),
    "llm_chat_completion_stream": lambda engine: engine.llm_chat_completion_stream(chat()),
    "llm_text_completion": lambda engine: engine.llm_text_completion(prompt()),
    "llm_text_completion_stream": lambda engine: engine.llm_text_completion_stream(prompt()),
    "llm_infill": lambda engine: engine.llm_infill(prompt()),
    "tokenize": lambda engine: engine.tokenize(prompt()),
    "detokenize": lambda engine: engine.detokenize(prompt()),
    "save_state": lambda engine: engine.save_state(prompt(path="never")),
    "restore_state": lambda engine: engine.restore_state(prompt(path="never")),
    "read_state": lambda engine: engine.read_state(prompt()),
    "session": lambda engine: engine.session("never"),
    "token_session": lambda engine: engine.token_session("never"),
    "sessions": lambda engine: engine.sessions(),
    "apply_template": lambda engine: engine.apply_template(chat()),
    "submit": lambda engine: engine.submit("chat", chat()),
    "events": lambda engine: engine.events(),
    "wait": lambda engine: engine.wait(0),
    "cancel": lambda engine: engine.cancel(1),
    "frame": lambda engine: engine.frame().__enter__(),
    "frame_begin": lambda engine: engine.frame_begin(),
    "frame_end": lambda engine: engine.frame_end(),
    "trace": lambda engine: engine.trace(),
    "stats": lambda engine: engine.stats(),
    "memory": lambda engine: engine.memory(),
    "set_request_tps": lambda engine: engine.set_request_tps(1, 0),
    "set_scheduling_mode": lambda engine: engine.set_scheduling_mode("balance"),
    "set_vram_budget_mb": lambda engine: engine.set_vram_budget_mb(0),
    "set_target_tps": lambda engine: engine.set_target_tps(0),
    "describe": lambda engine: engine.describe(),
}


@pytest.mark.row("A-038", "A-039", "A-043", "A-048", "A-049", "A-055", "A-056", "A-058", "A-062")
def test_signatures() -> None:
    first = next(iter(inspect.signature(sotto.Engine).parameters.values()))
    assert (first.name, first.default) == ("device", "auto")
    for name, parameters in {
        "close": [],
        "load_model": ["model_id"],
        "plan_model": ["model_id"],
        "memory": [],
        "unload_model": ["model_id"],
        "model_list": [],
        "model_is_loaded": ["model_id"],
    }.items():
        signature = inspect.signature(getattr(sotto.Engine, name))
        positional = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
        assert positional == ["self", *parameters], name
    kinds = (sotto.Engine, Frames, Settings, *OpensSessions.__mro__[:2])  # the parts whose calls are listed
    assert set(CALLS) | {"close"} == {name for kind in kinds for name in vars(kind) if name[0] != "_"}


@pytest.mark.row("A-040")
def test_devices() -> None:
    for device in ("auto", "cpu"):
        sotto.Engine(device, module_dir=SCRIPTED).close()
    with pytest.raises(ValueError, match='invalid device \'abacus\': expected "auto", "cpu", "vulkan"'):
        sotto.Engine(device="abacus")
    with pytest.raises(sotto.AtelicoError, match="invalid device 'metal': expected") as caught:
        sotto.Engine("metal")
    assert caught.value.status == -2
    for device in ("cuda", "cuda:1", "vulkan0"):
        expected = (
            f"invalid device '{device}': expected 'auto', 'cpu'; {SCRIPTED} contains no module sotto_llama_"
        )
        with pytest.raises(sotto.AtelicoError, match=re.escape(expected)) as caught:
            sotto.Engine(device, module_dir=SCRIPTED)
        assert caught.value.status == -2 and isinstance(caught.value, ValueError)


@pytest.mark.row("A-042", "A-043", "A-046", "A-047")
def test_close_and_with_come_to_the_same() -> None:
    with sotto.Engine(module_dir=SCRIPTED) as engine:
        assert isinstance(engine, sotto.Engine)
    assert engine.close() is None
    other = sotto.Engine(module_dir=SCRIPTED)
    assert other.close() is None and other.close() is None
    for closed in (engine, other):
        with pytest.raises(sotto.SottoError, match="engine is closed"):
            closed.model_list()
    with pytest.raises(sotto.SottoError, match="engine is closed"), other:
        other.model_list()


@pytest.mark.row("A-045")
@pytest.mark.parametrize("name", CALLS)
def test_nothing_works_after_close(name: str) -> None:
    engine = sotto.Engine(module_dir=SCRIPTED)
    engine.close()
    with pytest.raises(sotto.SottoError, match="engine is closed; create another engine") as caught:
        CALLS[name](engine)
    assert type(caught.value) is sotto.SottoError and caught.value.status == -5


@pytest.mark.row("A-044")
def test_close_stops_threads_and_unloads_models() -> None:
    before = threads()
    engine = sotto.Engine(module_dir=SCRIPTED)
    engine.load_model("npc", options={"weights": 1 << 20})
    assert threads() > before and engine.describe()["bytes_in_use"] == 1 << 20
    engine.close()
    until_threads(before)


def test_engines_come_and_go() -> None:
    for _ in range(100):
        with sotto.Engine(module_dir=SCRIPTED) as engine:
            engine.submit("chat", chat())


def test_a_65th_engine_is_refused(open_engine: Callable[..., sotto.Engine]) -> None:
    with pytest.raises(sotto.SottoError, match="64 engines are live"):
        for _ in range(65):
            open_engine()


def test_a_dropped_engine_ends() -> None:
    before = threads()
    sotto.Engine(module_dir=SCRIPTED)
    gc.collect()
    until_threads(before)


def test_a_stream_keeps_its_engine() -> None:
    stream = None
    engine = sotto.Engine(module_dir=SCRIPTED)
    engine.load_model("npc", options={"token_ms": 5})
    stream = engine.llm_chat_completion_stream(chat("one two three"))
    del engine
    gc.collect()
    assert len(list(stream)) == 4


@pytest.mark.parametrize("ending", ["", "engine.close()", "stream.close()", "del engine", "next(stream)"])
def test_the_interpreter_ends_with_an_engine_at_work(ending: str) -> None:
    script = f"""
import os, sotto, threading
engine = sotto.Engine(module_dir=os.environ["SOTTO_TEST_SCRIPTED"])
engine.load_model("npc", options={{"tokens": ["a"], "loop": True, "token_ms": 1}})
request = '{{"model": "npc", "prompt": "x"}}'
stream = engine.llm_text_completion_stream(request)
threading.Thread(target=engine.llm_text_completion, args=(request,), daemon=True).start()
next(stream)
{ending}
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=20)
    assert (done.returncode, "Fatal" in done.stderr) == (0, False), done.stderr


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_needs_an_engine_of_its_own(npc: sotto.Engine) -> None:
    stream = npc.llm_chat_completion_stream(chat())
    child = os.fork()
    if child == 0:
        code = 1
        try:
            npc.model_list()
        except sotto.SottoError as error:
            del stream
            npc.close()
            with sotto.Engine(module_dir=SCRIPTED) as own:
                own.load_model("npc", options={})
                own.llm_chat_completion(chat())
            code = 0 if "before the fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert content(npc.llm_chat_completion(chat("still here"))) == "still here"


@pytest.mark.row("A-048", "A-054", "A-055", "A-058", "A-059", "A-060", "A-061", "A-062")
def test_models_come_and_go(engine: sotto.Engine, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"context": 99, "weights": 5}')
    assert engine.model_list() == "[]" and engine.model_is_loaded("org/name") is False
    assert engine.load_model("org/name", path=script) is None
    assert engine.load_model("org/name", path=script) is None
    engine.load_model("npc", options="{}")
    listed = {model["id"]: model for model in json.loads(engine.model_list())}
    assert set(listed) == {"org/name", "npc"}
    assert {model["object"] for model in listed.values()} == {"model"}
    assert listed["org/name"]["owned_by"] == "org" and listed["npc"]["owned_by"] == "local"
    assert (listed["org/name"]["context"], listed["org/name"]["backend"]) == (99, "scripted")
    assert engine.describe()["bytes_in_use"] == 5
    assert engine.model_is_loaded("org/name") is True and engine.model_is_loaded("name") is False
    assert engine.unload_model("org/name") is None
    assert engine.model_is_loaded("org/name") is False and engine.describe()["bytes_in_use"] == 0


def test_another_model_under_the_same_id_is_refused(npc: sotto.Engine) -> None:
    with pytest.raises(sotto.ModelLoadError, match="model 'npc' is already loaded with another path"):
        npc.load_model("npc", options={"token_ms": 1})


@pytest.mark.row("A-057")
def test_unloading_what_is_not_loaded(npc: sotto.Engine) -> None:
    with pytest.raises(sotto.ModelLoadError, match="model 'ghost' is not loaded: check the id") as caught:
        npc.unload_model("ghost")
    assert caught.value.status == -7
    npc.unload_model("npc")
    with pytest.raises(sotto.ModelLoadError, match="model 'npc' is not loaded"):
        npc.unload_model("npc")


@pytest.mark.row("A-049")
@pytest.mark.parametrize("name", ["plain.json", "with space.json", "Zoë 狼 🐺.json", "a'b\"c$d.json"])
def test_a_path_is_an_id(engine: sotto.Engine, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"tokens": ["here"]}')
    engine.load_model(str(path))
    assert content(engine.llm_chat_completion(chat(model=str(path)))) == "here"


def test_a_path_may_begin_at_home(
    engine: sotto.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "npc.json").write_text("{}")
    engine.load_model("~/npc.json")
    engine.load_model("npc", path="~/npc.json")
    assert engine.model_is_loaded("~/npc.json") and engine.model_is_loaded("npc")


@pytest.mark.row("A-053")
@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        ({"model_id": "/nowhere/x.gguf"}, "file '/nowhere/x.gguf' does not exist", -7),
        ({"model_id": "x.gguf"}, "file 'x.gguf' does not exist", -7),
        ({"model_id": "a", "path": "/nowhere/x.gguf"}, "file '/nowhere/x.gguf' does not exist", -7),
        ({"model_id": "a", "path": __file__}, "is no script", -8),
        ({"model_id": "a", "options": {"fail_load": "the file is cursed"}}, "the file is cursed", -8),
        ({"model_id": "a", "backend": "abacus"}, "no backend 'abacus' was found in ", -2),
    ],
)
def test_a_model_that_cannot_be_loaded(
    engine: sotto.Engine, arguments: dict[str, Any], said: str, status: int
) -> None:
    with pytest.raises(sotto.ModelLoadError, match=said) as caught:
        engine.load_model(**arguments)
    assert caught.value.status == status and engine.model_list() == "[]"


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"model_id": ""}, ValueError, "invalid model_id ''"),
        ({"model_id": "local::"}, ValueError, "invalid model_id ''"),
        ({"model_id": "a\0b"}, ValueError, r"invalid model_id 'a\\x00b'"),
        ({"model_id": "a\ud800"}, ValueError, "id: expected Unicode text"),
        ({"model_id": None}, TypeError, "invalid model_id 'None': expected a str"),
        ({"model_id": b"a"}, TypeError, "invalid model_id 'b'a'': expected a str"),
        ({"model_id": "a", "path": "x\0"}, ValueError, "invalid path"),
        ({"model_id": "a", "path": b"x"}, TypeError, "invalid path 'b'x''"),
        ({"model_id": "a", "backend": ""}, ValueError, "invalid backend ''"),
        ({"model_id": "a", "options": "{"}, ValueError, "invalid options: expected JSON"),
        (
            {"model_id": "a", "options": "[]"},
            ValueError,
            r"invalid options '\[\]': expected a JSON object",
        ),
        ({"model_id": "a", "options": [1]}, TypeError, r"invalid options '\[1\]': expected a str of JSON"),
    ],
)
def test_bad_arguments_of_load_model(
    engine: sotto.Engine, arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        engine.load_model(**arguments)


@pytest.mark.row("A-051", "A-048")
def test_loading_blocks_and_lets_others_run(engine: sotto.Engine) -> None:
    heard: list[tuple[str, float]] = []
    began = time.monotonic()
    with Ticks() as ticks:
        engine.load_model("npc", options={"load_ms": 300}, progress=lambda *told: heard.append(told))
    assert time.monotonic() - began >= 0.3 and ticks.count > 50
    assert engine.model_is_loaded("npc")
    assert {what for what, _ in heard} == {"load"}
    assert [done for _, done in heard] == sorted(done for _, done in heard) and heard[-1][1] == 1.0


def _interrupt_after(seconds: float, call: Callable[[], Any]) -> None:
    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - began < seconds + 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_ends_loading(engine: sotto.Engine) -> None:
    _interrupt_after(0.15, lambda: engine.load_model("npc", options={"load_ms": 5000}))
    assert not engine.model_is_loaded("npc")
    engine.load_model("other", options={})


def test_after_a_cancelled_loading_the_id_is_free(engine: sotto.Engine) -> None:
    _interrupt_after(0.15, lambda: engine.load_model("npc", options={"load_ms": 5000}))
    engine.load_model("npc", options={"tokens": ["another"]})


def test_ctrl_c_ends_an_answer_and_a_stream(engine: sotto.Engine) -> None:
    load_endless(engine)
    _interrupt_after(0.15, lambda: engine.llm_chat_completion(chat(model="endless")))
    _interrupt_after(0.15, lambda: list(engine.llm_chat_completion_stream(chat(model="endless"))))
    _interrupt_after(0.15, lambda: engine.wait())
    assert content(engine.llm_chat_completion(chat(model="endless", max_tokens=2))) == " on on"


def test_an_exception_in_progress_ends_loading(engine: sotto.Engine) -> None:
    def stop(what: str, done: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        engine.load_model("npc", options={"load_ms": 5000}, progress=stop)
    assert not engine.model_is_loaded("npc")


@pytest.mark.row("A-044")
def test_close_from_another_thread_ends_what_waits(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine()
    load_endless(engine)
    raised: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    calls: list[Callable[[], Any]] = [
        lambda: engine.llm_chat_completion(chat(model="endless")),
        lambda: engine.llm_chat_completion(chat(model="endless")),
        lambda: list(engine.llm_text_completion_stream(prompt(model="endless"))),
        lambda: engine.load_model("slow", options={"load_ms": 4000}),
        lambda: engine.wait(),
    ]
    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    closers = [threading.Thread(target=engine.close) for _ in range(3)]
    for thread in closers:
        thread.start()
    for thread in threads:
        thread.join(1)
        assert not thread.is_alive()
    kinds = {sotto.InferenceError, sotto.ModelLoadError, sotto.SottoError}
    assert len(raised) == 5 and {type(error) for error in raised} <= kinds
    for thread in closers:
        thread.join()


def test_describe(open_engine: Callable[..., sotto.Engine]) -> None:
    found = open_engine(mode="balance").describe()
    assert found["version"] == sotto.__version__ and found["mode"] == "balance"
    assert [backend["name"] for backend in found["backends"]] == ["scripted"]
