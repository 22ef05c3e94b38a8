"""Reloads a game's code a hundred times while four characters speak, as editors do.

    reloads.py LIBRARIES [COUNT]

On Mono: application domains, as Unity's editor has them. On CoreCLR 8: collectible load contexts. The game
disposes its engine or forgets it. Afterwards threads and engines are as before, and memory has not grown.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checks.ground import Failed, is_full
from csharp.run import HERE, environment
from csharp.sources import OBSOLETE_ON_CORE, runtime_sources
from dotnet.toolchain import compile_cs, run_core, run_mono

COUNT = 100 if is_full() else 30
RUNS = 3  # at most, where unloading was slow
DOMAIN_LIMITS = {"threads_left": 0, "engines_left": 0, "grown_kb": 1024, "worst_unload_ms": 50}
CONTEXT_LIMITS = {"not_collected": 0, "threads_left": 0, "grown_kb": 5 * 1024}


def compile_domains(folder: Path) -> Path:
    """The program that creates and unloads application domains."""
    program = folder / "Reload.exe"
    sources = [HERE / name for name in ("Reload.cs", "Game.cs", "Process.cs")]
    compile_cs(program, [*sources, *runtime_sources(components=False)])
    return program


def compile_contexts(folder: Path) -> tuple[Path, Path]:
    """The program that loads and unloads contexts, and the game that they load."""
    folder.mkdir(exist_ok=True)
    host, game = folder / "Contexts.dll", folder / "Play.dll"
    compile_cs(host, [HERE / "Contexts.cs", HERE / "Process.cs"], runtime="core")
    sources = [HERE / "Play.cs", HERE / "Game.cs", *runtime_sources(components=False)]
    compile_cs(game, sources, library=True, runtime="core", options=[OBSOLETE_ON_CORE])
    return host, game


def figures(printed: str) -> dict[str, Any]:
    """The JSON object that a program printed."""
    return json.loads(next(line for line in printed.splitlines() if line.startswith("{")))


def reload_environment(libraries: Path) -> dict[str, str]:
    """The suites' environment, with one arena for malloc, which returns free memory to the system.

    With more arenas, free memory that malloc keeps in them hides whether memory leaks.
    """
    return {**environment(libraries), "MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "65536"}


def judge(what: str, found: dict[str, Any], limits: dict[str, float]) -> str:
    """One line of figures. Raises Failed if one is over its limit."""
    for name, limit in limits.items():
        if found[name] > limit:
            raise Failed(f"{what}: {name} is {found[name]}: expected at most {limit}; {found}")
    return f"{what}: " + ", ".join(f"{name} {found[name]}" for name in limits)


def unload_domains(folder: Path, libraries: Path, count: int, how: str) -> str:
    """Unloads application domains.

    An unload that is slow because of what it does is slow in each run; one that waited for a busy processor
    is not. So each unload of a run counts with its fastest time over the runs.
    """
    command = (folder / "Reload.exe", libraries, str(count), how)
    fastest = [math.inf] * count
    for _ in range(RUNS):
        found = figures(run_mono(*command, env=reload_environment(libraries), timeout=500))
        fastest = [min(pair) for pair in zip(fastest, found.pop("unload_ms"), strict=True)]
        found["worst_unload_ms"] = max(fastest)
        if found["worst_unload_ms"] <= DOMAIN_LIMITS["worst_unload_ms"]:
            break
    return judge(f"{count} domains, engine {how}", found, DOMAIN_LIMITS)


def unload_contexts(folder: Path, libraries: Path, count: int, how: str) -> str:
    """Unloads collectible contexts."""
    host, game = folder / "contexts" / "Contexts.dll", folder / "contexts" / "Play.dll"
    printed = run_core(host, game, libraries, str(count), how, env=reload_environment(libraries), timeout=500)
    return judge(f"{count} contexts, engine {how}", figures(printed), CONTEXT_LIMITS)


def domains(libraries: Path, count: int = COUNT) -> list[str]:
    """Unloads domains. Returns a line of figures for each run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_domains(folder)
        return [unload_domains(folder, libraries, count, how) for how in ("disposed", "forgotten")]


def contexts(libraries: Path, count: int = COUNT) -> list[str]:
    """Unloads contexts. Returns a line of figures for each run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_contexts(folder / "contexts")
        runs = {"forgotten": count, "disposed": min(count, 20)}
        return [unload_contexts(folder, libraries, times, how) for how, times in runs.items()]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        given = (Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:]))
        print(*domains(*given), *contexts(*given), sep="\n")
    except Failed as failed:
        sys.exit(str(failed))
