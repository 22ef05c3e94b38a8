"""Backups of stores: written at one moment, read in one transaction, refused when they do not fit."""

from __future__ import annotations

import contextlib
import math
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT

RESTORES = """
import sys
import sotto

with sotto.Store.open("lore", folder=sys.argv[1]) as store:
    print("restores", flush=True)
    while True:
        store.restore(sys.argv[2])
        store.restore(sys.argv[3])
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sotto.Store]:
    """A store of three entries."""
    with sotto.Store.open("lore", dim=2, folder=tmp_path) as made:
        made.insert_many([{"value": f"fact {at}", "embedding": [1, at]} for at in range(3)])
        yield made


def values(store: sotto.Store) -> list[str]:
    """The texts in the store."""
    return [one.value for one in store.list()]


def test_restoring_takes_back_what_came_later(store: sotto.Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "one")
    store.insert("later", embedding=[0, 1])
    first = next(iter(store.list()))
    store.update(first.id, value="changed")
    store.backup(tmp_path / "two")
    store.restore(tmp_path / "one")
    assert values(store) == ["fact 0", "fact 1", "fact 2"]
    assert [one.entry.value for one in store.query("later changed")] == []
    store.insert("another", embedding=[0, 1])  # its row is a new one
    assert store.query(embedding=[0, 1], limit=1)[0].entry.value == "another"
    store.restore(tmp_path / "two")
    assert sorted(values(store)) == ["changed", "fact 1", "fact 2", "later"]
    assert store.query(embedding=[0, 1], limit=1)[0].entry.value == "later"
    store.check()


def test_a_backup_is_of_any_store_with_the_same_dim(store: sotto.Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    with sotto.Store.open("other", dim=2, folder=tmp_path / "elsewhere") as other:
        other.restore(tmp_path / "copy")
        assert values(other) == values(store)
    shutil.copy(tmp_path / "copy", tmp_path / "opened.db")  # it is a store
    with sotto.Store.open("opened", folder=tmp_path, read_only=True) as opened:
        assert values(opened) == values(store)
        opened.backup(tmp_path / "again")
        with pytest.raises(sotto.StoreError, match="open with read_only"):
            opened.restore(tmp_path / "copy")
    with sotto.Store.open("wide", dim=3, folder=tmp_path) as wide:
        wide.insert("kept")
        with pytest.raises(sotto.StoreError, match="a backup with dim 3, as store 'wide' has, not 2"):
            wide.restore(tmp_path / "copy")
        assert values(wide) == ["kept"]


def test_a_large_store_with_its_graph(tmp_path: Path) -> None:
    dice = random.Random(1)
    vectors = [[dice.gauss(0, 1) for _ in range(8)] for _ in range(6000)]
    with sotto.Store.open("lore", dim=8, folder=tmp_path) as store:
        store.insert_many([{"value": f"{at}"} for at in range(6000)], embeddings=vectors)
        store.backup(tmp_path / "copy")
        store.delete_where()
        store.restore(tmp_path / "copy")
        found = store.query(embedding=vectors[4321], limit=1)
    assert found[0].entry.value == "4321"
    with sotto.Store.open("lore", folder=tmp_path) as store:
        assert store.query(embedding=vectors[1234], limit=1)[0].entry.value == "1234"


def test_files_that_are_no_backup(store: sotto.Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    data = (tmp_path / "copy").read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "copy")
    bad = tmp_path / "bad"
    for path, said in (
        (tmp_path / "none", "an existing backup of a store"),
        (tmp_path, "a regular file, not a folder"),
        (tmp_path / "link", "a regular file, not a folder, a link"),
        ("", "path"),
        ("a\0b", "NUL"),
    ):
        with pytest.raises((ValueError, sotto.StoreError), match=said):
            store.restore(path)
    for content in (b"", b"GGUF" + bytes(9000), data[: len(data) // 2], b"\0" * len(data)):
        bad.write_bytes(content)
        with pytest.raises(sotto.StoreError, match="bad': expected a whole, undamaged backup of a store"):
            store.restore(bad)
    for path, said in ((tmp_path, "folder"), (tmp_path / "link", "link"), ("", "path")):
        with pytest.raises(ValueError, match=said):
            store.backup(path)
    with pytest.raises(sotto.StoreError, match="No such file"):
        store.backup(tmp_path / "nowhere" / "copy")
    assert len(values(store)) == 3


def test_an_open_store_is_not_replaced(store: sotto.Store, tmp_path: Path) -> None:
    with sotto.Store.open("other", dim=2, folder=tmp_path) as other:
        for one in (store, other):
            with pytest.raises(ValueError, match="this one is a store that is open"):
                store.backup(tmp_path / f"{one.id}.db")
            with pytest.raises(ValueError, match="this one is a store that is open"):
                store.backup(tmp_path / f"{one.id}.db-wal")
            (tmp_path / "link").unlink(missing_ok=True)
            (tmp_path / "link").symlink_to(tmp_path / f"{one.id}.db")
            for path in (tmp_path / f"{one.id}.db", tmp_path / "link"):
                with pytest.raises(ValueError, match="this one is a store that is open"):
                    store.restore(path)
    with pytest.raises(sotto.StoreError, match="is open elsewhere"):
        sotto.Store.open("lore", folder=tmp_path)
    assert len(values(store)) == 3


def test_damaged_backups_change_nothing(store: sotto.Store, tmp_path: Path) -> None:
    store.backup(tmp_path / "copy")
    data = (tmp_path / "copy").read_bytes()
    store.insert("later")
    dice, refused = random.Random(5), 0
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            at = 8192 * dice.randrange(len(data) // 8192) + dice.randrange(120)  # the start of a page
            changed[at] ^= 1 << dice.randrange(8)
        (tmp_path / "bad").write_bytes(changed)
        before = values(store)
        try:
            store.restore(tmp_path / "bad")  # a bit of free space, or of a text, is not found
        except sotto.StoreError:
            refused += 1
            assert values(store) == before
    assert refused > 10
    store.restore(tmp_path / "copy")
    store.check()
    assert values(store) == ["fact 0", "fact 1", "fact 2"]


@pytest.mark.parametrize(
    "forged",
    [
        f"UPDATE embeddings SET vector = x'{struct.pack('<2f', math.nan, 1).hex()}' WHERE entry = 2",
        f"UPDATE embeddings SET vector = x'{bytes(8).hex()}' WHERE entry = 2",
        f"UPDATE embeddings SET vector = x'{struct.pack('<f', 1).hex()}' WHERE entry = 2",
        "UPDATE entries SET priority = 9e999 WHERE entry = 1",
        "UPDATE entries SET importance = 2 WHERE entry = 3",
        "UPDATE entries SET metadata = '{' WHERE entry = 1",
    ],
)
def test_entries_that_no_store_takes_are_refused(store: sotto.Store, tmp_path: Path, forged: str) -> None:
    store.backup(tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(tmp_path / "copy")) as database:
        database.execute(forged)
        database.commit()
    store.insert("later", embedding=[1, 1])
    with pytest.raises(sotto.StoreError, match="expected a whole, undamaged backup"):
        store.restore(tmp_path / "copy")
    assert len(values(store)) == 4
    assert store.query(embedding=[1, 1], limit=1)[0].entry.value in ("later", "fact 1")


def test_any_spelling_of_a_path(store: sotto.Store, tmp_path: Path) -> None:
    for path in (f"/{tmp_path}/copy", f"{tmp_path}/a\\b c%20?x#y", f"{tmp_path}/C:d"):
        store.backup(path)
        store.restore(path)
    assert len(values(store)) == 3


def test_a_fifo_beside_the_database(tmp_path: Path) -> None:
    with sotto.Store.open("lore", dim=2, folder=tmp_path):
        pass
    for suffix in ("journal", "wal"):
        os.mkfifo(tmp_path / f"lore.db-{suffix}")
        for read_only in (False, True):
            with pytest.raises(ValueError, match="is a folder, a link or a device; remove it"):
                sotto.Store.open("lore", folder=tmp_path, read_only=read_only)
        (tmp_path / f"lore.db-{suffix}").unlink()


def test_kill_while_restoring(tmp_path: Path) -> None:
    wanted = []
    for at, count in enumerate((40, 400)):
        with sotto.Store.open("lore", dim=2, folder=tmp_path) as store:
            store.delete_where()
            store.insert_many([{"value": f"{at} " + "x" * 500, "embedding": [1, at]} for at in range(count)])
            store.backup(tmp_path / f"backup{at}")
            wanted.append(values(store))
    dice = random.Random(3)
    for _ in range(10):
        command = [
            sys.executable,
            "-c",
            RESTORES,
            str(tmp_path),
            *(str(tmp_path / f"backup{n}") for n in (0, 1)),
        ]
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None and child.stdout.readline() == "restores\n"
            time.sleep(dice.uniform(0, 0.1))
            child.kill()
        with sotto.Store.open("lore", folder=tmp_path) as store:
            store.check()
            assert values(store) in wanted


def test_backups_while_others_write(store: sotto.Store, tmp_path: Path) -> None:
    over = threading.Event()

    def writes() -> None:
        while not over.is_set():
            store.insert_many([{"value": "a"}, {"value": "b"}])

    thread = threading.Thread(target=writes)
    thread.start()
    try:
        for _ in range(20):
            store.backup(tmp_path / "copy")
            with sotto.Store.open("other", dim=2, folder=tmp_path) as other:
                other.restore(tmp_path / "copy")
                assert other.count() % 2 == 1  # three, and pairs
                other.check()
    finally:
        over.set()
        thread.join()
