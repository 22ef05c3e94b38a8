"""`_hub`: which file an id means, and how it gets here."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
import sotto.aio
from conftest import ENVIRONMENT, SCRIPTED
from fakehub import FakeHub
from sotto._hub import choose, locate
from talk import Ticks, chat, content

SCRIPT = json.dumps({"tokens": ["from the hub"]}).encode() + b" " * 100_000
SLEEP = time.sleep
QUANTS = ["Q2_K", "Q4_0", "Q4_K_M", "Q4_K_S", "Q5_K_M", "Q8_0", "IQ4_XS", "F16"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """A hub with nothing in it, an empty cache, and no way round it."""
    import huggingface_hub
    from huggingface_hub import constants

    with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr("time.sleep", lambda seconds: SLEEP(min(seconds, 0.01)))  # between attempts
        yield hub
    getattr(huggingface_hub, "close_session", lambda: None)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # some versions of it leave sockets open


@pytest.mark.row("A-049", "A-050")
def test_the_first_load_downloads_and_the_second_asks_nobody(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"README.md": b"hi", "name-Q8_0.gguf": b"{", "name-Q4_K_M.gguf": SCRIPT}
    engine.load_model("org/name")
    assert content(engine.llm_chat_completion(chat(model="org/name"))) == "from the hub"
    assert json.loads(engine.model_list())[0]["owned_by"] == "org"
    gets = hub.gets()
    assert "GET /org/name/resolve/main/name-Q4_K_M.gguf" in gets and len(gets) == 2
    engine.unload_model("org/name")
    engine.load_model("org/name")
    assert hub.asked == []


@pytest.mark.row("A-050")
def test_what_is_cached_needs_no_network(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    engine.load_model("org/name")
    hub.status = 500
    engine.load_model("org/name/name.gguf")
    assert engine.model_is_loaded("org/name/name.gguf")
    with pytest.raises(sotto.ModelLoadError):
        engine.load_model("org/name:Q4_0")


@pytest.mark.row("A-051")
def test_progress_and_others_run_meanwhile(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT * 300}
    heard: list[tuple[str, float]] = []
    with Ticks() as ticks, pytest.raises(sotto.ModelLoadError, match="is no script"):
        engine.load_model("org/name", progress=lambda *told: heard.append(told))
    downloads = [done for what, done in heard if what == "download"]
    assert downloads == sorted(downloads) and downloads[-1] == 1.0 and ticks.count > 3


def test_an_exception_in_progress_ends_the_download(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT * 300}

    def stop(what: str, done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.load_model("org/name", progress=stop)
    assert not engine.model_is_loaded("org/name")


def test_cancelling_the_task_ends_the_download(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 8192)
    hub.files["org/name"] = {"name.gguf": SCRIPT * 10}
    hub.pause = 0.1  # between 122 pieces

    async def main() -> None:
        begun = asyncio.Event()
        async with sotto.aio.Engine(module_dir=SCRIPTED) as engine:
            loading = engine.load_model("org/name", progress=lambda what, done: begun.set())
            task = asyncio.ensure_future(loading)
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    began = time.monotonic()
    asyncio.run(main())  # waits for the thread that downloads
    assert time.monotonic() - began < 6


@pytest.mark.row("A-050")
def test_an_interrupted_transfer_is_resumed(
    engine: sotto.Engine, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 8192)  # no less is resumed
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    hub.cut = [40_000, 30_000]
    engine.load_model("org/name")
    assert engine.model_is_loaded("org/name") and len(hub.ranges) == 2


@pytest.mark.row("A-050", "A-053")
def test_a_transfer_that_never_ends_well(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    hub.cut = [0] * 20
    with pytest.raises(sotto.ModelLoadError, match="cannot be downloaded from Hugging Face") as caught:
        engine.load_model("org/name")
    assert caught.value.__cause__ is not None and caught.value.status == -7
    hub.cut.clear()
    engine.load_model("org/name")


@pytest.mark.row("A-050", "A-053")
def test_a_file_of_the_wrong_size(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    hub.surplus = 10
    with pytest.raises(sotto.ModelLoadError, match="cannot be downloaded from Hugging Face"):
        engine.load_model("org/name")
    hub.surplus = 0
    engine.load_model("org/name")


@pytest.mark.row("A-050", "A-053")
def test_a_file_with_the_wrong_content(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    hub.damaged = True
    with pytest.raises(sotto.ModelLoadError, match=r"name.gguf arrived damaged: its SHA-256 is"):
        engine.load_model("org/name")
    hub.damaged = False
    engine.load_model("org/name")


@pytest.mark.row("A-053")
@pytest.mark.parametrize(
    ("model_id", "said"),
    [
        ("org/ghost", "404"),
        ("org/ghost:Q4_0", "404"),
        ("org/ghost/x.gguf", "404"),
        ("org/name/ghost.gguf", "404"),
        ("org/empty", "repository 'org/empty' contains no GGUF file"),
        (
            "org/name:Q6_K",
            "repository 'org/name' contains no GGUF file of Q6_K; choose one of b.gguf, ab.gguf",
        ),
        (
            "org/name",
            "'org/name' contains several GGUF files, none of a usual quantisation; choose one of b.gguf",
        ),
        ("org/split", "is one of 3 parts: split files are not supported"),
        ("org/split:Q8_0", "is one of 2 parts"),
        ("org/split/x-Q8_0-00001-of-00002.gguf", "is one of 2 parts"),
    ],
)
def test_what_cannot_be_had(engine: sotto.Engine, hub: FakeHub, model_id: str, said: str) -> None:
    hub.files["org/name"] = {"ab.gguf": b"", "b.gguf": b""}
    hub.files["org/empty"] = {"README.md": b"", "mmproj-F16.gguf": b"", "x.imatrix.gguf": b""}
    hub.files["org/split"] = {f"x-Q4_K_M-0000{part}-of-00003.gguf": b"" for part in (1, 2, 3)}
    hub.files["org/split"] |= {f"x-Q8_0-0000{part}-of-00002.gguf": b"" for part in (1, 2)}
    with pytest.raises(sotto.ModelLoadError, match=said) as caught:
        engine.load_model(model_id)
    assert "\n" not in str(caught.value) and caught.value.status == -7


@pytest.mark.row("A-053")
def test_a_hub_that_is_down(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.status = 503
    with pytest.raises(sotto.ModelLoadError, match=r"cannot be downloaded from Hugging Face: .*503"):
        engine.load_model("org/name")


def test_offline_is_said(engine: sotto.Engine, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(sotto.ModelLoadError, match=r"(?i)offline"):
        engine.load_model("org/name")
    assert hub.asked == []


def test_two_threads_download_one_file_between_them(engine: sotto.Engine, hub: FakeHub) -> None:
    hub.files["org/name"] = {"name.gguf": SCRIPT}
    threads = [threading.Thread(target=engine.load_model, args=("org/name",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert engine.model_is_loaded("org/name")


def test_files_here_come_first(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org").mkdir()
    (tmp_path / "org" / "name").write_text("{}")
    assert locate("org/name") == "org/name" and locate("sotto/house") is None
    for none in (
        "plain",
        "x.gguf",
        "models/x.gguf",
        "./org/ghost",
        "../a/b",
        "/a/b",
        "a\\b",
        "C:/a/b.gguf",
        "a/b/c",
    ):
        assert locate(none) is None
    assert hub.asked == []


@given(st.permutations([f"model-{quant}.gguf" for quant in QUANTS] + ["README.md", "mmproj-Q4_0.gguf"]))
def test_the_choice_does_not_depend_on_the_order(files: list[str]) -> None:
    assert choose("r", files, None) == "model-Q4_K_M.gguf"
    assert choose("r", files, "q8_0") == "model-Q8_0.gguf"


@pytest.mark.parametrize(
    ("files", "quant", "chosen"),
    [
        (["a.Q4_0.gguf", "a.Q4_K_S.gguf"], None, "a.Q4_K_S.gguf"),
        (["a.Q5_K_M.gguf", "a.Q4_0.gguf"], None, "a.Q4_0.gguf"),
        (["a-Q8_0.gguf", "a-Q5_K_M.gguf"], None, "a-Q5_K_M.gguf"),
        (["a-IQ4_XS.gguf", "a-UD-Q4_K_XL.gguf"], None, "a-IQ4_XS.gguf"),
        (["a-UD-Q4_K_XL.gguf", "b.gguf"], "Q4_K_XL", "a-UD-Q4_K_XL.gguf"),
        (["Q4_K_M/a.gguf", "Q8_0/a.gguf"], None, "Q4_K_M/a.gguf"),
        (["a-bf16.gguf", "a-f16.gguf"], None, "a-f16.gguf"),
        (["longer-Q4_0.gguf", "b-Q4_0.gguf", "a-Q4_0.gguf"], None, "a-Q4_0.gguf"),
        (["whatever.gguf"], None, "whatever.gguf"),
        (
            ["a-Q4_K_M-00001-of-00002.gguf", "a-Q4_K_M-00002-of-00002.gguf", "a-Q8_0.gguf"],
            None,
            "a-Q8_0.gguf",
        ),
        (["A-Q4_K_M.GGUF"], None, "A-Q4_K_M.GGUF"),
    ],
)
def test_the_order_of_preference(files: list[str], quant: str | None, chosen: str) -> None:
    random.Random(7).shuffle(files)
    assert choose("r", files, quant) == chosen


def test_without_a_download_huggingface_hub_is_not_imported() -> None:
    script = (
        "import os, sys, sotto\n"
        "with sotto.Engine(module_dir=os.environ['SOTTO_TEST_SCRIPTED']) as engine:\n"
        "    engine.load_model('npc', options={})\n"
        "assert 'huggingface_hub' not in sys.modules and 'asyncio' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, check=True)


def test_the_cache_is_where_huggingface_hub_has_it(
    hub: FakeHub, engine: sotto.Engine, tmp_path: Path
) -> None:
    hub.files["org/name"] = {"sub/name-Q4_0.gguf": SCRIPT}
    engine.load_model("org/name:q4_0")
    (found,) = (tmp_path / "cache").glob("models--org--name/snapshots/*/sub/name-Q4_0.gguf")
    assert os.path.samefile(found, locate("org/name") or "")
