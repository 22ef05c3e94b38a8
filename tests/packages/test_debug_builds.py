"""The core built with -g1, as a release is: symbols with line numbers, for gdb and for Windows' debuggers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from debug_info import RSDS

from conftest import Packages, command, run, unpack

pytestmark = pytest.mark.skipif(
    not os.environ.get("SOTTO_PACKAGES_DEBUG_LINUX"),
    reason="needs builds with debug information: check.py --full",
)
LINUX, WINDOWS = (os.environ.get(f"SOTTO_PACKAGES_DEBUG_{name}", "") for name in ("LINUX", "WINDOWS"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    place = tmp_path_factory.mktemp("debug") / "dist"
    options = ["--linux", LINUX, "--windows", WINDOWS, "--partial", "--only", "sdk,symbols"]
    done = subprocess.run(command(place, *options), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return Packages(place, done.stdout)


def test_elf_symbols_have_the_lines_of_the_source(made: Packages, tmp_path: Path) -> None:
    symbols = unpack(made.file("sotto-symbols-*-linux-*"), tmp_path / "symbols")
    sdk = unpack(made.file("sotto-sdk-*-linux-*"), tmp_path / "sdk")
    (library,) = sdk.rglob("libsotto.so")
    (debug,) = symbols.rglob("*.debug")
    assert re.search(r"^libsotto\.so\t\S+\.debug\tlines$", next(symbols.rglob("INDEX.tsv")).read_text(), re.M)
    listed = run(["nm", "--defined-only", "--demangle", debug], tmp_path)
    found = re.search(r"^(\w+) [tT] (sotto::Engine::[^\n]*)$", listed, re.M)
    assert found
    shutil.copy(debug, library.parent)
    said = run(["addr2line", "-f", "-C", "-e", library, f"0x{found[1]}"], tmp_path).splitlines()
    assert said[0] == found[2]
    assert re.search(r"(^|/)native/core/\w+\.cpp:[1-9]\d*", said[1]), said


def test_elf_library_is_smaller_than_its_build(made: Packages, tmp_path: Path) -> None:
    (library,) = unpack(made.file("sotto-sdk-*-linux-*"), tmp_path / "sdk").rglob("libsotto.so")
    assert library.stat().st_size < (Path(LINUX) / "out" / "libsotto.so").stat().st_size / 2


def test_pdb_file_lies_under_the_guid_of_its_dll(made: Packages, tmp_path: Path) -> None:
    (dll,) = unpack(made.file("sotto-sdk-*-windows-*"), tmp_path / "sdk").rglob("sotto.dll")
    symbols = unpack(made.file("sotto-symbols-*-windows-*"), tmp_path / "symbols")
    (pdb,) = symbols.rglob("sotto.pdb/*/sotto.pdb")
    found = RSDS.search(dll.read_bytes())
    assert found and found[3] == b"sotto.pdb"  # without the folder of this machine
    guid = found[1]
    mixed = guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]
    assert pdb.parent.name == f"{mixed.hex().upper()}1"
    assert b"sotto_engine_create" in pdb.read_bytes()
