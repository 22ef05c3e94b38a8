"""Builds llama-bench twice: with llama.cpp built as our module builds it, and as its users get it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / "tests" / "bench" / "peer"
BUILD = ROOT / "build" / "bench"


def peers(*, stock: bool) -> dict[str, Path]:
    """The llama-bench of each peer, built where it is not up to date: "same", and "stock" if wanted."""
    same = BUILD / "same"
    build(PEER, same)
    found = {"same": same / "llama-bench"}
    if stock:
        source = Path((same / "llama_cpp_dir.txt").read_text())
        build(source, BUILD / "stock", f"-DCMAKE_PROJECT_ggml_INCLUDE={PEER / 'no_amx.cmake'}")
        found["stock"] = BUILD / "stock" / "bin" / "llama-bench"
    return found


def build(source: Path, folder: Path, *options: str) -> None:
    """Configures and builds. What the tools print is shown where one fails."""
    configure = ["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options]
    jobs = str(os.cpu_count() or 2)
    for command in (configure, ["cmake", "--build", folder, "--target", "llama-bench", "-j", jobs]):
        done = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"{done.stdout}\ncannot build llama-bench in {folder}")
