"""Figures of real hosts, read from a JSON file, and the simulator's for the same runs.

The file:

    {"hosts": 4, "slots": 8, "road_s": 0.001, "service": {"prefill_base_s": ..., ...},
     "runs": [{"policy": "consistent_hash", "sessions": 60, "seconds": 120,
               "think_s": 10, "pace_tps": 12, "line": [10, 30], "answer": [20, 60], "first": 440, "limit":
               2048, "figures": {"p50_ms": ..., "p95_ms": ..., "tokens_per_s": ..., "repeated_prefill":
               ...}}]}

`service` has the fields of ServiceTimes, measured on one of the hosts; without it those fitted to the kept
benchmarks are used. `road_s`: what the ingress adds to a first word; without it, its limit. `busy_pct` is
for readers alone. A run's figures may be some of FIGURES.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import simpy

from .cell import ROAD_S, Cell
from .routing import POLICIES
from .scenarios import WARM_UP_S
from .service import NodeKind, ServiceTimes, cpu_node
from .stats import quantiles
from .traffic import SHORT, Traffic

WITHIN = 0.15
FIGURES = ("p50_ms", "p95_ms", "p99_ms", "tokens_per_s", "answers", "repeated_prefill")
TRAFFIC = ("think_s", "pace_tps", "line", "answer", "shared", "first", "limit", "kept", "turns")
RUN = ("policy", "sessions", "seconds", "figures", *TRAFFIC)


def read(path: Path) -> dict[str, Any]:
    """Reads and checks a file of measured runs.

    Raises:
        ValueError: The file is no JSON object, or a field is missing, unknown or out of range.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"invalid measured figures '{path}': expected a JSON object; {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("runs"), list) or not found["runs"]:
        raise ValueError(f"invalid measured figures '{path}': expected an object with runs")
    for name in ("hosts", "slots"):
        if not isinstance(found.get(name), int) or found[name] < 1:
            raise ValueError(f"invalid {name} '{found.get(name)}' in '{path}': expected an integer >= 1")
    _known(f"{path}: service", found.get("service", {}), [one.name for one in fields(ServiceTimes)])
    for number, run in enumerate(found["runs"]):
        where = f"{path}: runs[{number}]"
        _known(where, run, RUN)
        for name in ("policy", "sessions", "seconds", "figures"):
            if name not in run:
                raise ValueError(f"missing {name} in {where}")
        if run["policy"] not in POLICIES:
            raise ValueError(
                f"invalid policy '{run['policy']}' in {where}: expected one of {', '.join(POLICIES)}"
            )
        _known(f"{where}.figures", run["figures"], FIGURES)
    return found


def _known(where: str, given: dict[str, Any], names: Any) -> None:
    if unknown := set(given) - set(names):
        raise ValueError(f"invalid field '{min(unknown)}' in {where}: expected one of {', '.join(names)}")


def node_of(found: dict[str, Any]) -> NodeKind:
    """Returns the hosts' kind of node."""
    kind = cpu_node()
    slots = found["slots"]
    return replace(
        kind, service=replace(kind.service, **found.get("service", {})), slots=slots, kv_slots=slots
    )


def traffic_of(run: dict[str, Any]) -> Traffic:
    """Returns the behaviour of a run's sessions."""
    given = {name: run[name] for name in TRAFFIC if name in run}
    for name in ("line", "answer"):
        if name in given:
            given[name] = tuple(given[name])
    return replace(SHORT, **given)


def simulated(found: dict[str, Any], run: dict[str, Any], seed: int = 1) -> dict[str, float]:
    """Returns the simulator's figures of a run."""
    env = simpy.Environment()
    hosts, seconds = found["hosts"], float(run["seconds"])
    cell = Cell(
        env,
        node_of(found),
        traffic_of(run),
        nodes=hosts,
        players=run["sessions"],
        policy=run["policy"],
        seed=seed,
        road_s=float(found.get("road_s", ROAD_S)),
    )
    env.run(WARM_UP_S)
    cell.stats.reset()
    env.run(WARM_UP_S + seconds)
    stats = cell.stats
    return {
        **quantiles(np.array(stats.waits)),
        "tokens_per_s": stats.tokens / seconds,
        "answers": float(stats.answered),
        "repeated_prefill": stats.repeated,
    }


def compare(found: dict[str, Any], within: float = WITHIN, seeds: int = 5) -> dict[str, Any]:
    """Compares measured figures with the simulator's, which are medians over some seeds."""
    rows = []
    for number, run in enumerate(found["runs"]):
        tries = [simulated(found, run, seed) for seed in range(1, seeds + 1)]
        for name, measured in run["figures"].items():
            ours = float(np.median([one[name] for one in tries]))
            error = abs(ours - measured) / abs(measured) if measured else abs(ours)
            rows.append(
                {
                    "run": number,
                    "policy": run["policy"],
                    "figure": name,
                    "measured": measured,
                    "simulated": round(ours, 4),
                    "error": round(error, 4),
                    "within": error <= within,
                }
            )
    return {"within": within, "rows": rows, "ok": all(row["within"] for row in rows)}
