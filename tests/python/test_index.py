"""AnnIndex: the rows of reference interface A, and bad input."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT
from sotto import AnnIndex, Status

DIM = 16


def made(count: int, dim: int = DIM, seed: int = 1) -> list[list[float]]:
    """Vectors around 20 centres."""
    fixed, source = random.Random(7), random.Random(seed)
    centres = [[fixed.gauss(0, 1) for _ in range(dim)] for _ in range(20)]
    return [[x + source.gauss(0, 0.5) for x in centres[source.randrange(20)]] for _ in range(count)]


def distance(a: list[float], b: list[float]) -> float:
    """1 - cosine."""
    return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def filled(count: int = 300, **options: Any) -> tuple[AnnIndex, list[list[float]]]:
    """A built index, and its vectors; labels are their positions."""
    vectors = made(count)
    index = AnnIndex(DIM, **options)
    index.insert_batch(vectors, range(count))
    index.build()
    return index, vectors


@pytest.mark.row("A-215", "A-217", "A-218", "A-234")
def test_the_documented_examples(tmp_path: Path) -> None:
    index = AnnIndex(dim=3, max_elements=1000)
    index.insert([0.1, 0.2, 0.3], label_id=42)
    index.insert([0.3, -0.2, 0.1], label_id=1)
    index.build()
    results = index.search([0.1, 0.2, 0.3], k=5)
    lines = [f"Label {label_id}: distance={distance:.4f}" for label_id, distance in results]
    assert lines == ["Label 42: distance=0.0000", "Label 1: distance=0.8571"]
    assert AnnIndex(dim=384).dim() == 384
    path = str(tmp_path / "my_index.bin")
    assert index.save(path) is None
    assert AnnIndex.load(path).search([0.1, 0.2, 0.3], k=5) == results


@pytest.mark.row("A-216")
def test_an_index_needs_no_engine_and_no_driver() -> None:
    code = (
        "import sotto\n"
        "index = sotto.AnnIndex(dim=2)\n"
        "index.insert([1, 0], 1)\n"
        "index.build()\n"
        "assert index.search([1, 0], 1) == [(1, 0.0)]\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert not [n for n in ('libcuda', 'libvulkan', 'sotto_llama') if n in maps]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT)


@pytest.mark.row("A-217")
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"dim": 0}, "dim '0'"),
        ({"dim": -3}, "dim '-3'"),
        ({"dim": 20_000}, "dim '20000'"),
        ({"dim": 3, "max_elements": -1}, "max_elements"),
        ({"dim": 3, "max_elements": 1 << 40}, "max_elements"),
        ({"dim": 3, "m": 1}, "m '1'"),
        ({"dim": 3, "m": 129}, "m '129'"),
        ({"dim": 3, "ef_construction": 70_000}, "ef_construction"),
        ({"dim": 3, "storage": "f8"}, "storage"),
    ],
)
def test_options_out_of_range_are_refused(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        AnnIndex(**arguments)


@pytest.mark.row("A-219", "A-220", "A-226")
def test_vectors_of_a_wrong_length_are_refused() -> None:
    index, _ = filled(10)
    for wrong in ([], [1.0] * (DIM - 1), [1.0] * (DIM + 1)):
        with pytest.raises(ValueError, match=f"of {len(wrong)} values: expected {DIM}"):
            index.insert(wrong, label_id=99)
        with pytest.raises(ValueError, match=f"invalid query of {len(wrong)} values"):
            index.search(wrong, k=1)
    assert len(index) == 10


@pytest.mark.row("A-221")
def test_labels() -> None:
    index = AnnIndex(2)
    for label in (0, 2**63 - 1, 2**64 - 1):
        index.insert([1.0, label % 7], label)
        assert label in index
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match="label_id"):
            index.insert([1, 1], wrong)
    with pytest.raises(TypeError):
        index.insert([1, 1], "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'0': expected a label that is not yet in the index; use update"):
        index.insert([1, 1], 0)
    index.build()
    assert {label for label, _ in index.search([1, 1], 9)} == {0, 2**63 - 1, 2**64 - 1}


@pytest.mark.row("A-222")
def test_more_vectors_than_max_elements_are_refused() -> None:
    index = AnnIndex(2, max_elements=2)
    index.insert([1, 0], 1)
    index.insert([0, 1], 2)
    with pytest.raises(sotto.AtelicoError, match="2 of at most 2"):
        index.insert([1, 1], 3)
    index.remove(1)
    index.insert([1, 1], 3)
    assert len(index) == 2


@pytest.mark.row("A-223", "A-224")
def test_build() -> None:
    index = AnnIndex(2)
    index.insert([1, 0], 1)
    with pytest.raises(sotto.AtelicoError, match=r"call build\(\)") as refused:
        index.search([1, 0], 1)
    assert refused.value.status == Status.STATE
    assert not index.built
    assert index.build() is None  # type: ignore[func-returns-value]
    assert index.built
    index.insert([0, 1], 2)  # found without another build
    assert index.search([0, 1], 1) == [(2, 0.0)]
    index.build()
    assert [label for label, _ in index.search([0, 1], 2)] == [2, 1]


@pytest.mark.row("A-225", "A-227", "A-228")
def test_search_returns_the_nearest_first() -> None:
    index, vectors = filled(60)
    query = vectors[7]
    found = index.search(query, 60)
    assert all(type(label) is int and type(away) is float for label, away in found)
    assert found[0][0] == 7 and found[0][1] < 1e-6
    assert [away for _, away in found] == sorted(away for _, away in found)
    for label, away in found:
        assert away == pytest.approx(distance(vectors[label], query), abs=1e-5)
    assert [label for label, _ in found] == sorted(range(60), key=lambda at: distance(vectors[at], query))
    assert index.search(query, 1000) == found
    assert index.search(query, 2**64 - 1) == found
    assert index.search(query, 0) == []
    with pytest.raises(ValueError, match="k"):
        index.search(query, -1)


@pytest.mark.row("A-229")
@pytest.mark.parametrize("storage", ["f32", "f16", "i8"])
def test_recall(storage: Any) -> None:
    np = pytest.importorskip("numpy")
    source = np.random.default_rng(3)
    centres = source.normal(size=(100, 64))
    rows = (centres[source.integers(100, size=5100)] + source.normal(size=(5100, 64)) * 0.6).astype(
        np.float32
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors, queries = rows[:5000].copy(), rows[5000:].copy()
    index = AnnIndex(64, storage=storage)
    index.insert_batch(vectors, np.arange(5000))
    index.build()
    truth = np.argsort(-queries @ vectors.T, axis=1)[:, :10]
    found = index.search_batch(queries, 10)
    hits = sum(len({x for x, _ in one} & set(best)) for one, best in zip(found, truth.tolist(), strict=True))
    assert hits / 1000 >= (0.9 if storage == "i8" else 0.95)


@pytest.mark.row("A-230", "A-232")
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("storage", ["f32", "f16", "i8"])
def test_a_loaded_index_finds_the_same(tmp_path: Path, storage: Any, mmap: bool) -> None:
    index, vectors = filled(400, storage=storage)
    path = tmp_path / "Gedächtnis.index"
    index.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["Gedächtnis.index"]
    loaded = AnnIndex.load(path, mmap=mmap)
    assert (loaded.dim(), len(loaded), loaded.storage, loaded.built) == (DIM, 400, storage, True)
    for query in made(20, seed=5):
        assert loaded.search(query, 10) == index.search(query, 10)
    loaded.insert(vectors[0], 1000)
    assert {label for label, _ in loaded.search(vectors[0], 2)} == {0, 1000}
    loaded.save(path)
    assert len(AnnIndex.load(path)) == 401


@pytest.mark.row("A-231")
def test_save_errors(tmp_path: Path) -> None:
    index, _ = filled(5)
    for wrong in (tmp_path / "missing" / "index", tmp_path):
        with pytest.raises(sotto.AtelicoError):
            index.save(wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.row("A-233")
def test_load_errors(tmp_path: Path) -> None:
    index, _ = filled(20)
    path = tmp_path / "index"
    index.save(path)
    good = path.read_bytes()
    source = random.Random(1)
    bad = [good[:size] for size in range(0, len(good), 64)]
    bad += [b"", good + b"x", b"x" * 5000, b"GGUF" + good[4:]]
    for _ in range(300):
        at = source.randrange(len(good))
        bad.append(good[:at] + bytes([good[at] ^ 1 << source.randrange(8)]) + good[at + 1 :])
    for content in bad:
        path.write_bytes(content)
        with pytest.raises(sotto.AtelicoError, match="save"):
            AnnIndex.load(path, mmap=len(content) % 2 == 0)
    for wrong in (tmp_path / "missing", tmp_path):
        with pytest.raises(sotto.AtelicoError):
            AnnIndex.load(wrong)
    with pytest.raises(TypeError):
        AnnIndex.load(path, mmap=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vector", "word"),
    [
        ([math.nan, *[1.0] * (DIM - 1)], r"\[0\] 'nan'"),
        ([*[1.0] * (DIM - 1), -math.inf], rf"\[{DIM - 1}\] '-inf'"),
        ([1e300] * DIM, "inf"),
        ([0.0] * DIM, "other than 0"),
    ],
)
def test_vectors_without_a_direction_are_refused(vector: list[float], word: str) -> None:
    index, _ = filled(5)
    for call in (
        lambda: index.insert(vector, 9),
        lambda: index.update(vector, 1),
        lambda: index.search(vector, 1),
        lambda: index.insert_batch([[1.0] * DIM, vector], [8, 9]),
    ):
        with pytest.raises(ValueError, match=word):
            call()
    assert len(index) == 5


@pytest.mark.parametrize("wrong", ["x" * DIM, b"x" * DIM, None, 5, ["x"] * DIM, [None] * DIM])
def test_vectors_of_a_wrong_type_are_refused(wrong: Any) -> None:
    index = AnnIndex(DIM)
    with pytest.raises((TypeError, ValueError)):
        index.insert(wrong, 1)
    assert len(index) == 0
