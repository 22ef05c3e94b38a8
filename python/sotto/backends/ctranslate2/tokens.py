"""Tokenizers of translation models: Opus-MT, NLLB and M2M100, found by the files in the folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import sentencepiece
import tokenizers

from ..._values import invalid
from ...errors import ArgumentError, ModelLoadError
from .files import read_json
from .languages import Languages, check_tag

WORD = "\u2581"  # SentencePiece's mark of a word's beginning
_END = "</s>"
_SPECIAL = frozenset({"<s>", _END, "<unk>", "<pad>"})
_WIDE_ENDS = ("\u3002", "\uff01", "\uff1f")  # of sentences in Chinese and Japanese, without a space after
_ENDS = (".", "!", "?", "…", '."', '!"', '?"', ".”", "!”", "?”", *_WIDE_ENDS)  # of sentences


class Tokenizer(Protocol):
    """Text to tokens and back, with the special tokens of the model's family."""

    languages: Languages

    def encode(self, text: str) -> list[str]:
        """Returns the tokens of a text, without special tokens."""

    def framed(self, tokens: Sequence[str], source: str | None, target: str | None) -> list[str]:
        """Returns the tokens with those that name languages and the end."""

    def prefix(self, text: str, target: str | None) -> list[str]:
        """Returns the tokens that a translation begins with: the target language, then those of a text."""

    def decode(self, tokens: Sequence[str]) -> str:
        """Returns the text of a translation's tokens."""

    def check(self, source: str | None, target: str | None) -> None:
        """Raises `ArgumentError` for a language that the model lacks."""


def tokenizer_of(folder: Path) -> Tokenizer:
    """Returns the tokenizer of a converted translation model. Raises `ModelLoadError` if it lacks files."""
    vocabulary, adds_end = _vocabulary(folder), _adds_end(folder)
    if (folder / "source.spm").is_file() and (folder / "target.spm").is_file():
        return OpusTokenizer(folder, Languages(vocabulary), adds_end)
    languages = Languages(vocabulary)
    for name, kind in (("tokenizer.json", _Json), ("sentencepiece.bpe.model", _Pieces)):
        if (folder / name).is_file() and len(languages) > 1:
            return MultilingualTokenizer(kind(folder / name), languages, adds_end)
    raise ModelLoadError(
        f"'{folder}' has no tokenizer of a translation model: expected source.spm and target.spm (Opus-MT), "
        "tokenizer.json (NLLB) or sentencepiece.bpe.model (M2M100); copy it from the original model"
    )


class OpusTokenizer:
    """Opus-MT: a SentencePiece model for each side; a model of several languages takes ">>deu<<" in front."""

    def __init__(self, folder: Path, languages: Languages, adds_end: bool) -> None:
        self._source, self._target = _Pieces(folder / "source.spm"), _Pieces(folder / "target.spm")
        self.languages = languages
        self._end = [] if adds_end else [_END]

    def encode(self, text: str) -> list[str]:
        """Returns the tokens of a text, without special tokens."""
        return self._source.encode(text)

    def framed(self, tokens: Sequence[str], source: str | None, target: str | None) -> list[str]:
        """Returns the tokens with the target language and the end."""
        begin = [self.languages.token("target_language", target)] if len(self.languages) else []
        return [*begin, *tokens, *self._end]

    def prefix(self, text: str, target: str | None) -> list[str]:
        """Returns the tokens of a text that a translation begins with."""
        return self._target.encode(text) if text else []

    def decode(self, tokens: Sequence[str]) -> str:
        """Returns the text of a translation's tokens."""
        return self._target.decode([token for token in tokens if token not in _SPECIAL])

    def check(self, source: str | None, target: str | None) -> None:
        """Raises `ArgumentError` for a tag that names no language, or for a target that the model lacks."""
        check_tag("source_language", source)
        if len(self.languages):
            self.languages.token("target_language", target)
        else:
            check_tag("target_language", target)


class MultilingualTokenizer:
    """NLLB and M2M100: the source language precedes the text, the target language its translation."""

    def __init__(self, pieces: _Splits, languages: Languages, adds_end: bool) -> None:
        self._pieces, self.languages = pieces, languages
        self._end = [] if adds_end else [_END]
        self._special = _SPECIAL | languages.tokens

    def encode(self, text: str) -> list[str]:
        """Returns the tokens of a text, without special tokens."""
        return self._pieces.encode(text)

    def framed(self, tokens: Sequence[str], source: str | None, target: str | None) -> list[str]:
        """Returns the tokens with the source language and the end."""
        return [self.languages.token("source_language", source), *tokens, *self._end]

    def prefix(self, text: str, target: str | None) -> list[str]:
        """Returns the tokens that a translation begins with: the target language, then those of a text."""
        return [self.languages.token("target_language", target), *(self._pieces.encode(text) if text else ())]

    def decode(self, tokens: Sequence[str]) -> str:
        """Returns the text of a translation's tokens."""
        return self._pieces.decode([token for token in tokens if token not in self._special])

    def check(self, source: str | None, target: str | None) -> None:
        """Raises `ArgumentError` for a language that the model lacks, or for twice the same language."""
        token = self.languages.token("source_language", source)
        if self.languages.token("target_language", target) == token:
            expected = f"another language than source_language '{source}'; both are '{token}' in the model"
            raise ArgumentError(invalid("target_language", target, expected))


class _Splits(Protocol):
    def encode(self, text: str) -> list[str]: ...

    def decode(self, tokens: list[str]) -> str: ...


class _Pieces:
    """A SentencePiece model."""

    def __init__(self, file: Path) -> None:
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(file))
        except (RuntimeError, OSError) as error:
            raise ModelLoadError(f"'{file}' is no SentencePiece model, or it is damaged: {error}") from None

    def encode(self, text: str) -> list[str]:
        return list(self._model.encode(text, out_type=str))

    def decode(self, tokens: list[str]) -> str:
        return str(self._model.decode(tokens)).replace(WORD, " ").strip()


class _Json:
    """A tokenizer.json. Special tokens that a text spells out are read as text."""

    def __init__(self, file: Path) -> None:
        try:
            self._model = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises no narrower class
            raise ModelLoadError(f"'{file}' is no tokenizer, or it is damaged: {error}") from None
        self._model.encode_special_tokens = True
        self._model.no_truncation()
        self._model.no_padding()

    def encode(self, text: str) -> list[str]:
        return list(self._model.encode(text, add_special_tokens=False).tokens)

    def decode(self, tokens: list[str]) -> str:
        ids = [at for token in tokens if (at := self._model.token_to_id(token)) is not None]
        return str(self._model.decode(ids)).strip()


def _vocabulary(folder: Path) -> list[str]:
    for name in ("shared_vocabulary.json", "source_vocabulary.json"):
        if (folder / name).is_file():
            return read_json(folder / name, list, [])
    for name in ("shared_vocabulary.txt", "source_vocabulary.txt"):  # of older converters
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8").split("\n")
    raise ModelLoadError(f"'{folder}' has no shared_vocabulary.json: convert the model again")


def _adds_end(folder: Path) -> bool:
    """True if the library adds the end of the source by itself, as for models of Marian's own converter."""
    return bool(read_json(folder / "config.json", dict, {}).get("add_source_eos"))


def chunks(tokens: list[str], most: int) -> list[list[str]]:
    """Splits the tokens of a line into chunks of at most `most`, at ends of sentences, else between words.

    Raises `ArgumentError` for a word that is longer.
    """
    made, begin = [], 0
    while len(tokens) - begin > most:
        window = range(begin + most, begin, -1)
        cut = next((at for at in window if _ends_sentence(tokens, at)), None)
        cut = cut or next((at for at in window if tokens[at].startswith(WORD)), None)
        if cut is None:
            text = "".join(tokens[begin : begin + most]).lstrip(WORD)
            raise ArgumentError(invalid("input", text, f"at most {most} tokens without a space; add spaces"))
        made.append(tokens[begin:cut])
        begin = cut
    return [*made, tokens[begin:]]


def _ends_sentence(tokens: list[str], at: int) -> bool:
    before = tokens[at - 1]
    if not before.endswith(_ENDS):
        return False
    return tokens[at].startswith(WORD) or before.endswith(_WIDE_ENDS)
