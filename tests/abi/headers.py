"""Compiles each public header alone, and all of them together, in every C and C++ standard.

`-Wpadded` is part of it: a hole in a struct would be a field that nobody named. layout.g.c, which
holds what bindgen made of the headers, has to compile too, and cffi has to agree with it. And bindgen's
reader is held to its rules.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cdef_test
import reader_test

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
STANDARDS = {
    "header.c": ["c99", "c11", "c17", "c2x"],
    "header.cpp": ["c++98", "c++11", "c++17", "c++20", "c++23"],
}
COMPILERS = {"gcc": "g++", "clang": "clang++"}

Command = tuple[list[str], str]  # arguments, what stands on stdin


def commands(headers: list[str]) -> list[Command]:
    listed: list[Command] = []
    for c, cpp in COMPILERS.items():
        if not (shutil.which(c) and shutil.which(cpp)):
            continue
        for source, standards in STANDARDS.items():
            compiler = [c] if source.endswith(".c") else [cpp, "-Wno-long-long"]
            for standard in standards:
                for only in ["", *(f"-DALONE=<sotto/{header}>" for header in headers)]:
                    flags = [f"-std={standard}", *FLAGS, *([only] if only else [])]
                    listed.append(([*compiler, *flags, str(HERE / source)], ""))
        listed.append(([c, "-std=c11", *FLAGS, str(HERE / "layout.g.c")], ""))
    return listed


def refused() -> list[Command]:
    """What must not compile: else the flags above, or the asserts, check nothing."""
    padded = "#include <sotto/base.h>\nstruct p { uint32_t struct_size; uint64_t more; };"
    wrong = '#include <sotto/base.h>\n_Static_assert(sizeof(sotto_str) == 8, "");'
    return [(["gcc", "-std=c11", *FLAGS, "-x", "c", "-"], source) for source in (padded, wrong)]


def complaint(command: Command) -> str:
    """What the compiler said, or nothing where it was content."""
    arguments, source = command
    run = subprocess.run(arguments, input=source, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


def main() -> int:
    headers = sorted(path.name for path in (INCLUDE / "sotto").glob("*.h"))
    with ThreadPoolExecutor() as pool:
        listed = commands(headers)
        problems = (
            reader_test.problems()
            + cdef_test.problems()
            + [text for text in pool.map(complaint, listed) if text]
        )
        problems += [f"compiled: {command[1]}" for command in refused() if not complaint(command)]
    print("\n".join(problems) or f"headers: {len(headers)} headers, {len(listed)} compilations, no padding")
    return bool(problems) or not listed


if __name__ == "__main__":
    sys.exit(main())
