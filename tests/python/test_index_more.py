"""AnnIndex beyond reference interface A: arrays, filters, changes, interrupted builds, threads and forks."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from array import array

import pytest

from sotto import AnnIndex, ArgumentError, SottoError, Status
from test_fork import in_child
from test_index import DIM, distance, filled, made


def test_arrays_are_read_in_place() -> None:
    np = pytest.importorskip("numpy")
    rows = np.array(made(500), dtype=np.float32)
    index = AnnIndex(DIM)
    index.insert_batch(rows[:200], np.arange(200, dtype=np.uint64))
    index.insert_batch(rows[200:400], np.arange(200, 400))
    index.insert_batch(rows[400:], range(400, 500))
    index.insert(array("f", rows[0].tolist()), 1000)
    index.insert_batch(np.empty((0, DIM), np.float32), [])
    index.build()
    assert index.search(rows[3], 1)[0][0] == 3
    labels, distances = np.zeros((500, 4), np.int64), np.zeros((500, 4), np.float32)
    assert index.search_into(rows, labels, distances, ef=200) == [4] * 500
    assert (labels[1:, 0] == np.arange(1, 500)).mean() > 0.99
    batch = index.search_batch(rows, 4, ef=200)
    assert [[label for label, _ in one] for one in batch] == labels.tolist()
    fortran, wide = np.asfortranarray(rows), rows.astype(np.float64)
    for wrong in (fortran, wide, rows[:, :-1], rows[::2], rows[0], rows.astype(np.int32)):
        with pytest.raises(ValueError, match=r"vectors"):
            index.insert_batch(wrong, range(2000, 2000 + len(wrong)))
    for labels_ in ([1], np.array([-1]), np.array([0.5]), np.array([1], np.int32), "x"):
        with pytest.raises((ValueError, TypeError), match="label"):
            index.insert_batch(rows[:1] if len(labels_) == 1 and labels_ != [1] else rows[:2], labels_)
    for out in (labels[:, :3], labels.astype(np.int32), labels[:9], labels.tolist(), labels.tobytes()):
        with pytest.raises((ValueError, TypeError), match=r"label_ids|distances"):
            index.search_into(rows, out, distances)
    assert len(index) == 501


def test_remove_and_update() -> None:
    index, vectors = filled()
    index.remove(3)
    assert 3 not in index and len(index) == 299
    assert 3 not in {label for label, _ in index.search(vectors[3], 10)}
    index.update(vectors[3], 4)
    assert index.search(vectors[3], 1)[0][0] == 4
    for call in (lambda: index.remove(3), lambda: index.update(vectors[0], 3)):
        with pytest.raises(SottoError, match="label '3'") as missing:
            call()
        assert missing.value.status == Status.NOT_FOUND


def test_filters() -> None:
    index, vectors = filled()
    by_distance = sorted(range(300), key=lambda at: distance(vectors[at], vectors[0]))
    even = [label for label in by_distance if label % 2 == 0]
    for found in (
        index.search(vectors[0], 5, ef=100, filter=lambda label: label % 2 == 0),
        index.search(vectors[0], 5, allowed=range(0, 400, 2)),
        index.search(vectors[0], 5, allowed=(label for label in even)),
        index.search(vectors[0], 5, allowed=range(0, 150), filter=lambda label: label % 2 == 0, ef=1),
    ):
        assert all(label % 2 == 0 for label, _ in found) and len(found) == 5
    assert [label for label, _ in index.search(vectors[0], 5, allowed=even)] == even[:5]
    assert index.search(vectors[0], 5, allowed=[]) == []
    assert index.search(vectors[0], 5, allowed=[9999]) == []
    with pytest.raises(ZeroDivisionError):
        index.search(vectors[0], 5, filter=lambda label: 1 / 0)
    with pytest.raises(TypeError, match="filter"):
        index.search(vectors[0], 5, filter=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="allowed"):
        index.search(vectors[0], 5, allowed=[-1])


def test_progress_and_its_errors() -> None:
    index = AnnIndex(DIM)
    index.insert_batch(made(3000), range(3000))
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        index.build(progress=stop, threads=2)
    assert not index.built and len(seen) == 2
    index.build(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] and index.built
    for wrong in ({"threads": -1}, {"threads": 257}):
        with pytest.raises(ValueError, match="threads"):
            index.build(**wrong)
    with pytest.raises(TypeError, match="progress"):
        index.build(progress=3)  # type: ignore[arg-type]


def test_ctrl_c_stops_a_build() -> None:
    index = AnnIndex(64, ef_construction=2000)
    index.insert_batch(made(6000, 64), range(6000))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes of pytest-xdist ignore it
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            index.build()
            time.sleep(30)  # the build was faster
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 20


def test_close() -> None:
    with filled(5)[0] as index:
        assert not index.closed
    assert index.closed and "closed" in repr(index)
    index.close()
    for call in (
        lambda: index.search([1.0] * DIM, 1),
        lambda: len(index),
        lambda: index.insert([1.0] * DIM, 9),
    ):
        with pytest.raises(SottoError, match="the index is closed"):
            call()
    with pytest.raises(TypeError, match="cannot be copied"):
        __import__("copy").copy(index)


def test_close_stops_a_build_of_another_thread() -> None:
    index = AnnIndex(64, ef_construction=2000)
    index.insert_batch(made(6000, 64), range(6000))
    ended: list[BaseException] = []
    started = threading.Event()

    def build() -> None:
        try:
            index.build(progress=lambda done, total: started.set())
        except SottoError as error:
            ended.append(error)

    thread = threading.Thread(target=build)
    thread.start()
    assert started.wait(60)
    index.close()
    thread.join(60)
    assert not thread.is_alive()
    assert not ended or ended[0].status == Status.CANCELLED  # type: ignore[attr-defined]


def test_threads_search_while_one_inserts() -> None:
    index, vectors = filled(200)
    more = made(600, seed=9)
    wrong: list[object] = []
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            for at in range(0, 200, 17):
                found = index.search(vectors[at], 3)
                if not found or found[0][0] != at:
                    wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for at, vector in enumerate(more):
        index.insert(vector, 1000 + at)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and len(index) == 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_index_is_refused_in_a_forked_child() -> None:
    index, vectors = filled(5)

    def child() -> None:
        for call in (lambda: index.search(vectors[0], 1), lambda: index.remove(0)):
            with pytest.raises(ArgumentError, match="parent process of fork"):
                call()
        index.close()
        fresh, _ = filled(5)
        assert fresh.search(vectors[1], 1)[0][0] == 1

    assert in_child(child) == 0
    assert index.search(vectors[0], 1)[0][0] == 0


def test_many_indexes_come_and_go() -> None:
    kept = [AnnIndex(4) for _ in range(300)]
    for index in kept:
        index.insert([1, 2, 3, 4], 5)
    assert all(5 in index for index in kept)
    del kept, index
    gc.collect()
    for _ in range(5000):
        AnnIndex(4)


def test_storage_saves_memory() -> None:
    sizes = {}
    for storage in ("f32", "f16", "i8"):
        index = AnnIndex(384, storage=storage)  # type: ignore[arg-type]
        index.insert_batch(made(200, 384), range(200))
        sizes[storage] = index.memory
    assert sizes["f16"] < 0.6 * sizes["f32"] and sizes["i8"] < 0.7 * sizes["f16"]
