"""Translation models: Opus-MT, NLLB and M2M100, line by line, in batches of similar length."""

from __future__ import annotations

import gc
import re
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2

from ...errors import ModelLoadError
from ..base import Model, Part, Request
from .files import positions_in, weights_in
from .memory import Measure
from .options import Options, check_number
from .tokens import chunks, tokenizer_of

_BEAMS = 2  # as the library
_MOST_TOKENS = 512  # of a piece, where the model has no limit of its own
_SPECIAL = 3  # tokens that a piece may get besides its own: two languages and an end
_MOST_BATCH = 256
_MOST_BATCH_TOKENS = 4096
_POLL_S = 0.002
_BREAKS = re.compile("(\r\n|[\n\r\u2028\u2029])")


@dataclass(frozen=True, slots=True)
class TranslatorOptions(Options):
    """Checked load options of a translation model."""

    batch_size: int = 16

    def check(self) -> None:
        """Raises `ArgumentError` for a bad value."""
        Options.check(self)
        check_number("batch_size", self.batch_size, int, 1, _MOST_BATCH)


class _Piece(NamedTuple):
    """What is translated at once: a line, or a part of one that is too long."""

    tokens: list[str]
    place: tuple[int, int]  # index of the text, and of the part of it


class _Work:
    """The texts of a request as parts: those that are kept, and those that a piece replaces."""

    def __init__(self) -> None:
        self.pieces: list[_Piece] = []
        self.texts: list[list[str]] = []
        self.truncated: set[int] = set()  # texts whose translation the model's limit cut

    def batches(self, size: int) -> Iterator[list[_Piece]]:
        """Yields the pieces, the longest first, those of similar length together."""
        waiting = sorted(self.pieces, key=lambda piece: -len(piece.tokens))
        while waiting:
            count = max(1, min(size, _MOST_BATCH_TOKENS // len(waiting[0].tokens)))
            yield waiting[:count]
            del waiting[:count]


class Translator(Model):
    """An open translation model."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._options = TranslatorOptions.read(options)
        measure = Measure(folder, self._options.compute_type)  # the tokenizer is the model's too
        self._tokenizer = tokenizer_of(folder)
        self._positions = positions_in(weights_in(folder)) or _MOST_TOKENS
        self._most = min(self._positions, _MOST_TOKENS) // 2 - _SPECIAL  # a translation may be longer
        try:
            self._translator = ctranslate2.Translator(
                str(folder),
                device="cpu",
                compute_type=self._options.compute_type,
                inter_threads=1,
                intra_threads=self._options.threads,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelLoadError(f"'{folder}' cannot be loaded: {error}") from None
        languages = len(self._tokenizer.languages)
        description = {
            "architecture": "translation",
            "compute_type": self._translator.compute_type,
            "multilingual": languages > 1,
            "languages": languages or 2,
        }
        self.info = measure.info(self._warm_up, streams=1, description=description)

    def _warm_up(self) -> None:
        """Works once, so that the memory of a batch is counted."""
        tokens = [["."] * (self._most // 2)] * self._options.batch_size
        self._translator.translate_batch(tokens, beam_size=_BEAMS, max_decoding_length=8)

    def units(self, request: Request) -> int:
        """Lines, or the parts of lines that are too long for the model. Tokenizes the texts."""
        body = request.body
        self._tokenizer.check(body.get("source_language"), body.get("target_language"))
        request.state = work = self._split(request.inputs)
        return max(1, len(work.pieces))

    def translate(self, request: Request) -> Generator[str | Part, None, dict[str, Any]]:
        """Translates the texts in batches, and returns them in the order of the input.

        Each line is translated on its own; line breaks, and spaces around a line, are kept. A line that is
        longer than the model's maximum is translated in parts, which end with a sentence if possible.
        """
        work: _Work = request.state
        for batch in work.batches(self._options.batch_size):
            texts = self._batch(batch, request)
            if request.cancelled():
                break
            for piece, (text, whole) in zip(batch, texts, strict=True):
                work.texts[piece.place[0]][piece.place[1]] = text
                if not whole:
                    work.truncated.add(piece.place[0])
            yield Part(units=len(batch))
        made = ["".join(parts) for parts in work.texts]
        return {"text": made[0], "texts": made, "truncated": sorted(work.truncated)}

    def _split(self, texts: list[str]) -> _Work:
        work = _Work()
        for text in texts:
            parts: list[str] = []
            work.texts.append(parts)
            for at, line in enumerate(_BREAKS.split(text)):
                if at % 2 or not line.strip():
                    parts.append(line)
                    continue
                bare = line.strip()
                begin = line.index(bare)
                parts.append(line[:begin])
                for number, tokens in enumerate(self._pieces(bare)):
                    parts += [" "] if number else []
                    work.pieces.append(_Piece(tokens, (len(work.texts) - 1, len(parts))))
                    parts.append("")
                parts.append(line[begin + len(bare) :])
        return work

    def _pieces(self, line: str) -> list[list[str]]:
        tokens = self._tokenizer.encode(line)
        return chunks(tokens, self._most) if tokens else []  # nothing but characters that the model drops

    def _batch(self, batch: list[_Piece], request: Request) -> list[tuple[str, bool]]:
        """Translates a batch. If the request is cancelled and beam_size is 1, it ends at the next token.

        Returns each translation, and whether it ended before the limit.
        """
        body, tokenizer = request.body, self._tokenizer
        source, target = body.get("source_language"), body.get("target_language")
        prefix = tokenizer.prefix(body.get("target_prefix", ""), target)
        given = [tokenizer.framed(piece.tokens, source, target) for piece in batch]
        longest = max(map(len, given))
        options = {
            **_search(body),
            "max_input_length": 0,
            "max_decoding_length": min(4 * longest + 64, self._positions - 1),
        }
        prefixes = [prefix] * len(given) if prefix else None
        if options["beam_size"] > 1:
            results = self._translator.translate_batch(given, prefixes, **options)
        else:
            results = self._stoppable(given, prefixes, options, request)
        made = [result.hypotheses[0] for result in results]
        limit = options["max_decoding_length"]
        return [(tokenizer.decode(tokens), len(tokens) < limit) for tokens in made]

    def _stoppable(
        self, given: list[list[str]], prefixes: Any, options: dict[str, Any], request: Request
    ) -> list[Any]:
        """Translates a batch on the library's thread, token by token as the request's gate lets it.

        While the gate blocks, no token is computed. A cancelled request ends the batch at the next token.
        """
        ended, open_ = threading.Event(), threading.Event()
        open_.set()

        def ends(step: Any) -> bool:
            open_.wait()
            return ended.is_set()

        results = self._translator.translate_batch(
            given, prefixes, asynchronous=True, callback=ends, **options
        )
        while not all(one.done() for one in results):
            open_.clear()
            try:
                if request.cancelled():  # may block
                    ended.set()
            finally:
                open_.set()
            time.sleep(_POLL_S)
        return [one.result() for one in results]

    def close(self) -> None:
        """Frees the model."""
        self._translator.unload_model()
        del self._translator
        gc.collect()


def _search(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the library's options of the search: a beam, or samples if a temperature is given."""
    temperature = float(body.get("temperature", 0))
    if not temperature:
        return {"beam_size": int(body.get("beam_size", _BEAMS))}
    return {
        "beam_size": int(body.get("beam_size", 1)),
        "sampling_topk": 0,
        "sampling_temperature": temperature,
    }
