"""Writes the figures into README.md and docs/: some that it measures, and those of the longer benches."""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import fleet_bench_tables
import fleet_tables
import readme_tables

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = ROOT / "docs" / "pages"
BLOCKS = {  # file -> block -> text
    README: {"headline": readme_tables.headline},
    PAGES / "benchmarks.md": {"peers": readme_tables.text, "fleet": fleet_bench_tables.text},
    PAGES / "guide" / "images-models.md": {"images": readme_tables.images_text},
    PAGES / "guide" / "memory-budget.md": {"budget": readme_tables.budget_text},
    PAGES / "guide" / "models.md": {
        "models": readme_tables.models_text,
        "characters": readme_tables.characters_text,
    },
    PAGES / "guide" / "fleet-capacity.md": {"capacity": fleet_tables.text},
}


def put(page: str, block: str, text: str) -> str:
    """A page with other text in a block."""
    found = re.compile(rf"(<!-- {block}:[^>]*-->\n).*?(<!-- /{block} -->)", flags=re.S)
    return found.sub(lambda part: part[1] + text + part[2], page)


def measure(command: list[str]) -> dict[str, Any]:
    """The JSON object that a command prints."""
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    return dict(json.loads(said[said.index("{") :]))


def table(poll: dict[str, Any], demo: dict[str, Any], processor: str) -> str:
    """The measured figures, as the README shows them."""
    now, alone = demo["frame_ms"], demo["baseline"]["frame_ms"]
    speaking = len(demo["characters"])
    return f"""\
| | |
|---|---|
| taking an event from an empty queue | {poll["poll_us"] * 1000:.0f} ns |
| `frame_begin` or `frame_end` | {poll["frame_us"] * 1000:.0f} ns |
| creating and closing an engine | {1000 * poll["create_close_ms"]:.0f} µs |
| `import sotto`, over bare Python | {poll["import_ms"]:.0f} ms |
| {speaking} characters speaking beside a game of 8 ms a frame: frames missed | \
{demo["missed_pct"]:.2f} % of {demo["frames"]} (the game alone: {demo["baseline"]["missed_pct"]:.2f} %) |
| frame time p50, p95, p99 | {now["p50"]:.1f}, {now["p95"]:.1f}, {now["p99"]:.1f} ms \
(alone: {alone["p50"]:.1f}, {alone["p95"]:.1f}, {alone["p99"]:.1f}) |
| what they said meanwhile | {demo["tokens_total"]} tokens, paced |

Measured {date.today().isoformat()} on {processor}, by `tests/bench/readme.py`.
"""


def main() -> int:
    """Rewrites the block of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the folder of a release build; without it nothing is measured")
    parser.add_argument("--check", action="store_true", help="fail if the last reports' figures are others")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has sotto installed")
    arguments = parser.parse_args()
    for path, blocks in BLOCKS.items():
        before = page = path.read_text(encoding="utf-8")
        for block, text in blocks.items():
            page = put(page, block, text())
        if arguments.check:
            if page != before:
                where = path.relative_to(ROOT)
                sys.exit(f"{where} has other figures than tests/bench/results: run tests/bench/readme.py")
            continue
        if arguments.build and path == README:
            page = put(page, "figures", measured(arguments.build, arguments.python))
        path.write_text(page, encoding="utf-8")
    return 0


def measured(build: str, python: str) -> str:
    """The figures that take a minute."""
    bench = [sys.executable, "tests/bench/poll.py", "--json", "--build", build, "--python", python]
    demo = [
        python,
        "-m",
        "sotto.cli",
        "demo",
        "--model",
        "sotto/house",
        "--characters",
        "8",
        "--headless",
        "--json",
    ]
    doctor = measure([python, "-m", "sotto.cli", "doctor", "--json"])
    processor = f"{doctor['processor']['name']}, {doctor['processor']['cores']} cores, {platform.system()}"
    return table(measure(bench), measure(demo), processor)


if __name__ == "__main__":
    sys.exit(main())
