"""What asking costs a game, each figure beside its limit."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMITS = {"poll_us": 1.0, "frame_us": 1.0, "create_close_ms": 20.0, "import_ms": 100.0}
RUNS = 15


def seconds(python: str, code: str) -> float:
    """How long an interpreter takes to run `code`, from start to end."""
    began = time.perf_counter()
    subprocess.run([python, "-c", code], check=True)
    return time.perf_counter() - began


def import_ms(python: str) -> float:
    """What `import sotto` adds to bare Python: medians, both sides interleaved."""
    seconds(python, "import sotto")  # byte code is written once
    bare, full = [], []
    for _ in range(RUNS):
        bare.append(seconds(python, "pass"))
        full.append(seconds(python, "import sotto"))
    return (statistics.median(full) - statistics.median(bare)) * 1000


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build with tests")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has sotto installed")
    arguments = parser.parse_args()
    bench = arguments.build / "bench" / "sotto_bench_poll"
    native = json.loads(subprocess.run([bench], check=True, stdout=subprocess.PIPE, text=True).stdout)
    figures = {
        "poll_us": native["poll_ns"] / 1000,
        "frame_us": native["frame_ns"] / 1000,
        "submit_us": native["submit_ns"] / 1000,
        "create_close_ms": native["create_close_ns"] / 1e6,
        "import_ms": round(import_ms(arguments.python), 2),
    }
    ok = all(figures[name] <= limit for name, limit in LIMITS.items())
    print(json.dumps({**figures, "limits": LIMITS, "ok": ok}, indent=None if arguments.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
