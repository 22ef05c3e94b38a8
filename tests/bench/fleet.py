"""What the ingress of a fleet costs: CPU per token, and time to first token, beside the replica alone.

`python tests/bench/fleet.py [--runs 5] [--seconds 10] [--json]`

Streams are paced and their model answers from a script, so that what is measured is the road. The same
replica is asked directly and through HAProxy, in turns; figures are medians of the runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from http_clients import Load, Seen
from llama_server import free_port

from server import asked, cpu, scripted
from sotto.fleet.ingress import HaProxy, IngressSettings, Replica, Route

STREAMS, PACE = 64, 20.0  # at once; tokens per second of each


@contextmanager
def ingress(folder: Path, port: int) -> Iterator[tuple[int, int]]:
    """Starts HAProxy before a replica. Returns its port and the id of the process that takes connections."""
    settings = IngressSettings(port=free_port())
    haproxy = HaProxy(folder / "ingress", settings)
    asyncio.run(haproxy.start([Route("", (Replica("node", "127.0.0.1", port),))]))
    try:
        listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
        rows = re.findall(rf"^ *(\d+) +(\d+) haproxy .*{re.escape(str(folder))}", listed.stdout, re.M)
        masters = {pid for pid, _ in rows}
        yield settings.port, next(int(pid) for pid, parent in rows if parent in masters)
    finally:
        asyncio.run(haproxy.stop(1.0))


def road(runs: int, seconds: float, folder: Path) -> dict[str, float]:
    """Asks a replica directly and through HAProxy."""
    words = folder / "words"
    words.write_text("word " * 10)
    figures: dict[str, list[float]] = {}

    def note(**values: float) -> None:
        for name, value in values.items():
            figures.setdefault(name, []).append(value)

    with scripted(folder, STREAMS) as replica, ingress(folder, replica.port) as (port, haproxy):
        length = max(int(PACE * seconds / 4), 1)
        sizes = {"streams": STREAMS, "prompt": 4, "tokens": length, "target_tps": PACE, "seconds": seconds}

        def measured(where: int, seed: int) -> tuple[Seen, float, float]:
            before = cpu(replica.pid), cpu(haproxy)
            seen = asked(Load(where, str(words), seed=seed, **sizes))
            return (
                seen,
                (cpu(replica.pid) - before[0]) / seen.tokens,
                (cpu(haproxy) - before[1]) / seen.tokens,
            )

        for turn in range(runs):
            direct, alone, _ = measured(replica.port, turn)
            through, behind, own = measured(port, turn)
            first = [statistics.median(one.first) for one in (direct, through)]
            note(
                road_us_per_token=1e6 * (own + behind - alone),
                haproxy_us_per_token=1e6 * own,
                replica_us_per_token=1e6 * behind,
                direct_us_per_token=1e6 * alone,
                ttfb_over_direct_ms=1e3 * (first[1] - first[0]),
                ttfb_direct_ms=1e3 * first[0],
            )
    return {name: round(statistics.median(values), 2) for name, values in figures.items()}


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = {"streams": STREAMS, **road(arguments.runs, arguments.seconds, Path(folder))}
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:24} {value:g}")


if __name__ == "__main__":
    main()
