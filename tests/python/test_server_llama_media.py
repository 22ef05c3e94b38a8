"""Images and sounds through `sotto serve --as llama-server`: local files, and prompts of completions."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import serving
from conftest import ROOT
from sotto.server.errors import HttpError
from sotto.server.llama.media import MARKER, prompt_parts
from test_media import png, wav

pytestmark = pytest.mark.real

RED, BLUE = png((255, 0, 0)), png((0, 90, 255))


def text(data: bytes) -> str:
    """Base64."""
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of media with a file, a link to another, and a pipe."""
    where = tmp_path_factory.mktemp("media")
    (where / "shown").mkdir()
    (where / "shown" / "red.png").write_bytes(RED)
    (where / "secret.png").write_bytes(BLUE)
    (where / "shown" / "link.png").symlink_to(where / "shown" / "red.png")
    os.mkfifo(where / "shown" / "pipe.png")
    return where / "shown"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its projector."""
    where = tmp_path_factory.mktemp("models")
    for maker in ("make_tiny.py", "tiny_media.py"):
        subprocess.run([sys.executable, str(ROOT / "tests" / "data" / maker), str(where)], check=True)
    return where


def started(models: Path, *arguments: str) -> AbstractContextManager[serving.Served]:
    """A server that saves slots in the folder of the models."""
    model = ("--as", "llama-server", "-m", str(models / "tiny.gguf"), "--slot-save-path", str(models))
    return serving.served(*model, "-np", "2", "-n", "4", "--port", "0", *arguments, model="")


@pytest.fixture(scope="module")
def server(folder: Path, models: Path) -> Iterator[serving.Served]:
    """A server whose model sees."""
    with started(models, "--mmproj", str(models / "eyes.gguf"), "--media-path", str(folder)) as server:
        yield server


def shown(server: serving.Served, url: str) -> tuple[int, Any]:
    """Status and answer of a chat that shows an image."""
    part = {"type": "image_url", "image_url": {"url": url}}
    message = {"role": "user", "content": [{"type": "text", "text": "what is this"}, part]}
    status, _, answer = server.ask("/v1/chat/completions", {"messages": [message], "temperature": 0})
    return status, answer


def test_files_of_the_folder_are_shown(server: serving.Served) -> None:
    told = [
        shown(server, url)
        for url in (
            "file://red.png",
            "file:////red.png",
            "file://link.png",
            text(RED),
            f"data:image/png;base64,{text(RED)}",
        )
    ]
    assert [status for status, _ in told] == [200] * 5
    answers = {answer["choices"][0]["message"]["content"] for _, answer in told}
    assert len(answers) == 1


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png", "red.png/../../secret.png", "pipe.png", "", "none.png", "red.png%00",
        "\0", "a" * 5000, "/etc/passwd", "~/red.png",
    ],
)  # fmt: skip
def test_other_files_are_refused(server: serving.Served, name: str) -> None:
    status, answer = shown(server, f"file://{name}")
    assert status == 400 and "file" in answer["error"]["message"]


def test_the_number_of_files_is_limited(server: serving.Served) -> None:
    part = {"type": "image_url", "image_url": {"url": "file://red.png"}}
    messages = [{"role": "user", "content": [part] * 9}] * 2
    status, _, answer = server.ask("/v1/chat/completions", {"messages": messages})
    assert status == 400 and "at most 16 file:// URLs, not 18" in answer["error"]["message"]


def test_a_completion_shows_images_and_its_slot_is_saved(server: serving.Served, models: Path) -> None:
    def complete(image: bytes) -> Any:
        prompt = {"prompt_string": f"What is this: {MARKER}\n", "multimodal_data": [text(image)]}
        body = {"prompt": prompt, "temperature": 0, "top_k": 1, "id_slot": 1, "cache_prompt": True}
        status, _, answer = server.ask("/completions", body)
        assert status == 200, answer
        return answer

    first = complete(RED)
    assert first["prompt"].count(MARKER) == 1
    whole = first["timings"]["prompt_n"]
    status, _, saved = server.ask("/slots/1?action=save", {"filename": "red.bin"})
    assert status == 200 and saved["n_saved"] > 0
    other = complete(BLUE)
    assert other["timings"]["prompt_n"] + other["timings"]["cache_n"] == whole
    assert other["timings"]["cache_n"] < whole - 1
    status, _, restored = server.ask("/slots/1?action=restore", {"filename": "red.bin"})
    assert status == 200 and restored["n_restored"] == saved["n_saved"]
    again = complete(RED)
    assert again["timings"]["cache_n"] == whole - 1 and again["content"] == first["content"]
    with started(models) as blind:
        status, _, answer = blind.ask("/slots/1?action=restore", {"filename": "red.bin"})
        assert status == 400 and "without an mmproj" in answer["error"]["message"]
        assert blind.ask("/completion", {"prompt": "Hello", "id_slot": 1})[0] == 200
        assert shown(blind, "file://red.png")[0] == 400  # no --media-path


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ({"prompt_string": "a", "multimodal_data": [text(RED)]}, "of 1 entries: expected 0"),
        ({"prompt_string": MARKER, "multimodal_data": [text(RED)] * 2}, "of 2 entries: expected 1"),
        ({"prompt_string": MARKER, "multimodal_data": text(RED)}, "expected an array"),
        ({"prompt_string": MARKER, "multimodal_data": [1]}, "expected an array"),
        ({"prompt_string": MARKER, "multimodal_data": ["!"]}, "base64"),
        ({"prompt_string": [1], "multimodal_data": [text(RED)]}, "prompt_string"),
        ({"multimodal_data": [text(RED)]}, "prompt_string"),
        ({"prompt_string": MARKER, "multimodal_data": [text(b"hello")]}, "prompt[0].image_url.url"),
        ([{"prompt_string": "a"}, {"prompt_string": MARKER, "multimodal_data": ["!"]}], "base64"),
    ],
)
def test_bad_prompts_are_named(server: serving.Served, prompt: Any, why: str) -> None:
    status, _, answer = server.ask("/completion", {"prompt": prompt})
    assert status == 400 and why in answer["error"]["message"]


def test_sounds_are_told_from_images() -> None:
    parts = prompt_parts(f"a{MARKER}{MARKER}b", [text(wav(90)), text(RED)])
    assert [part["type"] for part in parts] == ["text", "input_audio", "image_url", "text"]
    with pytest.raises(HttpError):
        prompt_parts(MARKER, ["a"])
