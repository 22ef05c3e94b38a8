"""Models for llama.cpp's server tests, in place of those that they download.

Made once, into the cache of the user: the house model and its adapter as they are, a copy of the house model
with tokens for infill, all-MiniLM-L6-v2, a ranker and a gemma3 with a projector with seeded random weights.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stock import cache

ROOT = Path(__file__).resolve().parents[2]
HOUSE = ROOT / "samples" / "house_model"
sys.path += [str(ROOT / "python"), str(ROOT / "tests" / "data")]

VERSION = "2"  # of the files that are made here
RANKER_CONTEXT = 512
RANKER_SEED = 23  # its weights rank the documents of test_rerank.py as a real ranker does
INFILL = {"fim_pre": 3, "fim_suf": 4, "fim_mid": 0}  # special tokens of the house model
SIDE = 64  # pixels of a picture

PRESETS = {  # repository, or repository/file: names of our files; the second is a projector
    "ggml-org/test-model-stories260K": ("house",),
    "ggml-org/test-model-stories260K-infill": ("infill",),
    "ggml-org/models/tinyllamas/stories260K.gguf": ("house",),
    "ggml-org/models/tinyllamas/split/stories15M-q8_0-00001-of-00003.gguf": ("house",),
    "ggml-org/models/bert-bge-small/ggml-model-f16.gguf": ("minilm",),
    "ggml-org/models/jina-reranker-v1-tiny-en/ggml-model-f16.gguf": ("ranker",),
    "ggml-org/stories15M_MOE/stories15M_MOE-F16.gguf": ("house",),
    "ggml-org/tinygemma3-GGUF:Q8_0": ("gemma3", "gemma3-projector"),
}
DOWNLOADS = {  # names of downloaded files
    "moe_shakespeare15M.gguf": "adapter",
    "stories15M-q4_0.gguf": "house",
    "11_truck.png": "truck",
    "91_cat.png": "cat",
}


def models() -> dict[str, Path]:
    """Returns the path of each file, by the names in `PRESETS` and `DOWNLOADS`. Makes missing ones."""
    folder = cache() / "llama-suite" / f"models-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "infill": (folder / "infill.gguf", write_infill),
        "ranker": (folder / "ranker.gguf", write_ranker),
        "gemma3": (folder / "gemma3.gguf", write_gemma3),
        "gemma3-projector": (folder / "gemma3-projector.gguf", write_projector),
        "truck": (folder / "truck.png", lambda path: path.write_bytes(picture(3))),
        "cat": (folder / "cat.png", lambda path: path.write_bytes(picture(5))),
    }
    for path, write in made.values():
        make(path, write)
    found = {name: path for name, (path, _) in made.items()}
    return {**found, "house": HOUSE / "house.gguf", "adapter": HOUSE / "pirate.gguf", "minilm": minilm()}


def make(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file unless it is there."""
    if not path.exists():
        part = path.with_name(f"part-{path.name}")
        write(part)
        part.replace(path)


def minilm() -> Path:
    """Returns all-MiniLM-L6-v2. Downloads and converts it if it is not on this machine."""
    from sotto import _minilm

    return Path(_minilm.base() or _minilm.pull())


def write_infill(path: Path) -> None:
    """Writes the house model with the ids of tokens for infill, by the tool of the package gguf."""
    tool = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", HOUSE / "house.gguf", path, "--force"]
    tokens = [word for name, token in INFILL.items() for word in ("--special-token-by-id", name, token)]
    done = subprocess.run([str(word) for word in [*tool, *tokens]], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cannot write the model for infill:\n{done.stdout}{done.stderr}")


@contextmanager
def ranker_context() -> Iterator[None]:
    """Makes the generator write encoders with a longer context."""
    import tiny_encoder

    before, tiny_encoder.CONTEXT = tiny_encoder.CONTEXT, RANKER_CONTEXT
    try:
        yield
    finally:
        tiny_encoder.CONTEXT = before


def write_ranker(path: Path, seed: int = RANKER_SEED) -> None:
    """Writes an encoder with a head that ranks."""
    import tiny_encoder

    with ranker_context():
        tiny_encoder.TinyEncoder(seed, tiny_encoder.RANK).write(path)


def write_gemma3(path: Path) -> None:
    """Writes a gemma3 with a sliding window of 512 tokens, that of Gemma 3 270M."""
    import make_tiny

    make_tiny.CONTEXT, make_tiny.WINDOW = 2048, 512
    make_tiny.transformer("gemma3", 4).write(path)


def write_projector(path: Path) -> None:
    """Writes its projector."""
    import tiny_media

    tiny_media.gemma3(32).write(path)


def picture(seed: int) -> bytes:
    """Returns a PNG of stripes."""
    rows = b"".join(
        b"\0" + bytes((x * seed * 3 + y * channel) % 256 for x in range(SIDE) for channel in (1, 5, 9))
        for y in range(SIDE)
    )
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
