"""The packages under test: made once, by the command that a release uses.

Environment: SOTTO_PACKAGES_BUILD is a build folder of native/, SOTTO_PACKAGES_WHEEL a wheel,
SOTTO_PACKAGES_WINDOWS one for Windows, SOTTO_PACKAGES_GODOT one of samples/godot (empty: no Godot),
SOTTO_ZIG zig's binary, SOTTO_WINE Wine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "native" / "packaging"
GODOT = os.environ.get("SOTTO_PACKAGES_GODOT", "")
SUMMARY = pytest.StashKey[list[str]]()  # lines for the end of the run
sys.path.insert(0, str(PACKAGING))

from release import version  # noqa: E402

VERSION = version()


@dataclass(frozen=True)
class Packages:
    """A finished run of the command."""

    folder: Path
    printed: str

    def file(self, pattern: str) -> Path:
        """The one package that a pattern matches."""
        (found,) = self.folder.glob(pattern)
        return found

    def names(self, pattern: str) -> list[str]:
        """The names of the files in an archive."""
        path = self.file(pattern)
        if path.suffix == ".zip":
            return zipfile.ZipFile(path).namelist()
        with tarfile.open(path) as archive:
            return archive.getnames()


def unpack(package: Path, folder: Path) -> Path:
    """Unpacks a package in an empty folder."""
    folder.mkdir(parents=True)
    if package.suffix == ".zip":
        zipfile.ZipFile(package).extractall(folder)
    else:
        with tarfile.open(package) as archive:
            archive.extractall(folder, filter="data") if hasattr(
                tarfile, "data_filter"
            ) else archive.extractall(folder)
    return folder


def run(
    command: Sequence[str | Path], cwd: Path, timeout: float = 120, errors: bool = False, **env: str
) -> str:
    """Runs a command that must succeed; returns what it printed, with `errors` on stderr too."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + (done.stderr if errors else "")


def command(out: Path, *options: str | Path) -> list[str]:
    """The words of the packaging command."""
    words = [sys.executable, PACKAGING, "--out", out, *options]
    return [str(word) for word in words]


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder that is packaged."""
    return Path(os.environ["SOTTO_PACKAGES_BUILD"])


@pytest.fixture(scope="session")
def build_options(build: Path) -> list[str | Path]:
    """The options that name the builds. The check's build has the tier `native`, hence --partial."""
    windows = os.environ["SOTTO_PACKAGES_WINDOWS"]
    options = ["--linux", build, "--windows", windows, "--wheel", os.environ["SOTTO_PACKAGES_WHEEL"]]
    if GODOT:
        options += ["--godot", GODOT]
    return [*options, "--partial", "--modules", "sotto_llama-*"]


@pytest.fixture(scope="session")
def runs(
    build_options: list[str | Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Packages, Packages]:
    """Two runs of the command, at once, in folders of different names, from different current folders."""
    places = [
        tmp_path_factory.mktemp("first") / "dist",
        tmp_path_factory.mktemp("other name") / "deeper" / "dist",
    ]
    running = [
        subprocess.Popen(
            command(place, *build_options),
            cwd=place.parents[len(place.parents) - 1 - number],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, place in enumerate(places)
    ]
    made = []
    for process, place in zip(running, places, strict=True):
        try:
            printed, errors = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == 0, errors
        made.append(Packages(place, printed))
    return made[0], made[1]


@pytest.fixture(scope="session")
def packages(runs: tuple[Packages, Packages], pytestconfig: pytest.Config) -> Packages:
    """The packages of the first run."""
    files = sorted(runs[0].folder.iterdir(), key=lambda path: -path.stat().st_size)
    total = sum(path.stat().st_size for path in files) / 2**20
    pytestconfig.stash[SUMMARY] = [f"packages: {len(files)} files, {total:.1f} MB, twice the same bytes"]
    return runs[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints what was made."""
    for line in config.stash.get(SUMMARY, []):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def unpacked(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks a package, named by a pattern, once."""
    done: dict[str, Path] = {}

    def once(pattern: str) -> Path:
        if "godot" in pattern and not GODOT:
            pytest.skip("no Godot, so no header to build the addon with")
        if pattern not in done:
            done[pattern] = unpack(packages.file(pattern), tmp_path_factory.mktemp("empty") / "unpacked")
        return done[pattern]

    return once
