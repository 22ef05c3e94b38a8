"""A fleet for a game's players, simulated: nodes, cells, first words, cost, a launch, failures.

Service times are fitted to the kept reports of many_npcs.py and budget.py; with --measured, figures of real
hosts are set beside the simulator's. One cell is simulated in detail at its peak, and several where a cell
is lost; a cell's figures do not depend on the number of cells, which is checked. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fleetsim import check, measured
from fleetsim.scenarios import TARGET_S
from fleetsim.service import read_kinds
from fleetsim.study import SPARE, Study

from sotto.fleet.prices import PriceTable

# Examples in the range of 2026's public prices of such machines; --prices gives one's own.
PRICES = {"cpu": {"usd_per_hour": 0.08}, "gpu": {"usd_per_hour": 0.80}}
LIMITS = {  # at least, or at most
    "hash_over_power_of_two": (">=", 2.0),
    "cell_lost_p95_ms": ("<=", 2000.0),
    "cells_spread": ("<=", 0.25),
    "benchmarks_error": ("<=", 0.15),
    "measured_error": ("<=", measured.WITHIN),
}


def within(name: str, value: float | None) -> bool:
    """Whether a figure keeps to its limit; a figure that was not asked for does."""
    side, limit = LIMITS[name]
    return value is None or (value >= limit if side == ">=" else value <= limit)


def report(nodes: list[dict[str, Any]], hosts: dict[str, Any] | None) -> dict[str, Any]:
    """The worst of each figure, and whether it is within its limit."""
    benchmarks = check.against_benchmarks()
    ratios = [one["hash_over_power_of_two"] for one in nodes]
    figures = {
        "hash_over_power_of_two": min((ratio for ratio in ratios if ratio is not None), default=None),
        "cell_lost_p95_ms": max(one["cell_lost"]["after_60_s"]["p95_ms"] for one in nodes),
        "cells_spread": max(one["independence"]["spread"] for one in nodes),
        "benchmarks_error": max(row["error"] for row in benchmarks),
        "measured_error": None if hosts is None else max(row["error"] for row in hosts["rows"]),
    }
    broken = [
        f"{name} {value}, limit {LIMITS[name][0]} {LIMITS[name][1]}"
        for name, value in figures.items()
        if not within(name, value)
    ]
    return {
        **figures,
        "nodes": nodes,
        "benchmarks": benchmarks,
        "measured": hosts,
        "limits": {name: f"{side} {limit}" for name, (side, limit) in LIMITS.items()},
        "broken": broken,
        "ok": not broken,
    }


def plot(studies: list[Study], path: Path) -> None:
    """Draws the day of a cell of each kind."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        sys.exit("--plot needs matplotlib: pip install 'sotto-runtime[plot]'")
    figure, rows = plt.subplots(len(studies), 1, figsize=(9, 4 * len(studies)), squeeze=False)
    for study, axis in zip(studies, rows[:, 0], strict=True):
        hours, players, nodes, p95 = zip(*study.minutes, strict=True)
        axis.plot(hours, [100 * one / max(players) for one in players], label="players, % of the peak")
        axis.plot(hours, [100 * one / study.per_cell for one in nodes], label="nodes, % of the cell")
        axis.set(title=f"{study.node.name}: a day of one cell", xlabel="hour", ylim=(0, 110), xlim=(0, 24))
        right = axis.twinx()
        right.plot(hours, p95, color="tab:red", linewidth=0.8, label="p95 of the first word, ms")
        right.set(ylim=(0, 1.2 * 1e3 * study.target_s), ylabel="ms")
        axis.legend(loc="lower left")
        right.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> int:
    """Prints one JSON object. Returns 1 if a limit is broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument(
        "--players", type=int, default=1_000_000, help="players at once, at the peak (1000000)"
    )
    parser.add_argument("--kinds", default="cpu,gpu", help="kinds of nodes (cpu,gpu)")
    parser.add_argument(
        "--target", type=float, default=TARGET_S, help="p95 of the first word, in seconds (1)"
    )
    parser.add_argument("--nodes", type=Path, help="a JSON file of their figures: kind -> fields of NodeKind")
    parser.add_argument("--prices", type=Path, help="a JSON file: kind -> {usd_per_hour, workers, nodes}")
    parser.add_argument(
        "--measured", type=Path, help="a JSON file of runs on real hosts: see fleetsim/measured.py"
    )
    parser.add_argument("--plot", type=Path, help="draws the day into this file (PNG, SVG)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="at once (one per core)")
    parser.add_argument("--quick", action="store_true", help="smaller cells and shorter runs")
    arguments = parser.parse_args()
    if arguments.players < 1:
        parser.error(f"invalid --players '{arguments.players}': expected >= 1")
    began = time.monotonic()
    try:
        prices = PriceTable.load(arguments.prices) if arguments.prices else PriceTable(PRICES)
        kinds = read_kinds(arguments.nodes)
        if unknown := set(arguments.kinds.split(",")) - set(kinds):
            raise ValueError(f"invalid --kinds '{min(unknown)}': expected some of {', '.join(kinds)}")
        chosen = [kinds[name] for name in arguments.kinds.split(",")]
        hosts = measured.read(arguments.measured) if arguments.measured else None
        with ProcessPoolExecutor(arguments.processes) as pool:
            studies = [
                Study(node, arguments.players, prices, arguments.target, arguments.quick, pool)
                for node in chosen
            ]
            for study in studies:
                study.begin_capacities()
            for study in studies:
                study.begin_rest()
            nodes = [study.figures() for study in studies]
            compared = None if hosts is None else measured.compare(hosts)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    figures = report(nodes, compared)
    setting = {
        "spare": SPARE,
        "target_ms": 1e3 * arguments.target,
        "prices": {k: vars(v) for k, v in prices.items()},
    }
    figures = {**figures, "setting": setting, "seconds": round(time.monotonic() - began, 1)}
    if arguments.plot:
        plot(studies, arguments.plot)
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
