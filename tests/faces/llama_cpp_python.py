"""Installs llama-cpp-python of the pinned source distribution, built as pip builds it, into the user's cache.

Its llama.cpp is the one that Sotto's module is built from. As a command, it prints the path of its Python.
"""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "bench"), str(TESTS / "server")]

import peers  # noqa: E402  # needs the path above
import stock  # noqa: E402  # needs the path above


def python() -> Path:
    """Returns a Python that has llama-cpp-python. Builds it if it is not up to date."""
    unpacked = peers.source().parents[1]
    archive = unpacked.with_name(f"{unpacked.name}.tar.gz")
    folder = stock.cache() / "llama-cpp-python" / unpacked.name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        peers.as_users_get_it("llama", folder / "llama.cpp")
        found = folder / "venv" / "bin" / "python"
        libraries = found.parents[1] / "libraries.txt"
        if not libraries.exists():
            install(found, archive, folder / "llama.cpp" / "bin")
            libraries.touch()
    return found


def install(python: Path, archive: Path, libraries: Path) -> None:
    """Makes an environment with the package, whose libraries are those of a build of llama.cpp."""
    peers.show_only_failure([sys.executable, "-m", "venv", "--clear", python.parents[1]], "an environment")
    pip = ["env", "CMAKE_ARGS=-DLLAMA_BUILD=OFF", python, "-m", "pip", "install", "-q", archive]
    peers.show_only_failure(pip, "llama-cpp-python")
    package = next(python.parents[1].glob("lib/python*/site-packages/llama_cpp"))
    (package / "lib").symlink_to(libraries, target_is_directory=True)


if __name__ == "__main__":
    print(python())
