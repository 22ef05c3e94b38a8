"""A process that forks: its engines are refused in a child, where new ones work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import sotto
from conftest import ENVIRONMENT, SCRIPTED
from sotto._lib import ffi, lib
from talk import chat, content

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
MODES = ("prioritize_compute", "balance", "prioritize_graphics")
FORKS = int(os.environ.get("SOTTO_TEST_FORKS", "2"))  # children of each kind
HOUSE = {"model": "sotto/house", "messages": [{"role": "user", "content": "Who are you?"}], "max_tokens": 4}


def in_child(body: Callable[[], object], seconds: float = 120) -> int:
    """How a child ends in which `body` runs: 0, if nothing is raised. A child that hangs is killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        finally:
            os._exit(code)
    return ended(child, seconds)


def ended(child: int, seconds: float) -> int:
    """Waits for a child, and aborts one that hangs, so that pytest's faulthandler says where."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGABRT)
    os.waitpid(child, 0)
    return -signal.SIGABRT


@contextmanager
def repeating(work: Callable[[], object]) -> Iterator[None]:
    """A thread that calls `work` again and again; it has done so once when the block begins."""
    over, began = threading.Event(), threading.Event()

    def run() -> None:
        while not over.is_set():
            work()
            began.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert began.wait(60)
        yield
    finally:
        over.set()
        thread.join()


def load_in_an_engine() -> None:
    """Creates an engine, loads a model, and ends the engine."""
    with sotto.Engine(mode="prioritize_compute") as engine:
        engine.load_model("sotto/house")


def functions_of_engines() -> list[str]:
    """Every function of the library that takes an engine first, but for the one that ends it."""
    first = ffi.typeof("sotto_engine *")
    names = [name for name in dir(lib) if name.startswith("sotto_")]
    kinds = {name: ffi.typeof(getattr(lib, name)) for name in names}
    taking = [name for name, kind in kinds.items() if kind.args and kind.args[0] == first]
    return sorted(set(taking) - {"sotto_engine_destroy"})


def arguments_of(name: str) -> list[object]:
    """What a function takes beside an engine: structs of their size, and zeros."""
    made: list[object] = []
    for kind in ffi.typeof(getattr(lib, name)).args[1:]:
        if kind.kind == "pointer":
            pointer = ffi.new(kind)
            if kind.item.kind == "struct" and "struct_size" in dict(kind.item.fields):
                pointer.struct_size = ffi.sizeof(kind.item)
            made.append(pointer)
        else:
            made.append(ffi.new(ffi.getctype(kind, "*"))[0] if kind.kind == "struct" else 0)
    return made


def test_every_call_with_a_parents_engine_is_refused_and_says_why(npc: sotto.Engine) -> None:
    names = functions_of_engines()
    assert len(names) > 20
    pointer = npc._handle.pointer
    alive = {name: getattr(lib, name)(pointer, *arguments_of(name)) for name in ("sotto_engine_describe",)}
    assert alive == {"sotto_engine_describe": 0}

    def calls() -> None:
        lib.sotto_engine_destroy(pointer)  # frees nothing, and returns
        for name in names:
            status = getattr(lib, name)(pointer, *arguments_of(name))
            told = lib.sotto_last_error()
            why = bytes(ffi.buffer(told.data, told.size)).decode()
            if status != lib.SOTTO_ERROR_ARGUMENT or "parent process of fork()" not in why:
                print(name, status, why, flush=True)
                raise AssertionError(name)

    assert in_child(calls) == 0
    assert content(npc.llm_chat_completion(chat("still here"))) == "still here"


@pytest.mark.real
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "speaking"])
def test_a_childs_own_engine_works_whatever_its_parents_does(mode: str, busy: bool) -> None:
    def work() -> None:
        with sotto.Engine(mode=mode) as own:
            own.load_model("sotto/house")
            assert content(own.llm_chat_completion(HOUSE))

    with sotto.Engine(mode=mode) as engine:
        engine.load_model("sotto/house")
        engine.llm_chat_completion(HOUSE)
        long = {**HOUSE, "max_tokens": 40, "ignore_eos": True}
        with repeating(lambda: engine.llm_chat_completion(long)) if busy else threading.Lock():
            assert [in_child(work) for _ in range(FORKS)] == [0] * FORKS
        assert content(engine.llm_chat_completion(HOUSE))


@pytest.mark.real
def test_a_childs_own_engine_works_while_its_parent_creates_and_loads_others() -> None:
    def work() -> None:
        with sotto.Engine(mode="prioritize_compute") as own:
            own.load_model("sotto/house")
            assert content(own.llm_chat_completion(HOUSE))

    with repeating(load_in_an_engine):
        for number in range(10 * FORKS):
            time.sleep(0.007 * (number % 6))  # at another point each time
            assert in_child(work) == 0


@pytest.mark.real
def test_a_childs_own_engine_works_while_its_parent_loads_its_first_model() -> None:
    script = """
import os, threading, time, sotto
def work():
    with sotto.Engine(threads=1) as own:
        own.load_model("sotto/house")
first = threading.Thread(target=work)
first.start()
children = []
while not children or (first.is_alive() and len(children) < 8):  # it may have loaded before this one ran
    children.append(os.fork())
    if not children[-1]:
        work()
        os._exit(0)
    time.sleep(0.005)
first.join()
ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(ended, flush=True)
os._exit(0)
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    for _ in range(2 * FORKS):  # what a process initialises once, it does while it loads its first
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        ended = json.loads(done.stdout)
        assert ended and set(ended) == {0}


@pytest.mark.real
def test_a_child_leaves_by_sys_exit_at_once_while_its_parent_speaks() -> None:
    script = f"""
import os, sys, time, sotto
engine = sotto.Engine(mode="prioritize_compute")
engine.load_model("sotto/house")
body = {{**{json.dumps(HOUSE)}, "max_tokens": 100000, "ignore_eos": True, "context_overflow": "shift"}}
stream = engine.llm_chat_completion_stream(body)
next(stream)
for _ in range({FORKS}):
    began = time.monotonic()
    child = os.fork()
    if not child:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(time.monotonic() - began, flush=True)
os._exit(0)
"""
    command = [sys.executable, "-W", "ignore", "-c", script.replace("true", "True")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    took = [float(line) for line in done.stdout.split()]
    assert len(took) == FORKS and max(took) < 1.5  # 2 seconds were waited for each kind of call


def test_scripted_engines_work_in_children_of_children() -> None:
    def work(depth: int) -> None:
        with sotto.Engine(module_dir=SCRIPTED) as own:
            own.load_model("npc", options={})
            assert content(own.llm_chat_completion(chat("one two"))) == "one two"
            if depth > 0:
                assert in_child(lambda: work(depth - 1)) == 0

    work(2)
