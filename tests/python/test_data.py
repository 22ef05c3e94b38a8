"""Embeddings, transcriptions and translations as Python objects."""

from __future__ import annotations

import array
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from made_backend import Made, have
from sotto.backends import Model, ModelInfo, Part, Request


@pytest.fixture
def engine() -> Iterator[sotto.Engine]:
    with sotto.Engine("cpu") as made:
        yield made


class Hears(Model):
    """Says what it was given."""

    info = ModelInfo(weights=1)

    def transcribe(self, request: Request) -> Any:
        sound = request.body.get("input_audio", {})
        heard = request.body.get("file") or f"{sound['format']} {len(sound['data'])}"
        yield Part(heard)
        word = {"word": "well", "start": 0.0, "end": 0.25}
        times = request.body.get("timestamp_granularities", [])
        return {
            "text": heard,
            "language": request.body.get("language", "xx"),
            "segments": [{"text": heard, "start": 0.0, "end": 1.5}],
            **({"words": [word]} if "word" in times else {}),
        }

    def translate(self, request: Request) -> Any:
        texts = [f"{request.body.get('target_language')}: {text}" for text in request.inputs]
        for text in texts:
            yield Part(text)
        return {"text": texts[0], "texts": texts}

    def embed(self, request: Request) -> Any:
        yield Part()
        count = request.body.get("dimensions", 3)
        return {"data": [{"index": i, "embedding": [float(i)] * count} for i, _ in enumerate(request.inputs)]}


def test_recorded_data_operations_replay_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with sotto.Engine("cpu", record_path=path) as engine:
        have(engine, Hears())
        for number in range(3):
            engine.frame_begin(period=1 / 60)
            assert engine.transcribe(f"line {number}.wav", model="m").text.endswith(f"line {number}.wav")
            assert engine.translate(["hi", "bye"], target="de", model="m")
            assert len(engine.embeddings(["a", "b", "c"], model="m").vectors) == 3
            engine.frame_end()
    done = sotto.replay(path)
    assert done.first_difference is None
    assert done.same == done.decisions > 9
    assert (done.streams, done.models) == (9, 1)


def test_transcriptions_are_typed(engine: sotto.Engine, tmp_path: Path) -> None:
    have(engine, Hears())
    file = tmp_path / "line.wav"
    heard = engine.transcribe(file, language="de", words=True)
    assert (heard.text, heard.language) == (str(file), "de")
    assert heard.segments == (sotto.Segment(str(file), 0.0, 1.5),)
    assert heard.words == (sotto.Segment("well", 0.0, 0.25),)
    assert engine.transcribe(b"OggS....", priority="background").text == "ogg 12"
    values = array.array("f", [0.0, 0.5, -0.5])
    assert engine.transcribe(values, sample_rate=8000).text == "f32 16"
    assert engine.transcribe(values).words == ()
    for wrong in (3, [0.1, 0.2], array.array("d", [0.0]), None):
        with pytest.raises(TypeError, match="audio"):
            engine.transcribe(wrong)
    with pytest.raises(sotto.ArgumentError, match="sample_rate"):
        engine.transcribe(values, sample_rate=0)


def test_translations_and_embeddings_are_typed(engine: sotto.Engine) -> None:
    have(engine, Hears())
    both = engine.translate(["Hello.", "Bye."], source="en", target="de")
    assert (both.text, both.texts) == ("de: Hello.", ("de: Hello.", "de: Bye."))
    assert engine.embeddings("one").vectors == ((0.0, 0.0, 0.0),)
    assert engine.embeddings(["one", "two"], dimensions=2).vectors == ((0.0, 0.0), (1.0, 1.0))
    with pytest.raises(sotto.ArgumentError, match="dimensions"):
        engine.embeddings("one", dimensions=0)
    with pytest.raises(sotto.ArgumentError, match="target_language"):
        engine.translate("Hello.", target="")


def test_typed_methods_are_awaitable() -> None:
    async def talk() -> None:
        async with sotto.aio.Engine("cpu") as engine:
            engine.add_backend(Made(Hears()))
            await engine.load_model("m", path="-", backend="made")
            assert (await engine.translate("Hello.", target="fr")).text == "fr: Hello."
            assert (await engine.embeddings("one", dimensions=1)).vectors == ((0.0,),)
            assert (await engine.transcribe(b"RIFF", words=True)).text == "wav 8"

    asyncio.run(talk())
