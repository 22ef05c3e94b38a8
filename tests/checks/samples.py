"""The sample step: samples in C that need no graphics card."""

from __future__ import annotations

from pathlib import Path

from .cross import both_speak
from .ground import BUILD, Failed, run

OUT = BUILD / "release" / "out"


def check_sample() -> str:
    """The C samples build with the public headers alone, and their characters speak."""
    answers = run([compile_sample("backend")], timeout=120)
    if "three copper" not in answers or "Ask me about the inn." not in answers:
        raise Failed(answers)
    spoken = both_speak(run([compile_sample("frame_loop"), OUT / "house.gguf"], timeout=120))
    return f"{spoken}; a backend in C answers"


def compile_sample(name: str) -> Path:
    """Compiles a C sample as its first lines say. Returns the program."""
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude"]
    linked = [f"-L{OUT}", "-lsotto", f"-Wl,-rpath,{OUT}"]
    run(["cc", *flags, f"samples/c/{name}.c", *linked, "-o", BUILD / name])
    return BUILD / name
