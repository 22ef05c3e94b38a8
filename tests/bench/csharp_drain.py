"""Cost of draining 16 streams in a frame of a C# game: time and managed bytes. Prints one JSON object.

The program runs on CoreCLR 8, which counts a thread's allocations to the byte. The bytes of the drain must be
those of the strings that it handed out. Times are medians over the runs.

    csharp_drain.py --build build/check/release
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checks.ground import ROOT
from csharp.sources import OBSOLETE_ON_CORE, runtime_sources
from dotnet.toolchain import compile_cs, run_core

LIMITS = {"p99_us": 50.0}  # on a machine at rest


def compile_drain(folder: Path) -> Path:
    """Compiles the program."""
    program = folder / "Drain.dll"
    sources = [ROOT / "tests" / "csharp" / "Drain.cs", *runtime_sources(components=False)]
    compile_cs(program, sources, runtime="core", options=[OBSOLETE_ON_CORE])
    return program


def measure(program: Path, libraries: Path, frames: int) -> dict[str, Any]:
    """One run."""
    env = {"LD_LIBRARY_PATH": str(libraries)}
    return json.loads(run_core(program, libraries, str(frames), env=env, timeout=60 + frames / 30))


def is_exact(run: dict[str, Any]) -> bool:
    """Whether the drain allocated its strings and nothing else, and nothing in frames without text."""
    quiet = run["without_streams"]
    return (
        run["texts"] > 0
        and run["managed_bytes"] == run["string_bytes"]
        and run["bytes_without_text"] == 0
        and quiet["frames_without_text"] == quiet["frames"]
        and quiet["managed_bytes"] == 0
    )


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of the times, sums of the bytes, and whether every limit holds."""
    figures: dict[str, Any] = {"runs": len(runs), "streams": runs[0]["streams"]}
    for name in (
        "frames",
        "texts",
        "managed_bytes",
        "string_bytes",
        "frames_without_text",
        "bytes_without_text",
    ):
        figures[name] = sum(run[name] for run in runs)
    for name in ("p50_us", "p99_us"):
        figures[name] = statistics.median(run[name] for run in runs)
    exact = all(is_exact(run) for run in runs)
    ok = exact and all(figures[name] <= limit for name, limit in LIMITS.items())
    return {**figures, "exact": exact, "limits": LIMITS, "ok": ok}


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    libraries = (arguments.build / "out").resolve()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_drain(Path(folder))
        runs = [measure(program, libraries, arguments.frames) for _ in range(arguments.runs)]
    print(json.dumps(summary(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
