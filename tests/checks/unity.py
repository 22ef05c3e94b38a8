"""The Unity package's errors where the native library is unusable, and its editor code on stand-ins."""

from __future__ import annotations

import shutil
from pathlib import Path

from .ground import BUILD, ROOT, Failed, last_line, run

OUT = BUILD / "release" / "out"
FOLDER = BUILD / "unity"
NEEDS = ("g++", "mono", "mcs", "npm")  # of ground.SYSTEM; `npm` fetches the compiler, see tests/dotnet
OTHER = (
    '#include <sotto/base.h>\nextern "C" sotto_str SOTTO_CALL sotto_version(void) { return {"9.9.9", 5}; }\n'
)
ELF_MACHINE = 18  # offset in the header
AARCH64 = b"\xb7\x00"


def check_unity() -> str:
    """An unusable library gives a reason; inspectors, windows, importer and build step work."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    cases = library_errors(suite())
    return f"{cases} unusable libraries explained; editor {editor_suite()}"


def suite() -> Path:
    """The program of tests/csharp/suite, for Mono."""
    from csharp.sources import doubles_sources, runtime_sources

    own = (ROOT / "tests/csharp/suite").glob("*.cs")
    return build("Suite.exe", [*sorted(own), *doubles_sources(), *runtime_sources()])


def editor_suite() -> str:
    """Runs the editor's suite under Mono. Returns how many checks passed."""
    from csharp.sources import doubles_sources, runtime_sources

    own = [ROOT / "tests/csharp/suite/editor", ROOT / "unity/Editor", ROOT / "unity/Samples~"]
    files = [path for folder in own for path in sorted(folder.rglob("*.cs"))]
    files += [*doubles_sources(editor=True), *runtime_sources()]
    program = build("EditorSuite.exe", files, "UNITY_EDITOR")
    return last_line(run(["mono", program, OUT], env=environment(OUT), timeout=120))


def build(name: str, files: list[Path], *defines: str) -> Path:
    """Compiles a program with the defines of Unity 2021.3."""
    from csharp.sources import VERSIONS
    from dotnet.toolchain import compile_cs

    out = FOLDER / name
    compile_cs(out, files, defines=[*VERSIONS, *defines])
    return out


def library_errors(program: Path) -> int:
    """Runs a program where the library is missing, damaged, or another's; each failure names the way out."""
    folders = {
        name: FOLDER / name for name in ("missing", "version", "entry", "processor", "damaged", "usable")
    }
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    compile_library(folders["version"], OTHER)
    compile_library(folders["entry"], 'extern "C" void other(void) {}\n')
    image = bytearray((OUT / "libsotto.so").read_bytes())
    (folders["damaged"] / "libsotto.so").write_text("a page that says 404\n")
    image[ELF_MACHINE : ELF_MACHINE + 2] = AARCH64
    (folders["processor"] / "libsotto.so").write_bytes(image)
    (folders["usable"] / "libsotto.so").symlink_to(OUT / "libsotto.so")
    wanted = {
        "missing": "-7 library 'sotto' could not be loaded",
        "version": "-2 library 'sotto' has version '9.9.9': expected 0.1.x",
        "entry": "-2 library 'sotto' lacks a function",
        "processor": "-7 library 'sotto' could not be loaded",
        "damaged": "-7 library 'sotto' could not be loaded",
        "usable": "0 ",
    }
    for name, folder in folders.items():
        printed = run(["mono", program, "--library"], env=environment(folder), timeout=60)
        first = printed.splitlines()[0]
        reason = first.partition(" ")[2]
        if not first.startswith(wanted[name]) or f"runtime: {reason}" not in printed:
            raise Failed(f"{name}: expected '{wanted[name]}', got:\n{printed}")
    return len(wanted) - 1


def compile_library(folder: Path, source: str) -> None:
    """Compiles a library of the right name that is none of ours."""
    path = folder / "other.cpp"
    path.write_text(source)
    run(["c++", "-shared", "-fPIC", f"-I{ROOT / 'include'}", path, "-o", folder / "libsotto.so"])


def environment(libraries: Path) -> dict[str, str]:
    """What a program needs to find the library there and nowhere else."""
    return {"LD_LIBRARY_PATH": str(libraries), "LC_ALL": "C.UTF-8"}
