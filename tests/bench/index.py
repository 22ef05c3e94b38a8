"""The vector index beside hnswlib and usearch, with the same parameters, on seeded clusters.

All libraries take turns, on one thread, with each part of the vectors and with each round of queries. Times
are those that the processor spent, so that other programs disturb them less. `qps_ratio` and `build_ratio`
compare with the better of the two peers.

    index.py --build build/check/release --json

Installs hnswlib, usearch and numpy into a virtual environment of its own, below build/bench.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("hnswlib==0.8.0", "usearch==2.26.6", "numpy==2.4.6", "cffi==2.0.0")
M, EF_CONSTRUCTION, K = 16, 200, 10
LIMITS = {"recall_at_10": 0.95, "qps_ratio": 1.0, "f16_qps_ratio": 0.95}  # at least
MOST = {"build_ratio": 1.05, "f16_vector_memory_ratio": 0.5}  # at most


class Ours:
    """AnnIndex, in one of its storages."""

    def __init__(self, dim: int, storage: str) -> None:
        import sotto

        self.index = sotto.AnnIndex(dim, storage=storage, m=M, ef_construction=EF_CONSTRUCTION)  # type: ignore[arg-type]
        self.index.build()  # from now on, insertions link

    def add(self, labels: Any, rows: Any) -> None:
        self.index.insert_batch(rows, labels)

    def search(self, queries: Any, ef: int) -> Any:
        import numpy as np

        labels = np.empty((len(queries), K), np.int64)
        self.index.search_into(queries, labels, np.empty((len(queries), K), np.float32), ef=ef)
        return labels


class Hnswlib:
    """The package hnswlib."""

    def __init__(self, dim: int, count: int) -> None:
        import hnswlib

        self.index = hnswlib.Index(space="cosine", dim=dim)
        self.index.init_index(max_elements=count, M=M, ef_construction=EF_CONSTRUCTION)
        self.index.set_num_threads(1)

    def add(self, labels: Any, rows: Any) -> None:
        self.index.add_items(rows, labels, num_threads=1)

    def search(self, queries: Any, ef: int) -> Any:
        self.index.set_ef(ef)
        return self.index.knn_query(queries, k=K, num_threads=1)[0].astype("int64")


class Usearch:
    """The package usearch."""

    def __init__(self, dim: int) -> None:
        from usearch.index import Index

        graph = {"connectivity": M, "expansion_add": EF_CONSTRUCTION}
        self.index = Index(ndim=dim, metric="cos", dtype="f32", **graph)

    def add(self, labels: Any, rows: Any) -> None:
        self.index.add(labels, rows, threads=1)

    def search(self, queries: Any, ef: int) -> Any:
        self.index.expansion_search = ef
        return self.index.search(queries, K, threads=1).keys.astype("int64")


def clusters(count: int, queries: int, dim: int) -> tuple[Any, Any]:
    """Seeded vectors of length 1 around 1,000 centres, and queries from the same centres."""
    import numpy as np

    source = np.random.default_rng(1)
    centres = source.standard_normal((1000, dim), np.float32)
    rows = source.standard_normal((count + queries, dim), np.float32) * 0.8
    rows += centres[source.integers(len(centres), size=len(rows))]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:count], np.ascontiguousarray(rows[count:])


def seconds(call: Any) -> tuple[float, Any]:
    """The processor time of a call, and its result."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def build(libraries: dict[str, Any], rows: Any, parts: int) -> dict[str, float]:
    """Adds the vectors to all libraries in turns. Seconds of each."""
    import numpy as np

    spent = dict.fromkeys(libraries, 0.0)
    for part in np.array_split(np.arange(len(rows)), parts):
        for name, library in libraries.items():
            spent[name] += seconds(lambda library=library, part=part: library.add(part, rows[part]))[0]
    return spent


def search(
    libraries: dict[str, Any], queries: Any, ef: int, rounds: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Searches in turns. The labels that each library found, and the queries per second of each round."""
    found: dict[str, Any] = {}
    qps: dict[str, list[float]] = {name: [] for name in libraries}
    for _ in range(rounds):
        for name, library in libraries.items():
            spent, found[name] = seconds(lambda library=library: library.search(queries, ef))
            qps[name].append(len(queries) / spent)
    return found, qps


def ratio(qps: dict[str, list[float]], name: str, others: tuple[str, ...]) -> float:
    """Median over the rounds of one library's speed over the best of others."""
    return statistics.median(
        mine / max(qps[other][at] for other in others) for at, mine in enumerate(qps[name])
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    rows, queries = clusters(arguments.count, arguments.queries, arguments.dim)
    exact = [set((-(rows @ query)).argpartition(K)[:K].tolist()) for query in queries]
    libraries: dict[str, Any] = {name: Ours(arguments.dim, name) for name in ("f32", "f16", "i8")}
    libraries["hnswlib"] = Hnswlib(arguments.dim, arguments.count)
    libraries["usearch"] = Usearch(arguments.dim)
    spent = build(libraries, rows, arguments.parts)
    found, qps = search(libraries, queries, arguments.ef, arguments.rounds)
    recall = {
        name: sum(len(best & set(row)) for best, row in zip(exact, labels.tolist(), strict=True))
        / (K * len(queries))
        for name, labels in found.items()
    }
    peers = ("hnswlib", "usearch")
    memory = {name: libraries[name].index.memory for name in ("f32", "f16", "i8")}
    links = (memory["f32"] - arguments.count * arguments.dim * 4) / arguments.count
    per_vector = {name: memory[name] / arguments.count - links for name in memory}
    return {
        "recall_at_10": round(recall["f32"], 4),
        "qps_ratio": round(ratio(qps, "f32", peers), 3),
        "build_ratio": round(spent["f32"] / min(spent[peer] for peer in peers), 3),
        "f16_qps_ratio": round(ratio(qps, "f16", ("f32",)), 3),
        "f16_memory_ratio": round(memory["f16"] / memory["f32"], 3),
        "f16_vector_memory_ratio": round(per_vector["f16"] / per_vector["f32"], 3),
        "recall": {name: round(value, 4) for name, value in recall.items()},
        "qps": {name: round(statistics.median(all_)) for name, all_ in qps.items()},
        "build_s": {name: round(value, 1) for name, value in spent.items()},
        "memory_mb": {name: round(value / 1e6, 1) for name, value in memory.items()},
        "setting": {
            "vectors": arguments.count,
            "dim": arguments.dim,
            "queries": arguments.queries,
            "m": M,
            "ef_construction": EF_CONSTRUCTION,
            "ef": arguments.ef,
            "rounds": arguments.rounds,
            "packages": list(PACKAGES[:2]),
        },
    }


def inside(arguments: list[str]) -> int:
    """Runs this file in the environment that has the peers."""
    from peers import environment

    python = environment("index", *PACKAGES)
    given = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    given["PYTHONPATH"] = os.pathsep.join((str(ROOT / "python"), str(ROOT / "tests" / "bench")))
    return subprocess.run([python, __file__, *arguments], env=given, check=False).returncode


def main() -> int:
    """Measures, and fails if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--ef", type=int, default=64)
    parser.add_argument("--parts", type=int, default=10, help="turns while vectors are added")
    parser.add_argument("--rounds", type=int, default=7, help="turns of queries")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if importlib.util.find_spec("hnswlib") is None:
        return inside(sys.argv[1:])
    os.environ.setdefault("SOTTO_LIBRARY", str(arguments.build.resolve() / "out" / "libsotto.so"))
    from machine import Busy, processor

    busy = Busy()
    figures = measure(arguments)
    figures |= {"processor": processor(), "others_pct": round(busy.others_pct(), 1)}
    missed = [name for name, least in LIMITS.items() if figures[name] < least]
    missed += [name for name, most in MOST.items() if figures[name] > most]
    if arguments.json:
        print(json.dumps(figures | {"missed": missed}))
    else:
        for name, value in figures.items():
            print(f"{name:24} {value}")
        print("missed:", ", ".join(missed) or "none")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
