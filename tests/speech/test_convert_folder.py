"""`sotto convert`: the folder that it writes, files of others, full disks and killed conversions."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conversion import HOUSE, converted, refused

from sotto.commands.convert import source, target, weights


def test_a_converted_model_is_kept_unless_forced(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "made"
    assert converted(tiny, folder) == 0
    assert f"{folder}: " in capsys.readouterr().out
    before = (folder / "model.bin").stat()
    assert converted(tiny, folder, "--quantization", "int8") == 0
    assert "--force replaces it" in capsys.readouterr().err
    assert (folder / "model.bin").stat() == before
    assert converted(tiny, folder, "--quantization", "int8", "--force") == 0
    assert (folder / "model.bin").stat().st_size < before.st_size
    assert [file.name for file in tmp_path.iterdir()] == ["made"]


def test_files_of_others_are_never_deleted(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    mine, file = tmp_path / "mine", tmp_path / "file"
    mine.mkdir()
    (mine / "save.txt").write_text("x")
    file.write_text("x")
    assert converted(tiny, mine, "--force") == 2
    assert "holds save.txt, which would be deleted" in capsys.readouterr().err
    assert converted(tiny, file, "--force") == 2
    assert "this is no folder" in capsys.readouterr().err
    (mine / "save.txt").unlink()
    assert converted(tiny, mine) == 0
    (mine / "save.txt").write_text("x")
    assert converted(tiny, mine, "--force") == 2
    assert (mine / "save.txt").read_text() == "x" and (mine / "model.bin").is_file()


@pytest.mark.parametrize("name", ["README.md", "LICENSE", "config.json", "1_Pooling/config.json"])
def test_a_folder_without_a_model_is_not_replaced(tiny: Path, tmp_path: Path, capsys: Any, name: str) -> None:
    mine = tmp_path / "mine"
    (mine / name).parent.mkdir(parents=True)
    (mine / name).write_text("x")
    assert converted(tiny, mine, "--force") == 2
    assert f"holds {name}, which would be deleted" in capsys.readouterr().err
    assert (mine / name).read_text() == "x" and [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_is_written(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    assert converted(tiny, tmp_path / "made") == 0
    assert target.holds_model(tmp_path / "made")


def interrupted(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Makes conversions perform `action` after the first of their work."""
    original = weights.convert

    def convert(*arguments: Any) -> None:
        original(*arguments)
        action()

    monkeypatch.setattr(weights, "convert", convert)


def test_files_that_arrive_during_a_conversion_are_kept(
    tiny: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "made"
    assert converted(tiny, folder) == 0
    before = (folder / "model.bin").read_bytes()
    interrupted(monkeypatch, lambda: (folder / "save.txt").write_text("x"))
    assert converted(tiny, folder, "--quantization", "int8", "--force") == 2
    assert "holds save.txt, which would be deleted" in capsys.readouterr().err
    assert (folder / "save.txt").read_text() == "x" and (folder / "model.bin").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["made"]


def test_a_file_that_arrives_between_check_and_rename_is_kept(
    tiny: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "made"
    assert converted(tiny, folder) == 0
    rename = os.rename

    def late(old: Path, new: Path) -> None:
        if old == folder:
            (folder / "save.txt").write_text("x")
        rename(old, new)

    monkeypatch.setattr(os, "rename", late)
    assert converted(tiny, folder, "--force") == 2
    assert "holds save.txt, which would be deleted" in capsys.readouterr().err
    assert (folder / "save.txt").read_text() == "x" and (folder / "model.bin").is_file()


def test_a_model_that_arrives_during_a_conversion_is_kept(
    tiny: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, folder = tmp_path / "other", tmp_path / "made"
    assert converted(tiny, other, "--quantization", "int8") == 0
    interrupted(monkeypatch, lambda: shutil.copytree(other, folder))
    assert converted(tiny, folder) == 1
    assert "holds a converted model now; --force replaces it" in capsys.readouterr().err
    assert (folder / "model.bin").read_bytes() == (other / "model.bin").read_bytes()


def test_a_kill_between_the_renames_loses_no_model(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    folder, work = tmp_path / "made", tmp_path / ".made.converting"
    assert converted(tiny, folder) == 0
    before = (folder / "model.bin").read_bytes()
    killed = (
        "import os, signal, sys; from sotto import cli; rename = os.rename; "
        "os.rename = lambda old, new: (rename(old, new), os.kill(os.getpid(), signal.SIGKILL)); "
        "cli.main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", killed, "convert", tiny, "--to", "ctranslate2", folder, "--force"]
    assert subprocess.run(command, timeout=120).returncode == -signal.SIGKILL
    assert not folder.exists() and (work / "old" / "model.bin").read_bytes() == before
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny, damaged)
    (damaged / "tokenizer.json").write_text("{")
    assert converted(damaged, folder, "--force") == 1  # this conversion fails too
    assert (folder / "model.bin").read_bytes() == before and not work.exists()


def test_a_work_folder_that_is_a_link_is_refused(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    precious, work = tmp_path / "precious", tmp_path / ".made.converting"
    precious.mkdir()
    (precious / "save.txt").write_text("x")
    work.symlink_to(precious)
    assert converted(tiny, tmp_path / "made") == 2
    assert f"expected a path without '{work}' beside it" in capsys.readouterr().err
    work.unlink()
    precious.rename(work)
    assert converted(tiny, tmp_path / "made") == 0
    assert [file.name for file in work.iterdir()] == ["save.txt"]


@pytest.mark.parametrize("part", [0.01, 0.5, 0.999])
def test_a_model_that_was_cut_short_is_written_again(tiny: Path, tmp_path: Path, part: float) -> None:
    file = tmp_path / "made" / "model.bin"
    assert converted(tiny, file.parent) == 0
    whole = file.read_bytes()
    for size in (round(part * len(whole)), len(whole) - 1):
        file.write_bytes(whole[:size])
        assert not target.holds_model(file.parent)
    assert converted(tiny, file.parent) == 0
    assert file.read_bytes() == whole


@pytest.mark.parametrize("quantization", [None, "int8", "bfloat16", "float32"])
def test_the_room_that_is_checked_is_the_room_that_is_taken(
    tiny: Path, tmp_path: Path, quantization: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_SPARE", 0)
    more = () if quantization is None else ("--quantization", quantization)
    assert converted(tiny, tmp_path / "made", *more) == 0
    taken = (tmp_path / "made" / "model.bin").stat().st_size
    assert 0.85 < source.bytes_to_write(tiny, quantization) / taken < 1.15


def test_the_room_for_a_gguf_file_includes_its_copy_in_float32(house: Path) -> None:
    values = (house / "model.bin").stat().st_size / 4
    needed = source.bytes_to_write(HOUSE / "house.gguf", "int8") - (64 << 20)
    assert 0.95 < needed / (5 * values) < 1.05


def test_a_full_disk_leaves_nothing(tiny: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda path: Room(1 << 20))
        assert "has no room for the model" in refused(tiny, tmp_path, capsys)
    limited = (
        "import resource, signal, sys; from sotto import cli; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); sys.exit(cli.main(sys.argv[1:]))"
    )
    for given in (tiny, HOUSE / "house.gguf"):
        command = [sys.executable, "-c", limited, "convert", given, "--to", "ctranslate2", tmp_path / "made"]
        done = subprocess.run(command, timeout=120, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "has no room for the model: File too large" in done.stderr
        assert not list(tmp_path.iterdir())


class Room:
    """What `shutil.disk_usage()` returns."""

    def __init__(self, free: int) -> None:
        self.free = free


def test_a_killed_conversion_leaves_nothing_under_the_name(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    folder, work = tmp_path / "made", tmp_path / ".made.converting"
    command = [
        sys.executable,
        "-m",
        "sotto.cli",
        "convert",
        HOUSE / "house.gguf",
        "--to",
        "ctranslate2",
        folder,
    ]
    with subprocess.Popen(command) as process:
        end = time.monotonic() + 120
        while not list(work.glob("source/*")) and time.monotonic() < end:
            time.sleep(0.01)
        assert converted(tiny, folder) == 1  # one at a time
        assert "another process is writing" in capsys.readouterr().err
        process.send_signal(signal.SIGKILL)
    assert work.is_dir() and not folder.exists()
    assert converted(tiny, folder) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["made"]
