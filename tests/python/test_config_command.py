"""`sotto config`: what a C build needs of the installed library."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sotto.cli import main
from sotto.commands import config


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library's folder, with a space in its name."""
    made = tmp_path / "a folder"
    for name in ("include/sotto", "cmake/sotto", "pkgconfig"):
        (made / name).mkdir(parents=True)
    monkeypatch.setattr(config, "library_folder", lambda: made)
    return made


def told(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["config", *options]) == 0
    return capsys.readouterr().out.rstrip("\n")


def test_flags_are_one_line_that_a_shell_splits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = shlex.split(told(capsys, "--cflags", "--libs"))
    assert flags == [f"-I{folder}/include", f"-L{folder}", "-lsotto", f"-Wl,-rpath,{folder}"]


def test_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "--cmake-dir") == str(folder / "cmake" / "sotto")
    assert told(capsys, "--pkg-config-dir") == str(folder / "pkgconfig")
    assert told(capsys, "--runtime-dir") == str(folder)


def test_a_library_that_is_not_installed_has_no_headers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "include" / "sotto").rmdir()
    (folder / "include").rmdir()
    assert main(["config", "--cflags"]) == 1
    assert "include does not exist: install the package, or unset SOTTO_LIBRARY" in capsys.readouterr().err


def test_nothing_requested_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 2
    assert "expected one or more of --cflags, --libs, --cmake-dir" in capsys.readouterr().err
