"""The routes for speech: forms, their limits and the forms of answers, on a scripted transcription."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import serving
from conftest import SCRIPTED
from sotto._subtitles import subtitles, web_subtitles
from sotto.data import read_transcription

HEARD = {
    "task": "transcribe",
    "language": "en",
    "duration": 3.2,
    "text": "The gate is closed.",
    "segments": [
        {"id": 0, "start": 0.0, "end": 1.5, "text": " The gate"},
        {"id": 1, "start": 1.5, "end": 3661.04, "text": " is closed."},
    ],
    "words": [{"word": "The", "start": 0.0, "end": 0.3}],
}
PATH = "/v1/audio/transcriptions"
EDGE = "edge7"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.Served]:
    script = tmp_path_factory.mktemp("script") / "ears.json"
    script.write_text(json.dumps({"response": HEARD, "tokens": [" The gate", " is closed."]}))
    arguments = ("--module-dir", str(SCRIPTED), "--max-body", "1")
    with serving.served(*arguments, model=f"ears={script}") as running:
        yield running


@pytest.fixture
def client(server: serving.Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0) as made:
        yield made


def form(*fields: tuple[str, str], file: bytes | None = b"RIFF", name: str = "file") -> bytes:
    """A multipart body."""
    parts = [
        f'--{EDGE}\r\nContent-Disposition: form-data; name="{one}"\r\n\r\n{text}\r\n' for one, text in fields
    ]
    body = "".join(parts).encode()
    if file is not None:
        head = f'--{EDGE}\r\nContent-Disposition: form-data; name="{name}"; filename="a.wav"\r\n\r\n'
        body += head.encode() + file + b"\r\n"
    return body + f"--{EDGE}--\r\n".encode()


def send(server: serving.Served, body: bytes, path: str = PATH) -> tuple[int, dict[str, str], Any]:
    return server.ask(path, body, content_type=f"multipart/form-data; boundary={EDGE}")


def test_each_form_of_an_answer(client: openai.OpenAI) -> None:
    sound: Any = {"file": ("line.wav", b"RIFF"), "model": "whisper-1"}
    told = client.audio.transcriptions.create(**sound)
    assert told.text == HEARD["text"] and told.usage.seconds == 4
    assert client.audio.transcriptions.create(**sound, response_format="text") == "The gate is closed.\n"
    found = read_transcription(json.dumps(HEARD))
    assert client.audio.transcriptions.create(**sound, response_format="srt") == subtitles(found)
    assert client.audio.transcriptions.create(**sound, response_format="vtt") == web_subtitles(found)
    asked: Any = {"response_format": "verbose_json", "timestamp_granularities": ["word", "segment"]}
    whole = client.audio.transcriptions.create(**sound, **asked, language="en", temperature=0.2)
    assert (whole.duration, whole.language, whole.words[0].word) == (3.2, "en", "The")
    assert whole.segments[1].text == " is closed."
    with pytest.warns(DeprecationWarning):
        assert client.audio.translations.create(**sound).text == HEARD["text"]


def test_the_last_event_of_a_stream_has_the_whole(client: openai.OpenAI) -> None:
    events = list(client.audio.transcriptions.create(file=("a.wav", b"RIFF"), model="ears", stream=True))
    assert (events[-1].type, events[-1].text) == ("transcript.text.done", HEARD["text"])


def test_subtitles_have_their_times() -> None:
    found = read_transcription(json.dumps(HEARD))
    assert subtitles(found) == (
        "1\n00:00:00,000 --> 00:00:01,500\nThe gate\n\n2\n00:00:01,500 --> 01:01:01,040\nis closed.\n"
    )
    assert web_subtitles(found, words=True) == "WEBVTT\n\n00:00:00.000 --> 00:00:00.300\nThe\n"


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        (form(file=None), 400, "missing file"),
        (form(("file", "text"), file=None), 400, "missing file"),
        (form(name="sound"), 400, "missing file"),
        (form(("response_format", "xml")), 400, "response_format 'xml'"),
        (form(("response_format", "srt"), ("stream", "true")), 400, "response_format"),
        (form(("stream", "perhaps")), 400, "stream"),
        (form(("temperature", "warm")), 400, "temperature 'warm'"),
        (form(("temperature", "1e999")), 400, "temperature"),
        (form(("temperature", "-1")), 400, "temperature"),
        (form(("beam_size", "1.5")), 400, "beam_size"),
        (form(("language", "x" * 40)), 400, "language"),
        (form(("timestamp_granularities[]", "second")), 400, "timestamp_granularities"),
        (form(("priority", "urgent")), 400, "priority"),
        (form(("prompt", "x" * 70_000)), 400, "64KB"),
        (form(*[("include[]", "x")] * 65), 400, "Too many fields"),
        (form(file=bytes(1 << 20)), 413, "1,048,576 bytes"),
        (b"", 400, "missing file"),
        (b"not a form", 400, "invalid body"),
        (form()[:-20], 400, ""),
    ],
)
def test_what_is_invalid_is_named(server: serving.Served, body: bytes, status: int, named: str) -> None:
    for path in (PATH, "/v1/audio/translations"):
        got, _, told = send(server, body, path)
        assert (got, named in told["error"]["message"]) == (status, True), told


def test_a_path_is_never_read(server: serving.Served, tmp_path: Path) -> None:
    secret = tmp_path / "secret.wav"
    secret.write_bytes(b"RIFF")
    assert send(server, form(("file", str(secret)), file=None))[0] == 400
    for kind in ("application/json", "text/plain", "multipart/form-data"):
        status, _, told = server.ask(PATH, b'{"file": "/etc/passwd"}', content_type=kind)
        assert status == (400 if kind.startswith("multipart") else 415) and "error" in told
