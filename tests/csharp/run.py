"""Compiles the Unity package outside Unity, and runs its C# suites on three runtimes.

    run.py LIBRARIES [compile] [suites] [lifetimes] [package] [sentences] [exchange] [sample]

LIBRARIES is a build's `out` folder: libsotto, its modules, the house model, and in `scripted/` the scripted
backend. Runtimes: Mono with its JIT compiler, Mono without (full AOT, as IL2CPP), CoreCLR 8.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checks.ground import PYTHON, ROOT, Failed, run
from csharp.sentences import compare
from csharp.snippets import UNUSED, write_snippets
from csharp.sources import (
    OBSOLETE_ON_CORE,
    TARGETS,
    VERSIONS,
    compile_package,
    doubles_sources,
    runtime_sources,
)
from dotnet.aot import run_full_aot
from dotnet.toolchain import NUNIT, Runtime, compile_cs, compile_source, nunit, run_core, run_mono

HERE = Path(__file__).resolve().parent
SHARED = ("Process.cs",)
PARTS = ("Sessions.cs", "Budget.cs", "Adapters.cs", "Slots.cs", "Data.cs", "Gpu.cs", "Hooks.cs")
MEMORY = ("Index.cs", "Store.cs", "Guard.cs", "Blocking.cs", "Memory.cs", "Saves.cs")
PROGRAM = ("Program.cs", *PARTS, *MEMORY, *SHARED)
DOMAINS = ("Domains.cs",)  # Mono's JIT runs more than one domain; no other runtime here does
RUNTIMES: dict[str, tuple[Runtime, Callable[..., str]]] = {
    "Mono": ("mono", run_mono),
    "Mono full AOT": ("mono", run_full_aot),
    "CoreCLR 8": ("core", run_core),
}


def environment(libraries: Path) -> dict[str, str]:
    """Environment variables with which a program finds the library."""
    return {"LD_LIBRARY_PATH": str(libraries), "LC_ALL": "C.UTF-8"}


def layout() -> str:
    """The layouts of layout.json, a line each: `struct size`, then `struct offset field`."""
    structs = json.loads((ROOT / "tests/abi/layout.json").read_text())["structs"]
    lines = []
    for name, struct in structs.items():
        lines.append(f"{name} {struct['size']}")
        lines += [f"{name} {offset} {field}" for field, _, offset in struct["fields"]]
    return "\n".join(lines)


def program(folder: Path, runtime: Runtime) -> Path:
    """The suite of the engine's class, without Unity."""
    mono = runtime == "mono"
    out = folder / ("Program.exe" if mono else "Program.dll")
    names = [*PROGRAM, *(DOMAINS if mono else ())]
    defines, options = (["DOMAINS"], []) if mono else ([], [OBSOLETE_ON_CORE])
    sources = [*(HERE / name for name in names), *runtime_sources(components=False)]
    compile_cs(out, sources, defines=defines, runtime=runtime, options=options)
    return out


def suite(folder: Path, runtime: Runtime) -> Path:
    """The suite of components and builders, on the stand-ins."""
    out = folder / ("Suite.exe" if runtime == "mono" else "Suite.dll")
    sources = [*sorted((HERE / "suite").glob("*.cs")), *doubles_sources(), *runtime_sources()]
    options = [OBSOLETE_ON_CORE] if runtime == "core" else []
    compile_cs(out, sources, defines=VERSIONS, runtime=runtime, options=options)
    return out


def counted(printed: str) -> int:
    """How many checks passed, by a suite's last line; at least one, and none failed."""
    counts = re.search(r"^(\d+) passed, 0 failed$", printed, re.M)
    if counts is None or counts[1] == "0":
        raise Failed(printed)
    return int(counts[1])


def run_suites(folder: Path, libraries: Path) -> dict[str, int]:
    """Runs both suites on each runtime. Returns how many checks passed on each."""
    lines = folder / "layout.txt"
    lines.write_text(layout())
    env = environment(libraries)
    passed = {}
    made = {}
    for runtime in ("mono", "core"):
        own = folder / runtime  # of its own: a new domain takes Program.dll for Program.exe
        own.mkdir()
        made[runtime] = program(own, runtime), suite(own, runtime)
    for name, (runtime, start) in RUNTIMES.items():
        first, second = made[runtime]
        has_jit = start is not run_full_aot
        if not has_jit:  # in a folder of its own, so that the run with a JIT compiler finds no machine code
            own = folder / "aot"
            own.mkdir(exist_ok=True)
            first, second = (Path(shutil.copy(one, own)) for one in (first, second))
        printed = start(first, lines, libraries, "jit" if has_jit else "aot", env=env, timeout=120)
        passed[name] = counted(printed) + counted(start(second, libraries, env=env, timeout=120))
    return passed


def run_lifetimes(folder: Path, libraries: Path) -> int:
    """Checks that forgotten engines end, in the editor and in a player. Returns how many checks passed."""
    passed = 0
    for target in ("editor", "standalone"):
        out = folder / f"Lifetimes-{target}.exe"
        sources = [HERE / "Lifetimes.cs", HERE / "Process.cs"]
        sources += [*doubles_sources(editor=target == "editor"), *runtime_sources()]
        compile_cs(out, sources, defines=TARGETS[target])
        passed += counted(run_mono(out, libraries, env=environment(libraries), timeout=120))
    return passed


def run_exits(folder: Path, libraries: Path) -> int:
    """Ends Mono processes in which a thread waits for events: none hangs. Returns how many."""
    out, count = folder / "Exits.exe", 3
    compile_cs(out, [HERE / "Exits.cs", *runtime_sources(components=False)])
    for _ in range(count):
        run_mono(out, env=environment(libraries), timeout=20)
    return count


def compile_targets(folder: Path) -> int:
    """Compiles the package for each target, and the documentation's blocks. Returns how many blocks."""
    for target in TARGETS:
        made = compile_package(folder / target, target)
        if b"__Internal" in made["Sotto.Runtime"].read_bytes():
            raise Failed(f"{target}: the package names library '__Internal', which no player contains")
    made = compile_package(folder / "editor-core", "editor", "core")
    blocks = write_snippets(folder / "snippets")
    references = [made["Doubles"], made["Sotto.Runtime"]]
    options = [UNUSED, OBSOLETE_ON_CORE]
    out = folder / "Snippets.dll"
    how = {"defines": TARGETS["standalone"], "library": True, "runtime": "core", "options": options}
    compile_cs(out, blocks, references=references, **how)
    return len(blocks)


def run_package_tests(folder: Path, libraries: Path) -> int:
    """Runs the package's own tests with NUnit. Returns how many passed."""
    made = compile_package(folder / "tests", "editor", "core", tests=True)
    total = 0
    for name, assembly in made.items():
        if "Tests" not in name:
            continue
        passed, failed, names = nunit(assembly, [*made.values(), NUNIT], env=environment(libraries))
        if failed:
            raise Failed("\n".join(names))
        total += passed
    return total


REFUSED = {  # source -> the compiler's code
    "record struct Later(int X);": "CS8773",  # C# 10
    "class Unused { void Run() { int x; } }": "CS0168",  # a warning
}


def check_refusals(folder: Path) -> None:
    """Checks that a newer language and a warning fail a compilation: the gate is closed."""
    for source, code in REFUSED.items():
        try:
            compile_source(folder / "Refused.dll", source, library=True)
        except Failed as refused:
            if code in str(refused):
                continue
            raise
        raise Failed(f"the compiler accepts {source!r}: expected error {code}")


def compile_part(folder: Path, libraries: Path) -> str:
    """Compiles everything."""
    check_refusals(folder)
    return f"{len(TARGETS)} targets at C# 9, {compile_targets(folder)} blocks of the docs"


def suites_part(folder: Path, libraries: Path) -> str:
    """Runs the suites on each runtime."""
    return ", ".join(f"{name}: {count} passed" for name, count in run_suites(folder, libraries).items())


def lifetimes_part(folder: Path, libraries: Path) -> str:
    """Checks that forgotten engines end."""
    return f"lifetimes: {run_lifetimes(folder, libraries)} passed, {run_exits(folder, libraries)} exits"


def package_part(folder: Path, libraries: Path) -> str:
    """Runs the package's own tests."""
    return f"NUnit: {run_package_tests(folder, libraries)} passed"


def sentences_part(folder: Path, libraries: Path) -> str:
    """Checks that the package splits text into the sentences that the Unreal plugin finds."""
    return compare(suite(folder, "mono"), folder, environment(libraries))


def exchange_part(folder: Path, libraries: Path) -> str:
    """Checks that C# and Python remember the same."""
    out = folder / "Exchange.exe"
    compile_cs(out, [HERE / "Exchange.cs", *runtime_sources(components=False)])
    place = folder / "exchange"
    place.mkdir()
    env = {"SOTTO_LIBRARY": str(libraries / "libsotto.so"), "PYTHONPATH": str(ROOT / "python")}
    counted = run([PYTHON, HERE / "exchange.py", out, libraries, place], env=env).strip()
    return f"exchange: {counted} lines as in Python"


def sample_part(folder: Path, libraries: Path) -> str:
    """Runs the sample that paints portraits, twice: the second run takes those of the first's save game."""
    out, saves, model = folder / "Portraits.exe", folder / "saves", folder / "painter.json"
    compile_cs(out, [ROOT / "samples" / "csharp" / "Portraits.cs", *runtime_sources(components=False)])
    info = {"index": 0, "seed": 7, "width": 1, "height": 1, "format": "png"}
    image = b"the bytes of an image"
    script = {"response": {"data": []}, "tokens": [], "data": [image.hex()], "data_info": [info]}
    model.write_text(json.dumps(script))
    words = [model, saves, libraries / "scripted"]
    first = run_mono(out, *words, env=environment(libraries), timeout=60)
    painted = [path for path in sorted(saves.glob("*.png")) if path.read_bytes() == image]
    for path in painted:  # now only the save game has them
        path.unlink()
    second = run_mono(out, *words, env=environment(libraries), timeout=60)
    files = sorted(saves.iterdir())
    if len(painted) != 4 or files != sorted([*painted, saves / "slot1.sotto"]):
        raise Failed(f"expected 4 portraits and a save game that has them:\n{first}{second}{files}")
    if "earlier" in first or second.count("earlier") != 4:
        raise Failed(f"expected 4 portraits, painted once:\n{first}{second}")
    return f"{len(painted)} portraits"


PARTS = {
    "compile": compile_part,
    "suites": suites_part,
    "lifetimes": lifetimes_part,
    "package": package_part,
    "sentences": sentences_part,
    "exchange": exchange_part,
    "sample": sample_part,
}


def report(libraries: Path, parts: Sequence[str] = tuple(PARTS)) -> str:
    """Runs some parts. Returns one line of figures."""
    with tempfile.TemporaryDirectory() as name:
        return "; ".join(PARTS[part](Path(name), libraries) for part in parts)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(PARTS):
        sys.exit(__doc__)
    try:
        print(report(Path(sys.argv[1]).resolve(), sys.argv[2:] or tuple(PARTS)))
    except Failed as failed:
        sys.exit(str(failed))
