"""The writers of archives alone."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from archives import Entry, tree, write
from release import PackagingError

EPOCH = 1_700_000_000
ENTRIES = [Entry("b/library.so", b"\x7fELF..."), Entry("a.txt", b"text"), Entry("b/ünï 日本.md", b"more")]


@pytest.mark.parametrize("name", ["one.zip", "one.tar.gz", "one.tgz"])
def test_order_of_entries_does_not_matter(name: str, tmp_path: Path) -> None:
    for folder, entries in (("first", ENTRIES), ("second", ENTRIES[::-1])):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / name, entries, EPOCH)
    assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_zip_reads_back(tmp_path: Path) -> None:
    write(tmp_path / "one.zip", ENTRIES, EPOCH)
    archive = zipfile.ZipFile(tmp_path / "one.zip")
    assert archive.namelist() == ["a.txt", "b/library.so", "b/ünï 日本.md"]
    assert archive.read("b/ünï 日本.md") == b"more"
    assert [info.external_attr >> 16 for info in archive.infolist()] == [0o100644, 0o100755, 0o100644]
    assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_tar_reads_back(tmp_path: Path) -> None:
    write(tmp_path / "one.tgz", ENTRIES, EPOCH)
    with tarfile.open(tmp_path / "one.tgz") as archive:
        assert [(member.name, member.mode, member.mtime) for member in archive] == [
            ("a.txt", 0o644, EPOCH),
            ("b/library.so", 0o755, EPOCH),
            ("b/ünï 日本.md", 0o644, EPOCH),
        ]


def test_names_longer_than_old_tar_has(tmp_path: Path) -> None:
    name = "package/" + "a" * 120 + "/" + "b" * 120
    write(tmp_path / "one.tgz", [Entry(name, b"x")], EPOCH)
    with tarfile.open(tmp_path / "one.tgz") as archive:
        assert archive.getnames() == [name]


@pytest.mark.parametrize("other", ["a.txt", "A.txt"])
def test_two_files_of_one_name_are_refused(other: str, tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match="two files for"):
        write(tmp_path / "one.zip", [Entry("a.txt", b"1"), Entry(other, b"2")], EPOCH)


def test_tree_names_files_with_forward_slashes(tmp_path: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "file").write_bytes(b"1")
    assert [entry.name for entry in tree(tmp_path, "top/")] == ["top/x/y/file"]
