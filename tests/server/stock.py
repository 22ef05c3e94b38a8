"""Builds llama-server from the pinned source of llama.cpp, into the cache of the user.

The build has no OpenMP, no TLS and no page; instructions are those of this processor. As a command, it prints
the path of the program.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import peers

OPTIONS = (
    f"-DCMAKE_PROJECT_ggml_INCLUDE={peers.PEER / 'no_amx.cmake'}",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_OPENMP=OFF",
    "-DGGML_NATIVE=ON",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
)


def cache() -> Path:
    """Returns the cache folder of the user, as native/cmake/PipSource.cmake finds it."""
    if told := os.environ.get("SOTTO_CACHE"):
        return Path(told)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sotto"


def llama_server() -> Path:
    """Returns the program, and builds it if it is not up to date. Processes that build take turns."""
    source = peers.source()
    folder = cache() / "llama-server" / source.parents[1].name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        peers.build(source, folder, "llama-server", *OPTIONS)
    return folder / "bin" / "llama-server"


def built() -> Path | None:
    """Returns the program if it has been built before; None otherwise."""
    found = sorted((cache() / "llama-server").glob("*/bin/llama-server"))
    return found[-1] if found else None


if __name__ == "__main__":
    print(llama_server())
