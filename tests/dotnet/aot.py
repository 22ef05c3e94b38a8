"""Runs programs ahead-of-time compiled, on Mono without its JIT: the nearest thing to IL2CPP here."""

from __future__ import annotations

import shutil
from pathlib import Path

from checks.ground import run

from .fetch import FOLDER, locked
from .toolchain import MONO, is_current, note_sources

CLASS_LIBRARY = (
    "mscorlib",
    "System",
    "System.Core",
    "System.Configuration",
    "System.Xml",
    "System.Security",
    "System.Numerics",
    "Mono.Security",
)
# Mono cannot create trampolines at run time without a JIT compiler: their number is fixed here.
TRAMPOLINES = "ntrampolines=8192,nrgctx-trampolines=8192,nimt-trampolines=2048"
AOT = FOLDER / "aot"


def run_full_aot(
    program: Path, *args: str | Path, env: dict[str, str] | None = None, timeout: float = 120
) -> str:
    """Compiles a Mono program to machine code and runs it with `--full-aot`. Returns its output.

    The class library is compiled once (20 s) and kept in `build/check/dotnet/aot`. Needs `as` and `ld`.

    Raises:
        Failed: It does not compile, or its exit status is not 0.
    """
    library = class_library()
    compile_image(program, library)
    paths = {"MONO_PATH": str(library)}
    return run(["mono", "--full-aot", program, *args], env={**paths, **(env or {})}, timeout=timeout)


def class_library() -> Path:
    """A folder with the class library's assemblies and their images."""
    with locked():
        AOT.mkdir(parents=True, exist_ok=True)
        for name in CLASS_LIBRARY:
            source, copy = MONO / f"{name}.dll", AOT / f"{name}.dll"
            if not is_current(copy, [source]):
                shutil.copyfile(source, copy)
        for name in CLASS_LIBRARY:
            copy = AOT / f"{name}.dll"
            if not is_current(copy, [copy]):
                compile_image(copy, AOT)
                note_sources(copy, [copy])
    return AOT


def compile_image(assembly: Path, library: Path) -> None:
    """Writes the machine code of an assembly beside it."""
    image = assembly.with_name(assembly.name + ".so")
    options = f"--aot=full,{TRAMPOLINES},outfile={image}"
    run(["mono", options, assembly], env={"MONO_PATH": str(library)}, timeout=300)
