"""Finds the native build to test against, and lends engines on the scripted backend or on llama's.

SOTTO_TEST_LIBRARY names the folder a native build put its libraries in (`.../out`). An installed package is
tested with its own library, a checkout with the one there; the scripted backend always comes from there.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SOTTO_TEST_LIBRARY") or ROOT / "build" / "check" / "release" / "out")
SCRIPTED = BUILD / "scripted"
LOOPBACK = ("127.0.0.1", "::1", "localhost")

if not SCRIPTED.is_dir():
    pytest.exit(f"no scripted backend in {SCRIPTED}; set SOTTO_TEST_LIBRARY to a native build's out", 2)
if importlib.util.find_spec("sotto") is None:
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["PYTHONPATH"] = str(ROOT / "python")  # for the tests' own subprocesses
sys.path.append(str(ROOT / "tests" / "gpu"))  # rung.py
sys.path.append(str(ROOT / "tests" / "data"))  # make_tiny.py
PACKAGE = Path(str(importlib.util.find_spec("sotto").origin)).parent  # type: ignore[union-attr]
if not (PACKAGE / "_bin").is_dir():
    os.environ.setdefault("SOTTO_LIBRARY", str(BUILD / "libsotto.so"))
for variable in ("SOTTO_LOG", "RUST_LOG", "HF_HUB_CACHE"):
    os.environ.pop(variable, None)
os.environ["HF_HOME"] = str(ROOT / "build" / "check" / "no models")  # none is on this machine
ENVIRONMENT = {**os.environ, "SOTTO_TEST_SCRIPTED": str(SCRIPTED)}  # of a test's subprocess


def _loopback_alone(event: str, arguments: tuple[Any, ...]) -> None:
    """Tests talk to this machine only."""
    if (
        event == "socket.connect"
        and isinstance(address := arguments[1], tuple)
        and address[0] not in LOOPBACK
    ):
        raise RuntimeError(f"a test connects to {address}")
    if event == "socket.getaddrinfo" and arguments[0] not in (*LOOPBACK, None):
        raise RuntimeError(f"a test looks up {arguments[0]}")


sys.addaudithook(_loopback_alone)

settings.register_profile("sotto", deadline=None, database=None)  # machines are busy at times
settings.load_profile("sotto")

import make_tiny  # noqa: E402  # needs the path above
import sotto  # noqa: E402  # needs the variables above
from gguf_file import Q4_0  # noqa: E402
from make_adapter import write_gguf  # noqa: E402
from sotto._lib import library_folder  # noqa: E402


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Real tests need the llama module. Where the build should have it, its absence is a failure."""
    if item.get_closest_marker("real") is None or list(library_folder().glob("sotto_llama*")):
        return
    cache = BUILD.parent / "CMakeCache.txt"
    built = cache.exists() and "SOTTO_LLAMA:BOOL=ON" in cache.read_text()
    missing = pytest.fail if built or library_folder() == PACKAGE / "_bin" else pytest.skip
    missing(f"no llama module in {library_folder()}")


@pytest.fixture(scope="session", autouse=True)
def beside() -> Iterator[None]:
    """With SOTTO_TEST_BESIDE set, an engine that speaks during all tests, which changes no text."""
    if not os.environ.get("SOTTO_TEST_BESIDE"):
        yield
        return
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house")
        body = {"model": "sotto/house", "messages": [{"role": "user", "content": "Tell me all."}]}
        endless = {**body, "max_tokens": 1_000_000, "ignore_eos": True, "context_overflow": "shift"}
        engine.set_target_tps(20)
        stream = engine.llm_chat_completion_stream(endless)
        speaks = threading.Thread(target=lambda: any(False for _ in stream), daemon=True)
        speaks.start()
        yield
        stream.close()


@pytest.fixture
def open_engine() -> Iterator[Callable[..., sotto.Engine]]:
    """Opens engines on the scripted backend; closes them after the test.

    They run at normal priority: a busy machine would let an idle one wait, and the test with it.
    """
    opened: list[sotto.Engine] = []

    def open_(**options: Any) -> sotto.Engine:
        opened.append(sotto.Engine(**{"module_dir": SCRIPTED, "mode": "prioritize_compute", **options}))
        return opened[-1]

    yield open_
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Callable[..., sotto.Engine]) -> sotto.Engine:
    """An engine on the scripted backend, without a model."""
    return open_engine()


@pytest.fixture
def npc(engine: sotto.Engine) -> sotto.Engine:
    """An engine with a model `npc`, which says back what it hears."""
    engine.load_model("npc", options={})
    return engine


@pytest.fixture
def entered_path() -> Iterator[Path]:
    """A temporary folder that every user may enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory(prefix="sotto-test-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture
def open_house() -> Iterator[Callable[..., sotto.Engine]]:
    """Opens engines on the llama module, without a model. One thread does not wait for another."""
    opened: list[sotto.Engine] = []

    def open_(**options: Any) -> sotto.Engine:
        opened.append(sotto.Engine(**{"mode": "prioritize_compute", "threads": 1, **options}))
        return opened[-1]

    yield open_
    for engine in opened:
        engine.close()


@pytest.fixture(scope="session")
def real_engine() -> Iterator[sotto.Engine]:
    """An engine on the llama module, with the house model. One thread does not wait for another."""
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house")
        yield engine


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sotto.Engine]:
    """An engine with models of random weights, one of each kind, that babble any byte."""
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, str(ROOT / "tests" / "data" / "make_tiny.py"), str(folder)], check=True)
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("tiny", path=folder / "tiny.gguf", options={"parallel": 4})
        for name in ("twin", "tools", "window", "recurrent", "hybrid"):
            engine.load_model(name, path=folder / f"tiny-{name}.gguf")
        yield engine


@pytest.fixture(scope="session")
def lora_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models of random weights, and two adapters of the first: 11.gguf and 12.gguf."""
    folder = tmp_path_factory.mktemp("lora")
    make_tiny.transformer("llama", 1).write(folder / "tiny.gguf")
    make_tiny.transformer("llama", 2, kind=Q4_0).write(folder / "quantised.gguf")
    make_tiny.transformer("gemma3", 4).write(folder / "gemma.gguf")
    for seed in (11, 12):
        write_gguf(folder / f"{seed}.gguf", seed, rank=4, spread=0.1)
    return folder


@pytest.fixture(scope="session")
def adaptable(lora_files: Path) -> Iterator[sotto.Engine]:
    """An engine with the model `tiny`, which tests load adapters for."""
    with sotto.Engine("cpu", mode="prioritize_compute", threads=1) as engine:
        engine.load_model("tiny", path=lora_files / "tiny.gguf", options={"parallel": 8})
        yield engine


@pytest.fixture
def adapted(adaptable: sotto.Engine) -> Iterator[sotto.Engine]:
    """An engine with the model `tiny`, without adapters before and after a test."""
    yield adaptable
    for adapter in adaptable.lora_list("tiny"):
        adaptable.lora_unload("tiny", name=adapter["name"])


@pytest.fixture(scope="session")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights that babbles any byte; its context has 512 tokens."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    make_tiny.transformer("llama", 1).write(path)
    return path
