"""The server's routes for speech with Whisper tiny.en, by OpenAI's client."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import openai
import pytest

from conftest import MODEL
from words import LINES, words

sys.path.append(str(Path(__file__).parents[1] / "python"))
import serving  # needs the path above

Speak = Callable[[str], Path]


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    with (
        serving.served(f"ears={MODEL}") as server,
        openai.OpenAI(api_key="unused", base_url=f"{server.url}/v1", max_retries=0) as made,
    ):
        yield made


def test_speech_is_heard_beside_a_model_that_speaks(client: openai.OpenAI, spoken: Speak) -> None:
    assert {model.id for model in client.models.list()} == {"sotto/house", "ears"}
    file = spoken(LINES[0])
    heard = client.audio.transcriptions.create(file=file, model="whisper-1").text
    found, said = set(words(heard)), set(words(LINES[0]))
    assert len(found & said) >= 0.6 * len(said), heard
    whole = client.audio.transcriptions.create(
        file=file,
        model="ears",
        response_format="verbose_json",
        timestamp_granularities=["word", "segment"],
    )
    assert whole.text == heard and whole.duration > 0.5 and whole.words[0].end > 0
    assert whole.segments[0].tokens and whole.segments[0].compression_ratio > 0
    srt = client.audio.transcriptions.create(file=file, model="ears", response_format="srt")
    assert srt.startswith("1\n00:00:00,") and heard.split()[0] in srt
    messages = [{"role": "user", "content": "Hello"}]
    told = client.chat.completions.create(model="sotto/house", messages=messages, max_tokens=4)
    assert told.choices[0].message.content


def test_a_stream_tells_each_segment(client: openai.OpenAI, spoken: Speak) -> None:
    events = list(
        client.audio.transcriptions.create(file=spoken(" ".join(LINES[:4])), model="ears", stream=True)
    )
    said = "".join(event.delta for event in events if event.type == "transcript.text.delta")
    assert events[-1].type == "transcript.text.done" and said.strip() == events[-1].text != ""


def test_what_is_no_sound_is_a_bad_request(client: openai.OpenAI, spoken: Speak) -> None:
    with pytest.raises(openai.BadRequestError, match="expected sound"):
        client.audio.transcriptions.create(file=("a.wav", b"no sound"), model="ears")
    with pytest.raises(openai.BadRequestError, match="language"):
        client.audio.transcriptions.create(file=spoken(LINES[0]), model="ears", language="de")
    with pytest.raises(openai.APIStatusError, match="transcribe"):
        client.audio.transcriptions.create(file=spoken(LINES[0]), model="sotto/house")
