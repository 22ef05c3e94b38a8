"""Writes tiny BERT models with seeded random weights, and computes their vectors in plain Python."""

import argparse
import json
import math
from array import array
from collections.abc import Sequence
from pathlib import Path

from gguf_file import BOOL, CONTROL, FLOAT32, INT32, NORMAL, STRING, UINT32, UNKNOWN, Gguf, elements

WIDTH, HEADS, HIDDEN, LAYERS, CONTEXT = 64, 4, 128, 2, 64
HEAD, EPSILON = WIDTH // HEADS, 1e-12
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(len(SPECIAL))
WORDS = ["the", "king", "queen", "guard", "gate", "gold", "night", "moon", "river", "song", "sword", "is"]
ENDS = ["s", "ed", "ing", "ly"]  # spelled "##s" and so on in a vocabulary of BERT
MEAN, FIRST, RANK = 1, 2, 4  # pooling types of llama.cpp
Vector = list[float]


class TinyEncoder:
    """A BERT, with the weights in lists.

    Attributes:
        file: The GGUF file.
        weights: Each tensor's numbers, as the file has them.
    """

    def __init__(self, seed: int, pooling: int | None = MEAN, *, damaged: bool = False) -> None:
        self.file = Gguf("bert", seed)
        self.pooling = pooling
        self.weights: dict[str, Vector] = {}
        self._values()
        self._vocabulary()
        self._tensors()
        if damaged:
            self.weights["blk.0.ffn_up.bias"][0] = math.nan

    def write(self, path: Path) -> None:
        """Writes the file."""
        self.file.write(path)

    def tokens(self, *words: str) -> list[int]:
        """Returns the tokens of words, between the special tokens."""
        known = {word: at for at, (word, _) in enumerate(vocabulary())}
        return [CLS, *(known.get(f"\u2581{word}", UNK) for word in words), SEP]

    def vector(self, tokens: Sequence[int]) -> Vector:
        """Returns the vector of a text, of length 1."""
        pooled = self.pooled(tokens)
        length = math.sqrt(sum(x * x for x in pooled))
        return [x / length for x in pooled]

    def score(self, query: Sequence[int], document: Sequence[int]) -> float:
        """Returns the score of a document. Both have the special tokens around them."""
        pooled = self.pooled([*query, *document[1:]])
        head = [math.tanh(x) for x in self._times("cls", pooled)]
        return self._times("cls.output", head)[0]

    def pooled(self, tokens: Sequence[int]) -> Vector:
        """Returns the mean of the token vectors, or the first."""
        rows = self.forward(tokens)
        if self.pooling != MEAN:
            return rows[0]
        return [sum(column) / len(rows) for column in zip(*rows, strict=True)]

    def forward(self, tokens: Sequence[int]) -> list[Vector]:
        """Returns a vector for each token."""
        rows = []
        for at, token in enumerate(tokens):
            parts = [
                self._row("token_embd", token),
                self._row("token_types", 0),
                self._row("position_embd", at),
            ]
            rows.append(self._norm("token_embd_norm", [sum(x) for x in zip(*parts, strict=True)]))
        for layer in range(LAYERS):
            rows = self._layer(f"blk.{layer}.", rows)
        return rows

    def _layer(self, block: str, rows: list[Vector]) -> list[Vector]:
        q, k, v = ([self._times(f"{block}attn_{part}", row) for row in rows] for part in "qkv")
        out = []
        for at, row in enumerate(rows):
            attended = [x for head in range(HEADS) for x in attention(head, q[at], k, v)]
            row = self._norm(
                f"{block}attn_output_norm", plus(row, self._times(f"{block}attn_output", attended))
            )
            inner = [gelu(x) for x in self._times(f"{block}ffn_up", row)]
            out.append(
                self._norm(f"{block}layer_output_norm", plus(row, self._times(f"{block}ffn_down", inner)))
            )
        return out

    def _row(self, name: str, at: int) -> Vector:
        return self.weights[f"{name}.weight"][at * WIDTH : (at + 1) * WIDTH]

    def _times(self, name: str, row: Vector) -> Vector:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        size = len(row)
        return [
            sum(x * y for x, y in zip(row, weight[at * size : (at + 1) * size], strict=True)) + bias[at]
            for at in range(len(bias))
        ]

    def _norm(self, name: str, row: Vector) -> Vector:
        mean = sum(row) / len(row)
        spread = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + EPSILON)
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return [(x - mean) / spread * w + b for x, w, b in zip(row, weight, bias, strict=True)]

    def _values(self) -> None:
        file = self.file
        file.values_of(UINT32, context_length=CONTEXT, embedding_length=WIDTH, block_count=LAYERS)
        file.values_of(UINT32, feed_forward_length=HIDDEN, attention__head_count=HEADS)
        file.values_of(FLOAT32, attention__layer_norm_epsilon=EPSILON)
        file.values_of(BOOL, attention__causal=False)
        if self.pooling is not None:
            file.values_of(UINT32, pooling_type=self.pooling)

    def _vocabulary(self) -> None:
        file, tokens = self.file, vocabulary()
        file.value("tokenizer.ggml.model", STRING, "bert")
        file.value("tokenizer.ggml.token_type_count", UINT32, 2)
        file.array("tokenizer.ggml.tokens", STRING, [token for token, _ in tokens])
        file.array("tokenizer.ggml.token_type", INT32, [kind for _, kind in tokens])
        for name, token in (("bos", CLS), ("cls", CLS), ("seperator", SEP)):
            file.value(f"tokenizer.ggml.{name}_token_id", UINT32, token)
        for name, token in (("unknown", UNK), ("padding", PAD), ("mask", MASK)):
            file.value(f"tokenizer.ggml.{name}_token_id", UINT32, token)

    def _tensors(self) -> None:
        self._weight("token_embd.weight", WIDTH, len(vocabulary()), scale=1.0)
        self._weight("token_types.weight", WIDTH, 2, scale=0.2)
        self._weight("position_embd.weight", WIDTH, CONTEXT, scale=0.3)
        self._pair("token_embd_norm", WIDTH, around=1.0)
        for layer in range(LAYERS):
            block = f"blk.{layer}."
            for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
                self._pair(f"{block}{part}", WIDTH, WIDTH)
            self._pair(f"{block}ffn_up", WIDTH, HIDDEN)
            self._pair(f"{block}ffn_down", HIDDEN, WIDTH)
            self._pair(f"{block}attn_output_norm", WIDTH, around=1.0)
            self._pair(f"{block}layer_output_norm", WIDTH, around=1.0)
        if self.pooling == RANK:
            self._pair("cls", WIDTH, WIDTH)
            self._pair("cls.output", WIDTH, 1)

    def _pair(self, name: str, *shape: int, around: float = 0.0) -> None:
        self._weight(f"{name}.weight", *shape, around=around, scale=0.1 if around else 0.0)
        self._weight(f"{name}.bias", shape[-1], scale=0.1)

    def _weight(self, name: str, *shape: int, around: float = 0.0, scale: float = 0.0) -> None:
        spread = scale or shape[0] ** -0.5
        numbers = array("f", [self.file.random.gauss(around, spread) for _ in range(elements(shape))])
        self.weights[name] = list(numbers)
        self.file.tensor(name, shape, 0, lambda: array("f", self.weights[name]).tobytes())


def vocabulary() -> list[tuple[str, int]]:
    """Tokens with their types, as llama.cpp spells them: a word begins with a block, an end with nothing."""
    special = [(token, UNKNOWN if token == "[UNK]" else CONTROL) for token in SPECIAL]
    letters = [(letter, NORMAL) for letter in "abcdefghijklmnopqrstuvwxyz"]
    words = [(f"\u2581{word}", NORMAL) for word in [*WORDS, *"abcdefghijklmnopqrstuvwxyz.,!?"]]
    ends = [(end, NORMAL) for end in ENDS if len(end) > 1]
    unused = [(f"\u2581[unused{at}]", NORMAL) for at in range(40)]  # llama.cpp expects more than 103 tokens
    return special + words + letters + ends + unused


def attention(head: int, query: Vector, keys: list[Vector], values: list[Vector]) -> Vector:
    """Returns what one head attends to."""
    part = slice(head * HEAD, (head + 1) * HEAD)
    scores = [
        sum(x * y for x, y in zip(query[part], key[part], strict=True)) / math.sqrt(HEAD) for key in keys
    ]
    weights = [math.exp(score - max(scores)) for score in scores]
    total = sum(weights)
    columns = zip(*(value[part] for value in values), strict=True)
    return [sum(w * x for w, x in zip(weights, column, strict=True)) / total for column in columns]


def gelu(x: float) -> float:
    """Returns GELU, as ggml approximates it."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def plus(left: Vector, right: Vector) -> Vector:
    """Returns the sum of two vectors."""
    return [x + y for x, y in zip(left, right, strict=True)]


def main() -> None:
    """Writes each model into the folder that is named, with its expected results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    encoder, ranker = TinyEncoder(1), TinyEncoder(2, RANK)
    encoder.write(folder / "encoder.gguf")
    ranker.write(folder / "ranker.gguf")
    TinyEncoder(3, None).write(folder / "no-pooling.gguf")
    TinyEncoder(4, damaged=True).write(folder / "nan.gguf")
    texts = [["the", "king", "is", "gold"], ["moon"], ["the", "guard", "river", "song", "sword", "night"]]
    query = ["queen", "gold"]
    vectors = [encoder.vector(encoder.tokens(*text)) for text in texts]
    scores = [ranker.score(ranker.tokens(*query), ranker.tokens(*text)) for text in texts]
    lines = [
        "\t".join([" ".join(text), *map(str, vector)]) for text, vector in zip(texts, vectors, strict=True)
    ]
    (folder / "vectors.tsv").write_text("\n".join(lines) + "\n")
    lines = [f"{' '.join(text)}\t{score}" for text, score in zip(texts, scores, strict=True)]
    (folder / "scores.tsv").write_text("\n".join(lines) + "\n")
    (folder / "query.json").write_text(json.dumps(" ".join(query)))


if __name__ == "__main__":
    main()
