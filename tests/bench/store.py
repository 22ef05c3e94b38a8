"""A store of 100,000 entries of 384 dimensions in seeded clusters, with texts: queries, inserts, opening.

Each hybrid query has an embedding near a cluster and three words of the cluster's vocabulary, of which one is
rare, one is common and one is in every entry. Times are wall time on one thread, the disk included; those in
`..._cpu` are what the processor spent, which other programs disturb less.

    store.py --json

Needs numpy. The package `sotto` is the one of this checkout; SOTTO_LIBRARY names its library.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from machine import Busy, processor

import sotto

LIMITS = {"hybrid_p99_ms": 20.0}  # at most
CLUSTERS, WORDS, SPREAD = 200, 20_000, 0.6


class Corpus:
    """Entries of seeded clusters. A cluster has words of its own; common words are in all."""

    def __init__(self, entries: int, dim: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.dim = dim
        self.centres = self.random.normal(size=(CLUSTERS, dim))
        self.centres /= np.linalg.norm(self.centres, axis=1, keepdims=True)
        self.of = self.random.integers(CLUSTERS, size=entries)

    def vectors(self, clusters: Any) -> Any:
        """Vectors near the centres of clusters."""
        noise = self.random.normal(size=(len(clusters), self.dim)) * (SPREAD / np.sqrt(self.dim))
        return (self.centres[clusters] + noise).astype(np.float32)

    def words(self, cluster: int, count: int) -> list[str]:
        """Words of a cluster and common ones, by Zipf's law."""
        own = 100 * cluster + np.minimum(self.random.zipf(1.5, count), 100)
        common = np.minimum(self.random.zipf(1.3, count), 500)
        return [f"own{one}" for one in own] + [f"common{one}" for one in common]

    def entry(self, at: int) -> dict[str, Any]:
        """The text and the metadata of one entry."""
        words = self.words(int(self.of[at]), 10)
        return {
            "key": f"topic {self.of[at]} memory {at}",
            "value": " ".join(words),
            "namespace": f"npc{at % 50}",
            "importance": float(at % 10) / 10,
            "metadata": {"level": at % 20, "place": f"place{at % 7}"},
        }

    def query(self) -> tuple[str, Any]:
        """Words and an embedding of one cluster."""
        cluster = int(self.random.integers(CLUSTERS))
        text = " ".join([*self.words(cluster, 2)[:2], f"common{self.random.integers(1, 20)}", "memory"])
        return text, self.vectors([cluster])[0]


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def spent(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of a call, those of the processor in it, and its result."""
    began = time.thread_time()
    seconds, result = timed(call)
    return seconds, time.thread_time() - began, result


def spread(times: list[float]) -> dict[str, float]:
    """Median and p99 in milliseconds."""
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return {"p50_ms": round(1000 * statistics.median(times), 2), "p99_ms": round(1000 * p99, 2)}


def queries(store: sotto.Store, corpus: Corpus, count: int) -> dict[str, dict[str, float]]:
    """Times of each kind of query, taken in turns."""
    weights = {"relevance": 1, "recency": 0.5, "importance": 0.5}
    kinds: dict[str, Callable[[str, Any], Any]] = {
        "hybrid": lambda text, vector: store.query(text, embedding=vector, weights=weights),
        "vector": lambda text, vector: store.query(embedding=vector),
        "text": lambda text, vector: store.query(text),
        "hybrid_of_namespace": lambda text, vector: store.query(text, embedding=vector, namespace="npc7"),
        "vector_where": lambda text, vector: store.query(embedding=vector, where={"level": {"gte": 15}}),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    times |= {f"{kind}_cpu": [] for kind in kinds}
    for at in range(count):
        text, vector = corpus.query()
        for kind, ask in kinds.items():
            if kind != "vector_where" or at % 10 == 0:  # which reads all metadata
                seconds, cpu, found = spent(lambda ask=ask, text=text, vector=vector: ask(text, vector))
                assert len(found) == 10, (kind, text, len(found))
                times[kind].append(seconds)
                times[f"{kind}_cpu"].append(cpu)
    return {kind: spread(all_) for kind, all_ in times.items()}


def recall(store: sotto.Store, corpus: Corpus, vectors: Any, count: int) -> float:
    """Share of the ten nearest entries that a vector query finds."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = 0
    for _ in range(count):
        _, asked = corpus.query()
        nearest = set(np.argsort(-(units @ asked))[:10].tolist())
        found += sum(int(one.entry.key.split()[-1]) in nearest for one in store.query(embedding=asked))
    return found / (10 * count)


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All figures of one store."""
    corpus = Corpus(arguments.entries, arguments.dim, 1)
    vectors = corpus.vectors(corpus.of)
    entries = [corpus.entry(at) for at in range(arguments.entries)]
    told: dict[str, Any] = {}
    with sotto.Store.open("bench", dim=arguments.dim, folder=folder) as store:
        insert, _ = timed(lambda: store.insert_many(entries, embeddings=vectors))
        told["insert_batch_per_s"] = round(arguments.entries / insert)
        told["recall_at_10"] = round(recall(store, corpus, vectors, arguments.queries // 5), 3)
        told["queries"] = queries(store, corpus, arguments.queries)
        singles = [
            timed(lambda at=at: store.insert("one more", embedding=vectors[at]))[0] for at in range(200)
        ]
        told["insert_one"] = spread(singles)
        close, _ = timed(store.close)
    told["close_s"] = round(close, 2)
    told["open_s"], store = timed(lambda: sotto.Store.open("bench", folder=folder))
    told["file_mb"] = round(store.info()["file_bytes"] / 1e6)
    store.close()
    for index in folder.glob("*.index"):
        told["index_mb"] = round(index.stat().st_size / 1e6)
        index.unlink()
    told["rebuild_s"], store = timed(lambda: sotto.Store.open("bench", folder=folder))
    store.close()
    return {**told, "open_s": round(told["open_s"], 2), "rebuild_s": round(told["rebuild_s"], 1)}


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--entries", type=int, default=100_000, help="of the store (100000)")
    parser.add_argument("--dim", type=int, default=384, help="of the embeddings (384)")
    parser.add_argument("--queries", type=int, default=1000, help="of each kind (1000)")
    parser.add_argument("--quick", action="store_true", help="20,000 entries, 200 queries")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.entries, arguments.queries = 20_000, 200
    busy = Busy()
    with tempfile.TemporaryDirectory() as folder:
        told = measure(arguments, Path(folder))
    figures = {"hybrid_p99_ms": told["queries"]["hybrid"]["p99_ms"]}
    broken = [
        f"{name} {figures[name]}, at most {most}" for name, most in LIMITS.items() if figures[name] > most
    ]
    setting = {
        "entries": arguments.entries,
        "dim": arguments.dim,
        "queries": arguments.queries,
        "cores": os.cpu_count(),
        "processor": processor(),
        "others_pct": round(busy.others_pct(), 1),
    }
    whole = {**figures, **told, "setting": setting, "limits": LIMITS, "broken": broken, "ok": not broken}
    print(json.dumps(whole, indent=None if arguments.json else 2))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
