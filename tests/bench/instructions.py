"""Instructions that the engine executes for each decoded token, on a backend that costs next to nothing.

Counted by valgrind's callgrind, so that a busy machine does not matter: two runs differ by less than 1 %.
The fits of the cost model are left out, because their number depends on measured times. `--before FOLDER`
counts another build of the library too, with the same program.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STREAMS = 8
GATES = 12
TOKENS = (500, 3000)  # of each stream; the difference of both runs leaves out what starts and ends an engine
RUNS = 3
FITS = re.compile(r"sotto::CostFit::|std::__introselect<float")
THREADS = {"control": "sotto::Control::run", "compute": "sotto::Compute::work"}


def total(file: Path) -> int:
    """Returns the instructions in a file of callgrind, without those of FITS."""
    command = ["callgrind_annotate", "--threshold=100", str(file)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(.*)", line) for line in lines]
    costs = [(int(one[1].replace(",", "")), one[2]) for one in found if one is not None]
    return costs[0][0] - sum(cost for cost, function in costs[1:] if FITS.search(function))


def counted(bench: Path, library: Path, tokens: int) -> dict[str, int]:
    """Returns the instructions of each thread of the engine in one run of the program."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--separate-threads=yes",
                f"--callgrind-out-file={out}",
                str(bench),
                f"streams={STREAMS}",
                f"tokens={tokens}",
                f"gates={GATES}",
            ],
            check=True,
            capture_output=True,
            env={**os.environ, "LD_LIBRARY_PATH": str(library)},
        )
        found = {}
        for file in out.parent.glob("out-*"):
            text = file.read_text(errors="replace")
            for thread, function in THREADS.items():
                if function in text:
                    found[thread] = total(file)
    return found


def per_token(bench: Path, build: Path) -> dict[str, float]:
    """Returns instructions per decoded token for each thread: medians of several runs."""
    library = build / "out"
    runs: dict[str, list[float]] = {}
    for _ in range(RUNS):
        few, many = (counted(bench, library, tokens) for tokens in TOKENS)
        for thread in THREADS:
            tokens = STREAMS * (TOKENS[1] - TOKENS[0])
            runs.setdefault(thread, []).append((many[thread] - few[thread]) / tokens)
    return {thread: round(statistics.median(values)) for thread, values in runs.items()}


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--before", type=Path, help="the folder of a release build to compare with")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed: install it, for example with apt-get install valgrind")
    bench = arguments.build / "bench" / "sotto_bench_instructions"
    after = per_token(bench, arguments.build)
    figures: dict[str, object] = {"after": after}
    if arguments.before is not None:
        before = per_token(bench, arguments.before)
        ratio = sum(after.values()) / sum(before.values())
        figures |= {"before": before, "ratio": round(ratio, 3)}
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
