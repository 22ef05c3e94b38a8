"""Stores whose process is killed, disk is full, folder is read-only, or bytes are damaged."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT
from test_fork import in_child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
KILLS = int(os.environ.get("SOTTO_TEST_KILLS", "20"))  # processes that are killed as they insert
DAMAGED = int(os.environ.get("SOTTO_TEST_MUTANTS", "150"))  # damaged databases that are opened
INSERTS = """
import sys, sotto
store = sotto.Store.open("lore", dim=4, folder=sys.argv[1])
number = store.count()
print("ready", flush=True)
while True:
    rows = [{"id": str(number + at), "value": f"memory {number + at}"} for at in range(1 + number % 7)]
    store.insert_many(rows, embeddings=[[1, number + at, 2, 3] for at in range(len(rows))])
    if number % 5 == 0:
        store.update(str(number), value=f"memory {number}", importance=1)
    number += len(rows)
    print(number, flush=True)
"""
OPENS = """
import sys, sotto
print("ready", flush=True)
while True:
    sotto.Store.open("a", dim=2, folder=sys.argv[1]).close()
"""


@pytest.mark.row("A-193")
def test_kill_while_inserting(tmp_path: Path) -> None:
    rolled = random.Random(5)
    told = 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", INSERTS, str(tmp_path)], stdout=subprocess.PIPE, env=ENVIRONMENT, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(rolled.uniform(0, 0.25))
            child.kill()
            for line in child.stdout:
                told = int(line) if line.endswith("\n") else told
        with sotto.Store.open("lore", folder=tmp_path, create=False) as store:
            store.check()
            ids = [int(entry.id) for entry in store.list()]
            assert ids == list(range(len(ids))) and len(ids) >= told
            assert store.info()["embeddings"] == len(ids)
            if ids:
                newest = store.query(f"memory {ids[-1]}", embedding=[1, ids[-1], 2, 3], limit=1)[0]
                assert newest.entry.value == f"memory {newest.entry.id}"
    assert told > KILLS


def test_kill_while_creating_and_closing(tmp_path: Path) -> None:
    rolled = random.Random(6)
    for at in range(8):
        folder = tmp_path / str(at)
        with subprocess.Popen(
            [sys.executable, "-c", OPENS, str(folder)], stdout=subprocess.PIPE, env=ENVIRONMENT, text=True
        ) as child:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            time.sleep(rolled.uniform(0, 0.05))
            child.kill()
        with sotto.Store.open("a", dim=2, folder=folder) as store:
            store.insert("x", embedding=[1, 2])
            store.check()


def test_a_second_process_is_refused_or_reads(tmp_path: Path) -> None:
    with sotto.Store.open("lore", dim=2, folder=tmp_path) as store:
        store.insert("x", embedding=[1, 2])
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lore.db", "lore.db-wal"]

        def second() -> None:
            for read_only in (False, True):
                begin = time.monotonic()
                with pytest.raises(sotto.StoreError, match="open elsewhere") as caught:
                    sotto.Store.open("lore", folder=tmp_path, read_only=read_only)
                assert caught.value.status == sotto.Status.BUSY
                assert time.monotonic() - begin < 10

        assert in_child(second) == 0
        store.insert("y")

    def reader() -> None:
        with sotto.Store.open("lore", folder=tmp_path, read_only=True) as reading:
            assert reading.count() == 2
            with pytest.raises(sotto.StoreError, match="read_only"):
                reading.insert("z")

    with sotto.Store.open("lore", folder=tmp_path, read_only=True) as store:
        assert in_child(reader) == 0 and store.count() == 2


def fill(store: sotto.Store) -> tuple[list[str], str]:
    """Inserts until the disk is full; returns the ids and the error."""
    ids: list[str] = []
    for at in range(2000):
        try:
            ids += store.insert_many([{"value": f"{at} " + "x" * 10_000}] * 10)
        except sotto.StoreError as error:
            return ids, str(error)
    raise AssertionError("the disk is not full")


def survives(folder: Path, freed: Callable[[], object]) -> None:
    """A full disk is reported, loses nothing, and once there is room, the store goes on."""
    with sotto.Store.open("lore", folder=folder) as store:
        ids, why = fill(store)
        assert "make room" in why, why
        assert store.count() == len(ids)
        assert all(store.get(one) is not None for one in ids)
        assert store.query("10", limit=1)
        freed()
        ids.append(store.insert("one more"))
    with sotto.Store.open("lore", folder=folder) as store:
        store.check()
        assert [entry.id for entry in store.list()] == ids


def test_limit_of_file_size(tmp_path: Path) -> None:
    def child() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, most))
        survives(tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))

    assert in_child(child) == 0


def test_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("this user cannot mount a small disk")
    try:
        (disk / "ballast").write_bytes(b"x" * (1 << 20))
        survives(disk / "stores", (disk / "ballast").unlink)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def as_nobody(body: Callable[[], object]) -> int:
    """How a child ends in which `body` runs as a user without privileges."""

    def child() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        body()

    return in_child(child)


def open_up(path: Path) -> None:
    """Lets other users into the folders above a temporary folder that are ours."""
    for folder in (path, *path.parents):
        if folder.owner() == Path.home().owner() and "pytest" in str(folder):
            folder.chmod(0o755)


def test_read_only_folder(tmp_path: Path) -> None:
    open_up(tmp_path)
    folder = tmp_path / "installed"
    with sotto.Store.open("lore", dim=2, folder=folder) as store:
        store.insert("shipped with the game", embedding=[1, 2])
    (folder / "lore.db").chmod(0o444)
    folder.chmod(0o555)

    def body() -> None:
        with pytest.raises(sotto.StoreError, match="read_only"):
            sotto.Store.open("lore", folder=folder)
        with pytest.raises(sotto.StoreError, match="user may write"):
            sotto.Store.open("new", folder=folder)
        with pytest.raises(sotto.StoreError, match="user may write"):
            sotto.Store.open("new", folder=folder / "deeper")
        with pytest.raises(sotto.StoreError, match="user may write"):
            sotto.Store.remove_files("lore", folder=folder)
        with sotto.Store.open("lore", folder=folder, read_only=True) as store:
            assert store.query("game", embedding=[1, 2])[0].entry.value == "shipped with the game"

    try:
        assert as_nobody(body) == 0
        assert [path.name for path in folder.iterdir()] == ["lore.db"]
    finally:
        folder.chmod(0o755)


def use(folder: Path) -> str:
    """Uses a store in every way; returns the error of the first call that refuses."""
    try:
        with sotto.Store.open("lore", folder=folder, create=False) as store:
            store.query("memory 7", embedding=[1, 2, 3, 4], where={"n": {"gt": 3}})
            list(store.list(with_embedding=True))
            one = store.insert("new", embedding=[4, 3, 2, 1])
            store.update(one, value="newer")
            store.delete(one)
            store.check()
            store.compact()
    except sotto.StoreError as error:
        assert error.status in (sotto.Status.STATE, sotto.Status.UNSUPPORTED, sotto.Status.INTERNAL), error
        return str(error)
    return ""


def damaged(original: bytes, rolled: random.Random) -> bytes:
    """Returns a copy of a database with bytes overwritten, pages exchanged, or its end cut off."""
    made = bytearray(original)
    kind = rolled.randrange(5)
    if kind == 0:
        return original[: rolled.randrange(1, len(original))]
    if kind == 1:
        page = 8192
        one, other = (rolled.randrange(len(made) // page) * page for _ in range(2))
        made[one : one + page], made[other : other + page] = (
            made[other : other + page],
            made[one : one + page],
        )
        return bytes(made)
    for _ in range(1 if kind == 2 else 8 if kind == 3 else 200):
        # the headers of pages and the schema more often than the rest
        start = rolled.choice((0, rolled.randrange(len(made) // 8192) * 8192))
        at = min(start + rolled.randrange(200 if rolled.random() < 0.5 else 8192), len(made) - 1)
        made[at] = rolled.randrange(256)
    return bytes(made)


def test_damaged_databases_are_refused_or_used(tmp_path: Path) -> None:
    with sotto.Store.open("lore", dim=4, folder=tmp_path) as store:
        rows = [{"value": f"memory {at} " + "x" * (at % 50), "metadata": {"n": at}} for at in range(300)]
        store.insert_many(rows, embeddings=[[1, at, 2, 3] for at in range(300)])
    path = tmp_path / "lore.db"
    original = path.read_bytes()
    assert use(tmp_path) == ""

    def body() -> None:
        rolled = random.Random(11)
        refused = 0
        for _ in range(DAMAGED):
            for file in tmp_path.iterdir():
                file.unlink()
            path.write_bytes(damaged(original, rolled))
            refused += bool(use(tmp_path))
        assert refused > DAMAGED // 4

    assert in_child(body, 600) == 0
