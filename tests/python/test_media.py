"""Images and sounds in a conversation, on the llama module with tiny models of random weights."""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import subprocess
import sys
import wave
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ROOT
from sotto.runner import ChatCompletionRequest, ChatCompletionResponse, Runner, RunnerError, Which

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def senses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sotto.Engine]:
    """An engine with a model that sees, one that hears, and one that reads text alone."""
    folder = tmp_path_factory.mktemp("senses")
    for maker in ("make_tiny.py", "tiny_media.py"):
        subprocess.run([sys.executable, str(ROOT / "tests" / "data" / maker), str(folder)], check=True)
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("text", path=folder / "tiny.gguf")
        for name in ("eyes", "ears"):
            options = {"projector": str(folder / f"{name}.gguf")}
            engine.load_model(name, path=folder / "tiny.gguf", options=options)
        yield engine


def png(colour: tuple[int, int, int], size: int = 24) -> bytes:
    """An image with a diagonal."""
    rows = b"".join(
        b"\0" + b"".join(bytes(colour if x > y else (0, 0, 0)) for x in range(size)) for y in range(size)
    )
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def wav(tone: float, seconds: float = 1.0, rate: int = 8000) -> bytes:
    """A tone."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(rate)
        for i in range(int(seconds * rate)):
            out.writeframes(struct.pack("<h", int(9000 * math.sin(math.tau * tone * i / rate))) * 2)
    return file.getvalue()


def image(data: bytes) -> dict[str, Any]:
    """A part of a message that shows an image."""
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


def sound(data: bytes) -> dict[str, Any]:
    """A part of a message that plays a sound."""
    return {
        "type": "input_audio",
        "input_audio": {"data": base64.b64encode(data).decode(), "format": "wav"},
    }


def ask(engine: sotto.Engine, model: str, part: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What the model answers."""
    parts = [{"type": "text", "text": "what is this"}, part]
    body = {"model": model, "messages": [{"role": "user", "content": parts}], "temperature": 0, **fields}
    return json.loads(engine.llm_chat_completion({"max_tokens": 8, "logprobs": True, **body}))


def capabilities(engine: sotto.Engine, model: str) -> dict[str, bool]:
    """What the model says of itself."""
    (found,) = [one for one in json.loads(engine.model_list()) if one["id"] == model]
    return found["details"]["capabilities"]


def test_a_model_says_what_it_reads(senses: sotto.Engine) -> None:
    told = {model: capabilities(senses, model) for model in ("text", "eyes", "ears")}
    assert [(one["vision"], one["audio"]) for one in told.values()] == [
        (False, False),
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    ("model", "one", "other"),
    [
        ("eyes", image(png((255, 0, 0))), image(png((0, 90, 255)))),
        ("ears", sound(wav(880)), sound(wav(90))),
    ],
)
def test_what_is_shown_or_played_counts(
    senses: sotto.Engine, model: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    first = ask(senses, model, one)
    again = ask(senses, model, one)
    changed = ask(senses, model, other)
    assert first["choices"][0]["message"] == again["choices"][0]["message"]
    assert first["choices"][0]["logprobs"]["content"][0] != changed["choices"][0]["logprobs"]["content"][0]
    used = again["usage"]
    assert used["prompt_tokens_details"]["cached_tokens"] == used["prompt_tokens"] - 1
    assert changed["usage"]["prompt_tokens_details"]["cached_tokens"] < used["prompt_tokens"] - 1


@pytest.mark.parametrize(
    ("model", "part", "why"),
    [
        ("eyes", image(b"hello"), r"messages\[0\].content\[1\].image_url.url: expected a readable PNG"),
        ("eyes", image(png((1, 2, 3))[:60]), r"image_url.url: expected a readable PNG, JPEG, BMP or GIF"),
        ("eyes", image(png((1, 2, 3), 0)), r"image_url.url: expected a readable PNG, JPEG, BMP or GIF"),
        ("eyes", sound(wav(100)), r"content\[1\]: the model reads text and images, not sounds"),
        ("ears", image(png((1, 2, 3))), r"content\[1\]: the model reads text and sounds, not images"),
        ("ears", sound(wav(100, 0)), r"input_audio.data: expected a sound of at least 0.01 seconds"),
        ("ears", sound(b"RIFF"), r"input_audio.data: expected a readable WAV, MP3 or FLAC"),
        ("ears", sound(wav(1, 601, 100)), r"input_audio.data: expected a sound of at most 600 seconds"),
        ("text", image(png((1, 2, 3))), r"messages\[0\] has content of type \"image_url\""),
    ],
)
def test_what_cannot_be_read_is_refused(
    senses: sotto.Engine, model: str, part: dict[str, Any], why: str
) -> None:
    with pytest.raises(Exception, match=why):
        ask(senses, model, part)


def test_a_text_completion_sees_images_in_its_prompt(senses: sotto.Engine) -> None:
    def complete(colour: tuple[int, int, int]) -> sotto.Completion:
        prompt = [{"type": "text", "text": "Here: "}, image(png(colour)), {"type": "text", "text": " is"}]
        return senses.complete(prompt, model="eyes", max_tokens=4, temperature=0)

    first, again, other = complete((255, 0, 0)), complete((255, 0, 0)), complete((0, 90, 255))
    bare = senses.complete("Here:  is", model="eyes", max_tokens=4)
    assert first.text == again.text
    assert first.usage.prompt_tokens > bare.usage.prompt_tokens
    assert again.usage.cached_tokens == again.usage.prompt_tokens - 1
    assert other.usage.prompt_tokens == first.usage.prompt_tokens
    assert other.usage.cached_tokens < again.usage.cached_tokens
    texts = [{"type": "text", "text": "Here: "}, {"type": "text", "text": " is"}]
    assert senses.complete(texts, model="text", max_tokens=4).usage.prompt_tokens


def test_a_state_with_an_image_is_saved_and_restored(senses: sotto.Engine, tmp_path: Path) -> None:
    def question(colour: tuple[int, int, int]) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "text", "text": "what is this"}, image(png(colour))]}]

    path = str(tmp_path / "seen.state")
    saved = json.loads(senses.save_state({"model": "eyes", "messages": question((9, 9, 9)), "path": path}))
    assert saved["tokens"] > 10
    for colour in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1)):  # other images take the slots
        senses.chat(question(colour), model="eyes", max_tokens=1)
    senses.restore_state({"model": "eyes", "path": path})
    again = senses.chat(question((9, 9, 9)), model="eyes", max_tokens=1)
    assert again.usage.cached_tokens == again.usage.prompt_tokens - 1
    other = senses.chat(question((10, 9, 9)), model="eyes", max_tokens=1)
    assert other.usage.cached_tokens < again.usage.cached_tokens
    with pytest.raises(sotto.SottoError, match=r"reads text only, but the state holds images or sound"):
        senses.restore_state({"model": "text", "path": path})


@pytest.mark.parametrize(
    ("model", "prompt", "why"),
    [
        (
            "text",
            [image(png((1, 2, 3)))],
            r"reads text only, but prompt\[0\] has content of type \"image_url",
        ),
        ("eyes", [sound(wav(100))], r"prompt\[0\]: the model reads text and images, not sounds"),
        ("eyes", [image(b"hello")], r"invalid prompt\[0\].image_url.url: expected a readable PNG"),
        ("eyes", [image(png((1, 2, 3)))] * 17, r"invalid prompt\[16\]: expected at most 16 images"),
        ("eyes", [{"type": "text", "text": "so long " * 9000}], r"prompt has more than \d+ tokens"),
        ("eyes", [{"type": "media_marker", "medium": 0}], r"invalid prompt\[0\].type 'media_marker'"),
    ],
)
def test_prompts_that_cannot_be_read_are_refused(
    senses: sotto.Engine, model: str, prompt: list[dict[str, Any]], why: str
) -> None:
    with pytest.raises(sotto.SottoError, match=why):
        senses.complete(prompt, model=model, max_tokens=1)


def test_links_are_not_followed(senses: sotto.Engine) -> None:
    part = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/image.png"}}
    with pytest.raises(
        sotto.ArgumentError, match=r"image_url.url .*: expected a data URL; Sotto fetches no URLs"
    ):
        ask(senses, "eyes", part)


def test_what_is_no_projector_is_refused(senses: sotto.Engine, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "tests" / "data" / "make_tiny.py"), str(tmp_path)], check=True)
    (tmp_path / "none.gguf").write_bytes(b"nothing")
    for path, why in (
        ("none.gguf", "the file is not a GGUF file"),
        ("missing.gguf", "file .* does not exist"),
    ):
        with pytest.raises(sotto.ModelLoadError, match=f"options.projector: {why}"):
            senses.load_model("x", path=tmp_path / "tiny.gguf", options={"projector": str(tmp_path / path)})


@pytest.mark.row("E-273")
def test_a_runner_sees(tmp_path: Path) -> None:
    for maker in ("make_tiny.py", "tiny_media.py"):
        subprocess.run([sys.executable, str(ROOT / "tests" / "data" / maker), str(tmp_path)], check=True)
    which = Which.GGUF(str(tmp_path), "tiny.gguf", mmproj_filename="eyes.gguf")
    with Runner(which, max_seqs=1) as runner:
        texts = []
        for colour in ((255, 0, 0), (0, 0, 255)):
            content = [{"type": "text", "text": "Look: "}, image(png(colour))]
            request = ChatCompletionRequest([{"role": "user", "content": content}], "default", max_tokens=8)
            answer = runner.send_chat_completion_request(request)
            assert isinstance(answer, ChatCompletionResponse)
            texts.append(answer.choices[0].message.content)
        assert texts[0] != texts[1]
    with pytest.raises(RunnerError, match=r"none\.gguf"):
        Runner(Which.GGUF(str(tmp_path), "tiny.gguf", mmproj_filename="none.gguf"))
