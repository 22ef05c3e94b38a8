"""What calls take and refuse: mappings, paths, settings, copies; and that types can be looked up."""

from __future__ import annotations

import collections
import copy
import importlib
import inspect
import json
import os
import pickle
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
import sotto.interop
from conftest import ENVIRONMENT, SCRIPTED
from talk import chat, content, prompt


class Table(collections.abc.Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Whole:
    """An integer that is no int, as numpy's are."""

    def __index__(self) -> int:
        return 5


def test_any_mapping_and_any_sequence_is_a_request(npc: sotto.Engine) -> None:
    said = types.MappingProxyType({"role": "user", "content": "a b c"})
    for messages in ([said], (Table(role="user", content="a b c"),), collections.deque([said])):
        if isinstance(messages, collections.deque):
            messages = collections.UserList(messages)
        request = collections.ChainMap({"model": "npc"}, {"messages": messages, "max_tokens": Whole()})
        assert content(npc.llm_chat_completion(request)) == "a b c"
        assert content(npc.llm_chat_completion(Table(**request))) == "a b c"
    npc.load_model("other", options=Table(tokens=collections.UserList(["x"])))
    mara = npc.session("mara", Table(role="system", content="hm"), model="npc")
    assert mara.say("hi", types.MappingProxyType({"max_tokens": 3})) == "hi"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"stop": {1, 2}}, r"request_json.stop '\{1, 2\}': expected a JSON type, not set"),
        ({"logit_bias": [{"a": object()}]}, r"request_json.logit_bias\[0\].a '.*expected a JSON type"),
        ({"stop": b"x"}, "request_json.stop 'b'x'': expected a JSON type, not bytes"),
        ({"metadata": {(1, 2): 3}}, r"key '\(1, 2\)' of request_json.metadata: expected a str"),
        ({"top_p": float("nan")}, "request_json.top_p 'nan': expected a finite number"),
        ({"metadata": {float("inf"): 3}}, "key 'inf' of request_json.metadata"),
    ],
)
def test_what_json_has_not_is_named_by_its_field(npc: sotto.Engine, field: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^invalid .*{said}"):
        npc.llm_chat_completion({**json.loads(chat()), **field})


def test_a_request_that_holds_itself_is_refused(npc: sotto.Engine) -> None:
    endless: dict[str, Any] = {}
    endless["metadata"] = endless
    with pytest.raises(sotto.ArgumentError, match=r"request_json.metadata.* expected at most"):
        npc.llm_chat_completion({**json.loads(chat()), **endless})
    with pytest.raises(sotto.ArgumentError):
        npc.llm_chat_completion("::" + "[" * 100_000)


BOOLEANS: dict[str, Callable[[sotto.Engine, Any], object]] = {
    "deterministic": lambda engine, value: sotto.Engine(deterministic=value),
    "gates": lambda engine, value: sotto.Engine(gates=value),
    "chunks": lambda engine, value: engine.submit("chat", chat(), chunks=value),
    "pinned": lambda engine, value: engine.session(pinned=value),
}


@pytest.mark.parametrize("name", BOOLEANS)
@pytest.mark.parametrize("value", ["no", 0, 1, None, []])
def test_only_true_and_false_are_true_or_false(npc: sotto.Engine, name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"invalid {name} '.*': expected True or False"):
        BOOLEANS[name](npc, value)


@pytest.mark.parametrize(
    "settings",
    [
        {"target_tps": True},
        {"threads": True},
        {"threads": 1.0},
        {"trace": "4"},
        {"vram_budget_mb": "1"},
        {"kv_spill_memory_mb": 1.5},
        {"max_requests": None},
        {"mode": None},
        {"device": 3},
        {"backends": 3},
        {"backends": "local"},
        {"backends": [{"name": "local", "backend_type": "in_memory"}]},
        {"record": 3},
        {"kv_spill_dir": b"/tmp"},
    ],
    ids=str,
)
def test_settings_of_another_type_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        sotto.Engine(**settings)


def test_bad_progress_is_refused_at_once(engine: sotto.Engine) -> None:
    with pytest.raises(TypeError, match="invalid progress '3'"):
        engine.load_model("npc", options={}, progress=3)  # type: ignore[arg-type]
    assert not engine.model_is_loaded("npc")


@pytest.mark.parametrize("op", ["chat", "text"])
def test_a_call_that_returns_the_whole_answer_refuses_stream_true(npc: sotto.Engine, op: str) -> None:
    whole = chat if op == "chat" else prompt
    call, stream = getattr(npc, f"llm_{op}_completion"), getattr(npc, f"llm_{op}_completion_stream")
    for request in (
        whole(stream=True),
        json.loads(whole(stream=True)),
        Table(**json.loads(whole(stream=True))),
    ):
        with pytest.raises(sotto.ArgumentError, match=f"invalid stream 'true'.*llm_{op}_completion_stream"):
            call(request)
        assert len(list(stream(request))) >= 2
    assert call(whole(stream=False)) and call(whole('say "stream" and true'))
    npc.submit("chat" if op == "chat" else "completion", whole(stream=True), chunks=True)

    async def awaited() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED) as engine:
            with pytest.raises(sotto.ArgumentError, match="invalid stream 'true'"):
                await getattr(engine, f"llm_{op}_completion")(whole(stream=True))

    import asyncio

    asyncio.run(awaited())


def test_an_id_of_an_unknown_backend_is_not_loaded(npc: sotto.Engine) -> None:
    assert npc.model_is_loaded("ghost::x") is False
    assert npc.model_is_loaded("local::npc") is True
    with pytest.raises(ValueError, match="'ghost::x': expected a backend of this engine"):
        npc.load_model("ghost::x")


def test_a_load_that_fails_names_the_model_and_its_file(engine: sotto.Engine, tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"no model")
    for call in (engine.load_model, engine.plan_model):
        for arguments in ({"model_id": "npc", "path": file}, {"model_id": file}):
            with pytest.raises(sotto.ModelLoadError) as caught:
                call(**arguments)
            assert str(file) in str(caught.value) and str(arguments["model_id"]) in str(caught.value)
            assert caught.value.status == -8
    with pytest.raises(sotto.ModelLoadError, match="model 'a': the file is cursed"):
        engine.load_model("a", options={"fail_load": "the file is cursed"})

    async def awaited() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED) as later:
            with pytest.raises(sotto.ModelLoadError, match=r"model 'npc' from '.*broken.gguf'"):
                await later.load_model("npc", path=file)

    import asyncio

    asyncio.run(awaited())


# Paths

PATHS = {
    "path",
    "model_id",
    "module_dir",
    "record_path",
    "kv_spill_dir",
    "store_dir",
    "file",
    "folder",
    "dir",
}


def public_functions() -> dict[str, Callable[..., Any]]:
    """Every public function and method of the package, by its full name."""
    found: dict[str, Callable[..., Any]] = {}
    modules = [sotto, sotto.aio, sotto.gpu]
    modules += [importlib.import_module(f"sotto.interop.{name}") for name in ("cuda", "vulkan")]
    for module in modules:
        for name in getattr(module, "__all__", None) or [one for one in vars(module) if one[0] != "_"]:
            value = getattr(module, name)
            if inspect.isfunction(value) and (module is sotto or value.__module__ == module.__name__):
                found[f"{module.__name__}.{name}"] = value
            elif inspect.isclass(value) and value.__module__.startswith("sotto"):
                for base in value.__mro__[:-1]:
                    for key, one in vars(base).items():
                        one = (
                            one.fget
                            if isinstance(one, property)
                            else inspect.unwrap(getattr(one, "__func__", one))
                        )
                        if inspect.isfunction(one) and one.__module__.startswith("sotto"):
                            found[f"{value.__module__}.{value.__qualname__}.{key}"] = one
    return found


def test_the_types_of_every_public_function_can_be_looked_up() -> None:
    functions = public_functions()
    assert len(functions) > 100
    for name, function in functions.items():
        assert isinstance(typing.get_type_hints(function), dict), name


def test_whatever_takes_a_path_takes_a_path_object() -> None:
    taken = set()
    for name, function in public_functions().items():
        hints = typing.get_type_hints(function)
        for parameter in inspect.signature(function).parameters:
            if parameter in PATHS and ".trace" not in name:
                assert os.PathLike in {
                    typing.get_origin(one) or one for one in typing.get_args(hints[parameter])
                }, f"{parameter} of {name} is {hints[parameter]}"
                taken.add(parameter)
    assert taken == {"path", "model_id", "module_dir", "record_path", "kv_spill_dir", "store_dir", "folder"}


def test_path_objects_work_wherever_a_path_does(tmp_path: Path) -> None:
    model, log = tmp_path / "npc.json", tmp_path / "log.jsonl"
    model.write_text('{"tokens": ["here"]}')
    with sotto.Engine(
        module_dir=Path(SCRIPTED), record_path=log, kv_spill_dir=tmp_path, mode="prioritize_compute"
    ) as engine:
        assert engine.plan_model(model)["fits"]
        engine.load_model(model)
        assert engine.model_is_loaded(model) and engine.model_is_loaded(str(model))
        assert content(engine.llm_chat_completion(chat(model=str(model)))) == "here"
        assert content(engine.llm_chat_completion({**json.loads(chat()), "model": model})) == "here"
        engine.unload_model(model)
        assert not engine.model_is_loaded(model)
        engine.load_model("npc", path=model)
    assert sotto.replay(log).models == 2
    sotto.write_trace([], tmp_path / "trace.json")

    async def awaited() -> None:
        async with sotto.aio.Engine(module_dir=Path(SCRIPTED), kv_spill_dir=tmp_path) as engine:
            assert (await engine.plan_model(model))["fits"]
            await engine.load_model(model)
            assert engine.model_is_loaded(model)
            await engine.unload_model(model)

    import asyncio

    asyncio.run(awaited())


# Objects that stand for something inside the library


def test_nothing_that_lives_in_the_library_is_copied_or_pickled(npc: sotto.Engine) -> None:
    stream = npc.llm_chat_completion_stream(chat("a b c"))
    mara = npc.session(model="npc")
    for one in (npc, stream, mara, npc._handle):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"^a sotto\..* cannot be copied or pickled"):
                way(one)
    assert len(list(stream)) == 4 and mara.say("hi") == "hi"

    async def awaited() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED) as engine:
            await engine.load_model("npc", options={})
            for one in (engine, engine.llm_chat_completion_stream(chat()), await engine.session()):
                with pytest.raises(TypeError, match=r"^a sotto.aio\..* cannot be copied or pickled"):
                    copy.copy(one)

    import asyncio

    asyncio.run(awaited())


def test_an_engine_says_what_it_is(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine(mode="balance")
    assert repr(engine) == "<sotto.Engine on auto, balance, 0 live requests, models: none>"
    engine.load_model("npc", options={})
    engine.load_model("other", options={})
    assert "models: npc, other" in repr(engine)
    engine.close()
    assert "closed" in repr(engine)


@pytest.mark.parametrize(
    "call",
    [
        "engine.close()",
        "engine.model_is_loaded('npc')",
        "engine.llm_chat_completion({'model': 'npc'})",
        "engine.submit('chat', {})",
        "engine.describe()",
        "session.close()",
        "session.say('hello')",
        "session.messages",
        "next(stream)",
        "stream.close()",
        "repr(engine)",
        "sotto.Engine(backends=[])",
        "sotto.gpu.gpus()",
    ],
)
def test_calls_while_the_interpreter_ends_raise_no_import_error(call: str) -> None:
    script = (
        "import os, sotto\n"
        "class Game:\n"
        "    def __init__(self):\n"
        "        self.engine = sotto.Engine(module_dir=os.environ['SOTTO_TEST_SCRIPTED'])\n"
        "        self.engine.load_model('npc', options={})\n"
        "        self.session = self.engine.session(model='npc')\n"
        "        self.stream = self.engine.llm_chat_completion_stream(\n"
        "            {'model': 'npc', 'messages': [{'role': 'user', 'content': 'a b'}]})\n"
        "    def __del__(self, sotto=sotto, print=print):\n"
        "        engine, session, stream = self.engine, self.session, self.stream\n"
        "        print('deleted')\n"
        f"        {call}\n"
        "game = Game()\n"  # a global: freed when modules are gone
    )
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "deleted\n"
    assert "ImportError" not in done.stderr and "NameError" not in done.stderr, done.stderr
