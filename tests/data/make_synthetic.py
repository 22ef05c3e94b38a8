"""Writes models of the usual sizes with random weights, to measure speed on: 110 M and 1 B, Q4_0.

They lie in the user's cache beside what builds fetch, and are made again only where this file changed.
"""

import argparse
import hashlib
import json
import os
import random
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

from gguf_file import BYTE, CONTROL, F32, FLOAT32, NORMAL, Q4_0, Q6_K, STRING, UINT32, UNKNOWN, Gguf, bytes_of
from tiny_vocabulary import Tokens, add_sentencepiece

VOCABULARY = 32_000
CONTEXT = 4096
SILENT = 3  # the first tokens, unknown, begin and end: their rows are zero, so they are never the likeliest


@dataclass
class Shape:
    """What tells one llama from another."""

    name: str
    width: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int


SHAPES = {
    "110m": Shape("synthetic 110M", 768, 12, 12, 12, 2048),
    "1b": Shape("synthetic 1B", 2048, 16, 32, 8, 8192),  # as Llama 3.2 1B
}


def vocabulary() -> Tokens:
    """Tokens in the manner of SentencePiece: bytes, letters, and their first combinations."""
    tokens = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    tokens += [(f"<0x{byte:02X}>", BYTE, 0.0) for byte in range(256)]
    pieces = islice(spellings(), VOCABULARY - len(tokens))
    return tokens + [(piece, NORMAL, -float(rank)) for rank, piece in enumerate(pieces)]


def spellings() -> Iterator[str]:
    """All words of one letter, of two, ..., each within a word and at its beginning."""
    yield "\u2581"
    for letters in range(1, 5):
        for word in product(ascii_lowercase, repeat=letters):
            yield "".join(word)
        for word in product(ascii_lowercase, repeat=letters):
            yield "\u2581" + "".join(word)


def blocks(chance: random.Random, count: int, before: bytes, quants: int, after: bytes) -> bytes:
    """Quantised blocks: random quants, and what is the same in all of them but for the scale's sign.

    The quants are a little less than zero on average. Were all scales positive, all that goes through a layer
    would be drawn one way, and attention would see nothing else.
    """
    size = len(before) + quants + len(after)
    data = bytearray(count * size)
    drawn = chance.randbytes(count * quants)
    for place in range(quants):
        data[len(before) + place :: size] = drawn[place::quants]
    for place, value in [*enumerate(before), *enumerate(after, len(before) + quants)]:
        data[place::size] = bytes([value]) * count
    sign_place = size - 1 if after else 1  # the second byte of a half-precision number
    value = data[sign_place]
    data[sign_place::size] = chance.randbytes(count).translate(bytes([value] * 128 + [value | 0x80] * 128))
    return bytes(data)


def q4_0(chance: random.Random, shape: tuple[int, ...]) -> bytes:
    """Uniform steps from -8 to 7, scaled so that a row keeps the size of what goes through it."""
    scale = struct.pack("<e", shape[0] ** -0.5 / 4.6)
    return blocks(chance, bytes_of(shape, Q4_0) // 18, scale, 16, b"")


def q6_k(chance: random.Random, shape: tuple[int, ...]) -> bytes:
    """Uniform steps from -32 to 31 under equal scales; the rows of SILENT tokens are zero."""
    scale = struct.pack("<e", shape[0] ** -0.5 / 18.5 / 16)
    rows = blocks(chance, bytes_of(shape, Q6_K) // 210, b"", 192, bytes([16] * 16) + scale)
    silent = bytes_of((shape[0], SILENT), Q6_K)
    return bytes(silent) + rows[silent:]


def model(shape: Shape, seed: int) -> Gguf:
    """A llama whose output is its embedding, as llama-quantize would write it."""
    file = Gguf("llama", seed, shape.name)
    head = shape.width // shape.heads
    file.values_of(UINT32, context_length=CONTEXT, embedding_length=shape.width, block_count=shape.layers)
    file.values_of(UINT32, feed_forward_length=shape.hidden, attention__head_count=shape.heads)
    file.values_of(UINT32, attention__head_count_kv=shape.kv_heads, rope__dimension_count=head)
    file.values_of(FLOAT32, attention__layer_norm_rms_epsilon=1e-5, rope__freq_base=500_000.0)
    file.value("general.file_type", UINT32, 2)
    tokens = vocabulary()
    add_sentencepiece(file, tokens)
    file.value(
        "tokenizer.chat_template",
        STRING,
        "{{ bos_token }}{% for m in messages %}{{ m.content }}\n{% endfor %}",
    )

    def add(name: str, rows: int, columns: int, kind: int, make: Callable[..., bytes]) -> None:
        where = (rows, columns)
        own = random.Random(f"{seed} {name}")
        file.tensor(f"{name}.weight", where, kind, lambda: make(own, where))

    def add_norm(name: str) -> None:
        ones = struct.pack(f"<{shape.width}f", *[1.0] * shape.width)
        file.tensor(f"{name}.weight", (shape.width,), F32, lambda: ones)

    add("token_embd", shape.width, len(tokens), Q6_K, q6_k)
    add_norm("output_norm")
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        add_norm(f"{block}.attn_norm")
        add_norm(f"{block}.ffn_norm")
        add(f"{block}.attn_q", shape.width, shape.heads * head, Q4_0, q4_0)
        add(f"{block}.attn_k", shape.width, shape.kv_heads * head, Q4_0, q4_0)
        add(f"{block}.attn_v", shape.width, shape.kv_heads * head, Q4_0, q4_0)
        add(f"{block}.attn_output", shape.heads * head, shape.width, Q4_0, q4_0)
        add(f"{block}.ffn_gate", shape.width, shape.hidden, Q4_0, q4_0)
        add(f"{block}.ffn_up", shape.width, shape.hidden, Q4_0, q4_0)
        add(f"{block}.ffn_down", shape.hidden, shape.width, Q4_0, q4_0)
    return file


def cache_folder() -> Path:
    """Where builds keep what they fetch (native/cmake/PipSource.cmake), a folder beside that."""
    if own := os.environ.get("SOTTO_CACHE"):
        return Path(own) / "models"
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "sotto" / "models"
    return Path.home() / ".cache" / "sotto" / "models"


def synthetic(which: str, folder: Path | None = None) -> Path:
    """The path of a model, which is made where it is not there yet."""
    folder = folder or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"synthetic-{which}.gguf"
    stamp = folder / f"synthetic-{which}.made-from"
    sources = [
        Path(__file__),
        *(Path(__file__).with_name(name) for name in ("gguf_file.py", "tiny_vocabulary.py")),
    ]
    mark = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    if path.exists() and stamp.exists() and stamp.read_text() == mark:
        return path
    print(f"writing {path}", file=sys.stderr, flush=True)
    part = path.with_suffix(f".part-{os.getpid()}")
    model(SHAPES[which], seed=1).write(part)
    part.replace(path)
    stamp.write_text(mark)
    return path


def main() -> None:
    """Makes each model that is named, or all; prints where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", help=f"of {', '.join(SHAPES)}; all where none is named")
    parser.add_argument("--folder", type=Path, help="where to; the cache otherwise")
    arguments = parser.parse_args()
    if unknown := set(arguments.which) - set(SHAPES):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(SHAPES)}")
    made = {which: str(synthetic(which, arguments.folder)) for which in arguments.which or SHAPES}
    print(json.dumps(made, indent=2))


if __name__ == "__main__":
    main()
