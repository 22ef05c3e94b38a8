"""The models that benches run on, and words each of which is a token of theirs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from peers import ROOT

sys.path.insert(0, str(ROOT / "tests" / "data"))
from gguf_file import Q4_0, Q6_K, bytes_of  # needs the path above
from make_synthetic import SHAPES, VOCABULARY, synthetic, vocabulary

HOUSE = ROOT / "samples" / "house_model"


@dataclass
class Model:
    """A model, and words that are tokens of it."""

    name: str
    path: Path
    words: list[str]
    ends: bool  # whether its answers would end by themselves

    def write_words(self, folder: Path) -> Path:
        """A file of them, one a line."""
        path = folder / f"{self.name}.words"
        path.write_text("\n".join(self.words))
        return path


def model(name: str) -> Model:
    """The house model, or one of the usual sizes with random weights."""
    if name == "house":
        return Model(name, HOUSE / "house.gguf", house_words(), ends=True)
    return Model(name, synthetic(name), synthetic_words(), ends=False)


def shape(name: str) -> dict[str, str | int]:
    """The sizes of a synthetic model, for peers that make one like it."""
    return {**vars(SHAPES[name]), "vocabulary": VOCABULARY}


@dataclass
class Weights:
    """How many a token is multiplied by, and what they take."""

    layers: int
    output: int  # only where a token is answered
    bytes: int  # of both


def weights(name: str) -> Weights:
    """Of a synthetic model: its layers are Q4_0, its output Q6_K."""
    one = SHAPES[name]
    kv_width = one.width // one.heads * one.kv_heads
    attention = 2 * one.width * one.width + 2 * one.width * kv_width
    layers = one.layers * (attention + 3 * one.width * one.hidden)
    output = one.width * VOCABULARY
    return Weights(layers, output, bytes_of((layers,), Q4_0) + bytes_of((output,), Q6_K))


def house_words() -> list[str]:
    """Words of the house model's vocabulary."""
    known = json.loads((HOUSE / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = [token[1:] for token in known if token.startswith("\u0120")]
    return [word for word in words if len(word) > 2 and word.isascii() and word.isalpha() and word.islower()]


def synthetic_words() -> list[str]:
    """Words of the synthetic models' vocabulary."""
    return [token[1:] for token, _, _ in vocabulary() if token.startswith("\u2581") and len(token) == 4]
