"""Builds what we are measured against: llama.cpp built as our module builds it, and as its users get it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / "tests" / "bench" / "peer"
BUILD = ROOT / "build" / "bench"


def peers(*, stock: bool, cuda: bool = False) -> dict[str, Path]:
    """The llama-bench of each peer, built where it is not up to date: "same", and "stock" if wanted."""
    found = {"same": same_on_cuda("llama-bench") if cuda else same("llama-bench")}
    if stock:
        found["stock"] = as_users_get_it("llama-bench")
    return found


def same(tool: str) -> Path:
    """A tool of llama.cpp with the flags and the parts that our module has."""
    build(PEER, BUILD / "same", tool)
    return BUILD / "same" / tool


def same_on_cuda(tool: str) -> Path:
    """The same, with the parts that our module for CUDA has. It is compiled for the card that is here."""
    build(PEER, BUILD / "cuda", tool, "-DSOTTO_CUDA=ON", "-DSOTTO_CUDA_ARCHITECTURES=native")
    return BUILD / "cuda" / tool


def as_users_get_it(tool: str, stock: Path = BUILD / "stock") -> Path:
    """A tool of llama.cpp with every default of its own build."""
    no_amx = f"-DCMAKE_PROJECT_ggml_INCLUDE={PEER / 'no_amx.cmake'}"
    build(source(), stock, tool, no_amx, "-DLLAMA_USE_PREBUILT_UI=OFF")  # which it would download
    return stock / "bin" / tool


def in_process() -> Path:
    """The game with a plain loop of libllama's in its process, on llama.cpp as users get it."""
    stock = as_users_get_it("llama").parent.parent
    target = "sotto_peer_in_process"
    build(PEER / "in_process", BUILD / target, target, f"-DLLAMA_BUILD={stock}", f"-DLLAMA_SOURCE={source()}")
    return BUILD / target / target


def ctranslate2_python() -> Path:
    """A Python that has CTranslate2."""
    return environment("ctranslate2", "ctranslate2==4.8.5", "numpy==2.4.6")


def stable_diffusion_python() -> Path:
    """A Python that has stable-diffusion-cpp-python, which pip builds with every default of its own."""
    return environment("stable_diffusion", "stable-diffusion-cpp-python==0.4.7")


def environment(name: str, *packages: str) -> Path:
    """The Python of a virtual environment that has some packages."""
    python = BUILD / name / "bin" / "python"
    if not python.exists():
        show_only_failure([sys.executable, "-m", "venv", python.parent.parent], "a virtual environment")
    show_only_failure([python, "-m", "pip", "install", "-q", *packages], f"the environment {name}")
    return python


def source() -> Path:
    """Where llama.cpp is."""
    told = BUILD / "same" / "llama_cpp_dir.txt"
    if not told.exists():
        configure(PEER, BUILD / "same")
    return Path(told.read_text())


def build(where: Path, folder: Path, target: str, *options: str) -> None:
    """Configures and builds."""
    configure(where, folder, *options)
    show_only_failure(
        ["cmake", "--build", folder, "--target", target, "-j", str(os.cpu_count() or 2)], target
    )


def configure(where: Path, folder: Path, *options: str) -> None:
    """Unless that was done with the same options; the build itself sees what changed in its files."""
    command = ["cmake", "-S", where, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options]
    done, words = folder / "configured_with.txt", "\n".join(str(word) for word in command)
    if not done.exists() or done.read_text() != words:
        show_only_failure(command, str(folder))
        done.write_text(words)


def show_only_failure(command: Sequence[object], what: str) -> None:
    """Runs a tool. What it prints is shown where it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ncannot build {what}")
