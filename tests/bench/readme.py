"""Measures the figures of README.md, and writes them in."""

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

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- figures:[^>]*-->\n).*?(<!-- /figures -->)", flags=re.S)


def measure(command: list[str]) -> dict[str, Any]:
    """The JSON object that a command prints."""
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    return dict(json.loads(said[said.index("{") :]))


def table(poll: dict[str, Any], demo: dict[str, Any], processor: str) -> str:
    """The figures as the README shows them."""
    now, alone = demo["frame_ms"], demo["baseline"]["frame_ms"]
    speaking = len(demo["characters"])
    return f"""\
| | |
|---|---|
| taking an event from an empty queue | {poll["poll_us"] * 1000:.0f} ns |
| `frame_begin` or `frame_end` | {poll["frame_us"] * 1000:.0f} ns |
| creating and closing an engine | {poll["create_close_ms"]:.1f} ms |
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
    parser.add_argument("--build", required=True, help="the folder of a release build")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has sotto installed")
    arguments = parser.parse_args()
    bench = [
        sys.executable,
        "tests/bench/poll.py",
        "--json",
        "--build",
        arguments.build,
        "--python",
        arguments.python,
    ]
    demo = [arguments.python, "-m", "sotto.cli", "demo", "--headless", "--json"]
    doctor = measure([arguments.python, "-m", "sotto.cli", "doctor", "--json"])
    processor = f"{doctor['processor']['name']}, {doctor['processor']['cores']} cores, {platform.system()}"
    text = table(measure(bench), measure(demo), processor)
    readme = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda found: found[1] + text + found[2], readme), encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
