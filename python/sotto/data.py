"""Embeddings, rankings, transcriptions and translations: operations whose answer is data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from ._desc import Json, StrPath, path_text
from ._json import load
from ._typing import Unpack
from ._values import string, wrong_type
from .completion import Completes
from .errors import ArgumentError, InferenceError, Status
from .terms import RequestOptions

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_CONTAINERS = {b"RIFF": "wav", b"fLaC": "flac", b"OggS": "ogg"}  # by their first bytes


class Segment(NamedTuple):
    """A part of a transcription.

    Attributes:
        text: What was said.
        start: Seconds from the beginning of the sound.
        end: Likewise.
    """

    text: str
    start: float
    end: float


class Transcription(NamedTuple):
    """What was said in a piece of sound.

    Attributes:
        text: All of it; "" if there was no speech.
        language: The language, such as "en".
        segments: The parts, with their times.
        words: The words with their times, if they were asked for.
        raw: The response.
    """

    text: str
    language: str
    segments: tuple[Segment, ...]
    words: tuple[Segment, ...]
    raw: Mapping[str, Any] = _NOTHING


class Translation(NamedTuple):
    """Translated texts.

    Attributes:
        text: The first of them.
        texts: All, in the order of the input.
        raw: The response.
    """

    text: str
    texts: tuple[str, ...]
    raw: Mapping[str, Any] = _NOTHING


class Embeddings(NamedTuple):
    """Vectors of texts.

    Attributes:
        vectors: One for each text, in the order of the input.
        raw: The response, as OpenAI has it.
    """

    vectors: tuple[tuple[float, ...], ...]
    raw: Mapping[str, Any] = _NOTHING


class Ranked(NamedTuple):
    """A document, as `Engine.rerank()` ranks it.

    Attributes:
        document: The document.
        score: How well it answers the query. Higher is better; the scale is the model's.
        position: Index of the document in the list that was ranked.
    """

    document: str
    score: float
    position: int


class MakesData(Completes):
    """Part of `Engine`: operations whose answer is data."""

    def embed(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers an OpenAI embeddings request and returns the response as JSON.

        Args:
            request_json: The request: `model`, `input`, and the optional fields of [Requests](requests.md).
            **terms: See `RequestOptions`.

        Returns:
            `object`, `model`, `usage`, and `data`: an `index` and an `embedding` for each text.

        Raises:
            ArgumentError: The request is invalid.
            InferenceError: The model failed, or it does not embed texts.
        """
        with performed():
            return self._ask("embed", request_json, terms).finish().json

    def embeddings(
        self,
        texts: str | Sequence[str],
        *,
        model: str | None = None,
        dimensions: int | None = None,
        **fields: Any,
    ) -> Embeddings:
        """Embeds texts, and waits for their vectors.

        Args:
            texts: One text, or up to 2,048.
            model: Id of a loaded model that embeds; None: the only one that is loaded.
            dimensions: Number of values of each vector that are kept; None: all.
            **fields: Other fields of the request, and `priority`, `deadline` and `target_tps`.

        Returns:
            A vector of length 1 for each text.

        Raises:
            ArgumentError: A field is misspelt or out of range.
            InferenceError: The model failed, or it does not embed texts.
        """
        body, options = self._embed_body(texts, model, {**fields, "dimensions": dimensions})
        with performed():
            return read_embeddings(self._ask("embed", body, options).finish().json)

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        model: str | None = None,
        top_n: int | None = None,
        **fields: Any,
    ) -> tuple[Ranked, ...]:
        """Ranks documents by how well they answer a query, and waits for the result.

        Args:
            query: The query.
            documents: Up to 2,048 texts.
            model: Id of a loaded model that ranks; None: the only one that is loaded.
            top_n: Number of documents to return; None: all.
            **fields: Other fields of the request, and `priority`, `deadline` and `target_tps`.

        Returns:
            The documents, the best first.

        Raises:
            ArgumentError: A field is misspelt or out of range.
            InferenceError: The model failed, or it does not rank documents.
        """
        body, options = self._rerank_body(query, documents, model, {**fields, "top_n": top_n})
        with performed():
            return read_ranking(self._ask("rerank", body, options).finish().json, documents)

    def transcribe(
        self,
        audio: StrPath | bytes | Any,
        *,
        model: str | None = None,
        language: str | None = None,
        prompt: str | None = None,
        words: bool = False,
        sample_rate: int = 16_000,
        **fields: Any,
    ) -> Transcription:
        """Transcribes speech, and waits for the whole text.

        Args:
            audio: Path of a WAV, FLAC or OGG file; the bytes of one; or a buffer of mono float32 values from
                -1 to 1, such as a numpy array.
            model: Id of a loaded model that transcribes; None: the only one that is loaded.
            language: Language of the speech, such as "en"; None: it is detected.
            prompt: Text that stands before the speech, for example names of the game.
            words: Also returns the time of each word.
            sample_rate: Values a second in a buffer.
            **fields: Other fields of the request, and `priority`, `deadline` and `target_tps`.

        Raises:
            ArgumentError: A field is misspelt or out of range, the sound cannot be read, or the model cannot
                transcribe.
            InferenceError: The model failed.
        """
        given = {**fields, "language": language, "prompt": prompt}
        body, options = self._transcribe_body(audio, model, words, sample_rate, given)
        return read_transcription(self._ask("transcribe", body, options).finish().json)

    def translate(
        self,
        texts: str | Sequence[str],
        *,
        model: str | None = None,
        source: str | None = None,
        target: str | None = None,
        **fields: Any,
    ) -> Translation:
        """Translates texts, and waits for all of them.

        Args:
            texts: One text, or up to 2,048.
            model: Id of a loaded model that translates; None: the only one that is loaded.
            source: Language of the texts, as the model names it; None: the model's.
            target: Language to translate into; None: the model's.
            **fields: Other fields of the request, and `priority`, `deadline` and `target_tps`.

        Raises:
            ArgumentError: A field is misspelt or out of range, or the model does not translate.
            InferenceError: The model failed.
        """
        given = {**fields, "source_language": source, "target_language": target}
        body, options = self._translate_body(texts, model, given)
        return read_translation(self._ask("translate", body, options).finish().json)

    def _embed_body(
        self, texts: str | Sequence[str], model: str | None, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        written = {"encoding_format": "base64", **fields}  # which is read ten times as fast as numbers
        return self._with_model("embed", model, written, input=listed(texts))

    def _rerank_body(
        self, query: str, documents: Sequence[str], model: str | None, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        return self._with_model(
            "rerank", model, fields, query=string("query", query), documents=listed(documents)
        )

    def _transcribe_body(
        self, audio: object, model: str | None, words: bool, sample_rate: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        times = {"timestamp_granularities": ["segment", "word"]} if words else {}
        return self._with_model("transcribe", model, fields, **sound_of(audio, sample_rate), **times)

    def _translate_body(
        self, texts: str | Sequence[str], model: str | None, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        return self._with_model("translate", model, fields, input=listed(texts))


def listed(texts: str | Sequence[str]) -> str | list[str]:
    """Returns `texts` as JSON takes them."""
    return texts if isinstance(texts, str) else list(texts)


def sound_of(audio: object, sample_rate: int) -> dict[str, Any]:
    """Returns the fields of a request that hold a piece of sound."""
    import base64

    if isinstance(audio, (str, os.PathLike)):
        return {"file": os.path.abspath(os.fspath(path_text("audio", audio)))}
    if isinstance(audio, (bytes, bytearray)):
        kind = _CONTAINERS.get(bytes(audio[:4]), "wav")
        return {"input_audio": {"data": base64.b64encode(audio).decode(), "format": kind}}
    try:
        view = memoryview(audio)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type("audio", audio, "a path, bytes, or a buffer of float32 values") from None
    if view.format != "f" or view.ndim != 1:
        raise wrong_type("audio", audio, "a buffer of one dimension of float32 values")
    data = base64.b64encode(view.tobytes()).decode()
    return {"input_audio": {"data": data, "format": "f32", "sample_rate": sample_rate}}


def read_embeddings(response: str) -> Embeddings:
    """Reads an OpenAI embeddings response."""
    raw = load(response)
    with _whole("embed"):
        return Embeddings(tuple(_vector(one["embedding"]) for one in raw["data"]), raw)


def _vector(given: str | list[float]) -> tuple[float, ...]:
    if isinstance(given, list) and given and not isinstance(given[0], int | float):
        raise InferenceError(
            "the model has a vector for each token (options.pooling 'none'): use embed(), or load it with "
            "another pooling",
            Status.UNSUPPORTED,
        )
    if isinstance(given, str):  # encoding_format "base64"
        import base64
        import struct

        values = base64.b64decode(given)
        return struct.unpack(f"<{len(values) // 4}f", values)
    return tuple(given)


def read_ranking(response: str, documents: Sequence[str]) -> tuple[Ranked, ...]:
    """Reads the response of a reranker."""
    with _whole("rerank"):
        return tuple(
            Ranked(documents[one["index"]], one["relevance_score"], one["index"])
            for one in load(response)["results"]
        )


def read_transcription(response: str) -> Transcription:
    """Reads an OpenAI verbose transcription."""
    raw = load(response)
    with _whole("transcribe"):
        segments = tuple(Segment(one["text"], one["start"], one["end"]) for one in raw.get("segments", ()))
        words = tuple(Segment(one["word"], one["start"], one["end"]) for one in raw.get("words", ()))
        return Transcription(raw["text"], raw.get("language", ""), segments, words, raw)


def read_translation(response: str) -> Translation:
    """Reads the response of a translation."""
    raw = load(response)
    with _whole("translate"):
        return Translation(raw["text"], tuple(raw["texts"]), raw)


@contextmanager
def _whole(op: str) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise InferenceError(f"the backend's response of {op} has no {error}", Status.INFERENCE) from None


@contextmanager
def performed() -> Iterator[None]:
    """Raises `InferenceError` if the model does not perform the operation."""
    try:
        yield
    except ArgumentError as error:
        if error.status == Status.UNSUPPORTED:
            raise InferenceError(str(error), error.status) from None
        raise
