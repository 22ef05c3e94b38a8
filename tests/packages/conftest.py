"""The packages under test: made once, by the command that a release uses.

Environment: SOTTO_PACKAGES_BUILD is a build folder of native/, SOTTO_PACKAGES_WHEEL a wheel,
SOTTO_PACKAGES_WINDOWS one for Windows, SOTTO_PACKAGES_GODOT one of samples/godot (empty: no Godot),
SOTTO_GODOT the folder of Godot's programs, SOTTO_ZIG zig's binary, SOTTO_WINE Wine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "native" / "packaging"
GODOT = os.environ.get("SOTTO_PACKAGES_GODOT", "")
SUMMARY = pytest.StashKey[list[str]]()  # lines for the end of the run
sys.path.insert(0, str(PACKAGING))
# The tools of other tests; behind packaging, which has a module `godot` too: theirs is `tests.godot`.
sys.path += [str(ROOT), str(ROOT / "tests")]

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


def build_load(libraries: Path, folder: Path) -> Path:
    """Compiles load.c on packaged libraries. Returns the program."""
    flags = [f"-I{ROOT / 'include'}", f"-L{libraries}", "-lsotto", f"-Wl,-rpath,{libraries}"]
    run(["cc", ROOT / "tests/packages/load.c", *flags, "-o", folder / "load"], folder)
    return folder / "load"


def check_image_modules(libraries: Path, folder: Path) -> None:
    """Checks that a C program on packaged libraries finds the modules of images, and the matting model."""
    program, broken = build_load(libraries, folder), folder / "broken.safetensors"
    broken.write_bytes(b"not a model")
    none = {"SOTTO_ONNXRUNTIME": "/none/libonnxruntime.so"}
    said = run([program, "sotto/matting"], folder, **none)  # sotto_onnx opens it, and needs the library
    assert "ONNX Runtime was not found" in said and "'/none/libonnxruntime.so'" in said, said
    said = run([program, "painter", broken], folder)
    assert "no backend" not in said and "broken.safetensors" in said, said


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
    return [*options, "--partial", "--modules", "sotto_llama-*,sotto_onnx.*,sotto_diffusion-*"]


class Making:
    """A run of the command in the background."""

    def __init__(self, place: Path, options: Sequence[str | Path], cwd: Path) -> None:
        self._place = place
        self._process = subprocess.Popen(
            command(place, *options), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finished(self) -> Packages:
        """Waits for the end of the command, which must succeed."""
        printed, errors = self._process.communicate(timeout=240)
        assert self._process.returncode == 0, errors
        return Packages(self._place, printed)

    def stop(self) -> None:
        """Kills the command if it still runs."""
        with self._process:
            self._process.kill()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Orders the tests so that both processors have work."""
    items.sort(key=rank)


def rank(item: pytest.Item) -> int:
    """Order: no packages needed, starts work in the background, neither, waits for such work."""
    names = set(getattr(item, "fixturenames", ()))
    if "packages" not in names:
        return 0
    if names & {"second", "results"}:
        return 3
    return 1 if "commands" in names else 2


@pytest.fixture(scope="session", autouse=True)
def first(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Making | None]:
    """The first run of the command: starts with the first test if any test needs packages."""
    if not any("packages" in getattr(item, "fixturenames", ()) for item in request.session.items):
        yield None
        return
    options = request.getfixturevalue("build_options")
    making = Making(tmp_path_factory.mktemp("first") / "dist", options, Path("/"))
    yield making
    making.stop()


@pytest.fixture(scope="session")
def runs(
    first: Making, build_options: list[str | Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Packages, Making]]:
    """The packages of the first run; the second run, in other folders, which goes on beside the tests."""
    made = first.finished()
    place = tmp_path_factory.mktemp("other name") / "deeper" / "dist"
    second = Making(place, build_options, tmp_path_factory.getbasetemp())
    yield made, second
    second.stop()


@pytest.fixture(scope="session")
def packages(runs: tuple[Packages, Making], pytestconfig: pytest.Config) -> Packages:
    """The packages of the first run."""
    files = sorted(runs[0].folder.iterdir(), key=lambda path: -path.stat().st_size)
    total = sum(path.stat().st_size for path in files) / 2**20
    pytestconfig.stash[SUMMARY] = [f"packages: {len(files)} files, {total:.1f} MB, twice the same bytes"]
    return runs[0]


@pytest.fixture(scope="session")
def second(runs: tuple[Packages, Making]) -> Packages:
    """The packages of the second run."""
    return runs[1].finished()


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
