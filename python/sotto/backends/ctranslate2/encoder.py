"""Encoder models, such as BERT and sentence-transformers: texts to vectors, a batch of tokens at a time."""

from __future__ import annotations

import base64
import gc
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from tokenizers import Tokenizer

from ..._values import invalid
from ...errors import ArgumentError, ModelLoadError, Status
from ..base import Model, Part, Request
from .files import need
from .memory import Measure
from .options import Options, check_number
from .sentence import POOLINGS, SentenceConfig

_MOST_BATCH = 1 << 20
_CHARACTERS_PER_TOKEN = 16  # of a text that is surely longer than the model's maximum
_CHARACTERS_PER_STEP = 16_384  # that the tokenizer reads in one step, some 20 ms
_MOST_CHARACTERS = 1 << 18  # of a text that are read, whatever they are: some 0.3 s
_WORD = "the"
Vector = Any  # a numpy array of one dimension, float32


@dataclass(frozen=True, slots=True)
class EncoderOptions(Options):
    """Checked load options of an encoder."""

    batch_tokens: int = 256  # of one forward pass
    pooling: str | None = None
    normalize: bool | None = None

    def check(self) -> None:
        """Raises `ArgumentError` for a bad value."""
        Options.check(self)
        check_number("batch_tokens", self.batch_tokens, int, 1, _MOST_BATCH)
        if self.pooling is not None and self.pooling not in POOLINGS:
            raise ArgumentError(invalid("pooling", self.pooling, f"one of {', '.join(POOLINGS)}"))
        if self.normalize is not None and not isinstance(self.normalize, bool):
            raise ArgumentError(invalid("normalize", self.normalize, "true or false"))


class Encoder(Model):
    """An open encoder."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._options = EncoderOptions.read(options)
        need(folder, "tokenizer.json")
        config = SentenceConfig.read(folder)
        self._pooling = self._options.pooling or _supported(folder, config.pooling)
        normalize = self._options.normalize
        self._normalize = config.normalize if normalize is None else normalize
        self._lower, self._max_length, self._prompt = config.lower, config.max_length, config.prompt
        measure = Measure(folder, self._options.compute_type)
        try:
            self._tokenizer = _tokenizer(folder, config.max_length)
            self._encoder = ctranslate2.Encoder(
                str(folder),
                device="cpu",
                compute_type=self._options.compute_type,
                inter_threads=1,
                intra_threads=self._options.threads,
            )
            self._size = len(self._forward([self._tokens(_WORD)])[0])
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelLoadError(f"'{folder}' cannot be loaded: {error}") from None
        description = {
            "architecture": "encoder",
            "compute_type": self._encoder.compute_type,
            "dimensions": self._size,
            "max_length": self._max_length,
            "pooling": self._pooling,
            "normalize": self._normalize,
        }
        self.info = measure.info(self._warm_up, streams=1, description=description)

    def _warm_up(self) -> None:
        """Works once, so that the memory of a full batch is counted."""
        longest = self._tokens(f"{_WORD} " * self._max_length)
        self._forward([longest] * max(1, self._options.batch_tokens // len(longest)))

    def units(self, request: Request) -> int:
        """Texts. Raises `ArgumentError` if more `dimensions` are asked for than the model has."""
        asked = request.body.get("dimensions")
        if asked is not None and asked > self._size:
            raise ArgumentError(invalid("dimensions", asked, f"at most {self._size}, as the model has"))
        return len(request.inputs)

    def embed(self, request: Request) -> Generator[str | Part, None, dict[str, Any] | None]:
        """Yields after each batch, and returns OpenAI's response."""
        texts, tokens = request.inputs, []
        read = 0
        for text in texts:
            tokens.append(self._tokens(text))
            if not tokens[-1]:
                name = f"input[{len(tokens) - 1}]"
                raise ArgumentError(invalid(name, text, "a text with at least one token"))
            read += len(text)
            if read >= _CHARACTERS_PER_STEP:
                if request.cancelled():
                    return None
                yield Part(units=0)
                read = 0
        vectors: list[Any] = [None] * len(texts)
        for batch in _batches(tokens, self._options.batch_tokens):
            for at, vector in zip(batch, self._forward([tokens[at] for at in batch]), strict=True):
                vectors[at] = self._written(vector, request.body)
            if request.cancelled():
                return None
            yield Part(units=len(batch))
        return _response(request.body, vectors, sum(map(len, tokens)))

    def _tokens(self, text: str) -> list[str]:
        """Returns the tokens of a text after the default prompt, at most the model's maximum.

        Reads only as much of a long text as decides them, with a margin for a word that is cut in two.
        """
        text = self._prompt + text
        if self._lower:
            text = text.lower()
        size, most = self._max_length * _CHARACTERS_PER_TOKEN, min(len(text), _MOST_CHARACTERS)
        while True:
            encoding = self._tokenizer.encode(text[: min(size, most)])
            if size >= most or len(encoding.overflowing) > 1:
                return list(encoding.tokens)
            size *= 2

    def _forward(self, tokens: list[list[str]]) -> list[Vector]:
        """Returns the vector of each sequence of tokens."""
        hidden = self._encoder.forward_batch(tokens).last_hidden_state
        states = np.asarray(hidden.to(ctranslate2.DataType.float32))
        if self._pooling == "cls":
            return [row[0] for row in states]
        return [row[: len(one)].mean(axis=0) for row, one in zip(states, tokens, strict=True)]

    def _written(self, vector: Vector, body: Mapping[str, Any]) -> str | list[float]:
        """Returns a vector as the request wants it."""
        kept = vector[: body.get("dimensions")]
        if self._normalize:
            kept = kept / max(float(np.linalg.norm(kept)), 1e-12)
        if body.get("encoding_format") == "base64":
            return base64.b64encode(kept.astype("<f4").tobytes()).decode()
        return list(kept.tolist())

    def close(self) -> None:
        """Frees the model."""
        self._encoder.unload_model()
        del self._encoder
        gc.collect()


def _tokenizer(folder: Path, max_length: int) -> Tokenizer:
    try:
        made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the package raises this class itself
        raise ValueError(f"tokenizer.json is damaged: {error}") from None
    made.enable_truncation(max_length)
    made.no_padding()
    return made


def _supported(folder: Path, pooling: str) -> str:
    if pooling not in POOLINGS:
        raise ModelLoadError(
            f"'{folder}' wants the pooling '{pooling}': expected one of {', '.join(POOLINGS)}; the load "
            "option pooling chooses one",
            Status.UNSUPPORTED,
        )
    return pooling


def _batches(tokens: list[list[str]], most: int) -> Iterator[list[int]]:
    """Yields indices of texts of similar length, together at most `most` tokens with padding, or one text."""
    batch: list[int] = []
    for at in sorted(range(len(tokens)), key=lambda index: len(tokens[index])):
        if batch and (len(batch) + 1) * len(tokens[at]) > most:
            yield batch
            batch = []
        batch.append(at)
    yield batch


def _response(body: Mapping[str, Any], vectors: list[Any], tokens: int) -> dict[str, Any]:
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)
        ],
        "model": body.get("model", ""),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
