"""`_lib`: which library is opened, and what is said when there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import sotto
from conftest import ENVIRONMENT, PACKAGE
from sotto import _cdef
from sotto._lib import ffi, lib, library_folder


def _import_with(library: Path | str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import sotto"],
        env={**ENVIRONMENT, "SOTTO_LIBRARY": str(library)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_library_and_package_are_of_one_version() -> None:
    assert sotto.__version__ == _cdef.VERSION
    version = lib.sotto_version()
    assert bytes(ffi.buffer(version.data, version.size)).decode() == sotto.__version__


def test_library_folder_holds_the_house_model() -> None:
    assert (library_folder() / "house.gguf").is_file()


def test_missing_library_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "nothing.so"
    assert "ImportError" in (said := _import_with(missing)) and str(missing) in said


def test_other_library_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "text.so"
    other.write_text("no library")
    assert str(other) in _import_with(other)


def test_library_of_another_version_is_refused(tmp_path: Path) -> None:
    source, other = tmp_path / "other.c", tmp_path / "libother.so"
    source.write_text(
        "#include <stddef.h>\nstruct s { const char* d; size_t n; };\n"
        'struct s sotto_version(void) { struct s v = {"9.9.9", 5}; return v; }\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(other), str(source)], check=True)
    said = _import_with(other)
    assert "9.9.9" in said and sotto.__version__ in said


def test_package_without_library_says_where_it_looked(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "sotto", ignore=shutil.ignore_patterns("_bin"))
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "SOTTO_LIBRARY"}
    done = subprocess.run(
        [sys.executable, "-c", "import sotto"],
        env={**environment, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert str(tmp_path / "sotto" / "_bin") in done.stderr and "SOTTO_LIBRARY" in done.stderr
