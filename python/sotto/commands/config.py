"""`sotto config`: prints what a C or C++ build needs to use the installed library."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from .._lib import library_folder
from ..errors import ArgumentError, SottoError, Status
from . import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto config` to `parser`."""
    for option, what in (
        ("--cflags", "compiler flags: cc game.c $(sotto config --cflags --libs) -o game"),
        ("--libs", "linker flags, with the library's folder as rpath"),
        ("--cmake-dir", "folder for find_package: cmake -Dsotto_DIR=$(sotto config --cmake-dir) ..."),
        ("--pkg-config-dir", "folder of sotto.pc, for PKG_CONFIG_PATH"),
        ("--runtime-dir", "folder of the library, the modules and the house model: what a game ships"),
    ):
        parser.add_argument(option, action="store_true", help=what)


def run(arguments: argparse.Namespace) -> int:
    """Prints the requested values on one line. Returns 0."""
    folder = library_folder()
    if not any(vars(arguments)[name] for name in _VALUES):
        names = ", ".join("--" + name.replace("_", "-") for name in _VALUES)
        raise ArgumentError(f"missing option: expected one or more of {names}")
    screen.say(" ".join(value(folder) for name, value in _VALUES.items() if vars(arguments)[name]))
    return 0


def _needed(path: Path) -> Path:
    if not path.exists():
        raise SottoError(
            f"{path} does not exist: install the package, or unset SOTTO_LIBRARY",
            Status.NOT_FOUND,
        )
    return path


def _cflags(folder: Path) -> str:
    return shlex.quote(f"-I{_needed(folder / 'include')}")


def _libs(folder: Path) -> str:
    flags = [f"-L{folder}", "-lsotto"]
    if sys.platform != "win32":
        flags.append(f"-Wl,-rpath,{folder}")
    return shlex.join(flags)


_VALUES: dict[str, Callable[[Path], str]] = {
    "cflags": _cflags,
    "libs": _libs,
    "cmake_dir": lambda folder: str(_needed(folder / "cmake" / "sotto")),
    "pkg_config_dir": lambda folder: str(_needed(folder / "pkgconfig")),
    "runtime_dir": str,
}
