"""The simulated node beside kept benchmarks of the real one that its service times were not fitted to."""

from __future__ import annotations

from typing import Any

import simpy

from .cell import Cell
from .service import STREAMS, cpu_node, kept
from .traffic import Traffic

PROMPT, ANSWER = 512, 128  # tokens of the closed loop of many_npcs.py and of first_token.py
UNPACED_TPS = 1e6


def closed_loop_tps() -> float:
    """Tokens per second of 8 streams that ask for 128 tokens after 512 unknown ones, again and again."""
    traffic = Traffic(
        think_s=0.05,  # short beside the 9 s of a turn
        pace_tps=UNPACED_TPS,
        answer=(ANSWER, ANSWER),
        shared=0,
        first=PROMPT,
        turns=1.0,
        patience_s=1e9,
    )
    env = simpy.Environment()
    cell = Cell(env, cpu_node(), traffic, nodes=1, players=STREAMS, policy="random")
    env.run(60.0)
    cell.stats.reset()
    env.run(660.0)
    return cell.stats.tokens / 600.0


def against_benchmarks() -> list[dict[str, Any]]:
    """Rows of measured and simulated figures."""
    npcs = next(one for one in kept("many_npcs")["models"] if one["name"] == "110m")
    first = next(one for one in kept("first_token")["models"] if one["name"] == "110m")
    crowd = npcs["llama_server"]["ours_tps"]
    pairs = {
        "8 streams that ask again and again, tokens/s": (crowd, closed_loop_tps()),
        "first token after 512 unknown tokens, ms": (
            first["ours_ms"],
            1e3 * cpu_node().service.prefill_s(PROMPT, 0),
        ),
    }
    return [
        {
            "figure": name,
            "measured": round(measured, 1),
            "simulated": round(ours, 1),
            "error": round(abs(ours - measured) / measured, 4),
        }
        for name, (measured, ours) in pairs.items()
    ]
