"""Where the time of frames.py's runs went: a table for each."""

from __future__ import annotations

from typing import Any

STATES = {  # of the engine, in wall time
    "decode": "steps in which streams spoke",
    "prompt": "steps that worked through prompts",
    "trial": "steps on another number of threads, to compare",
    "opening": "requests made ready",
    "stood_still": "steps that stood still, and were given up",
    "gate": "waiting inside a step for the game",
    "rest": "resting, to keep to the duty cycle",
    "between": "between steps: the control thread's turn",
}
OWNERS = {  # of the processors' time
    "game": "the game",
    "models": "models",
    "control": "the engine's other threads",
    "others": "other processes",
    "idle": "nobody",
}
COVERED_PCT = 98.0
COMPUTING_PCT = 90.0


def limits_broken(account: dict[str, Any]) -> list[str]:
    """What of an account is beyond its limits, in words."""
    named = 100 * sum(account["states_ms"].get(name, 0.0) for name in STATES) / account["wall_ms"]
    broken = []
    if named < COVERED_PCT:
        broken.append(f"named states cover {named:.1f} % of the time, at least {COVERED_PCT}")
    if account["computing_of_left_pct"] < COMPUTING_PCT:
        had = account["computing_of_left_pct"]
        broken.append(f"models have {had} % of what the game leaves, at least {COMPUTING_PCT}")
    return broken


def table(account: dict[str, Any]) -> str:
    """For people to read."""
    lines = []
    for title, names, times in (
        ("wall time", STATES, account["states_ms"]),
        ("processor time", OWNERS, account["processors_ms"]),
    ):
        whole = sum(times.values())
        lines.append(f"  {title}, {whole / 1000:.1f} s")
        lines += [
            f"    {100 * times[name] / whole:6.2f} %  {told}" for name, told in names.items() if name in times
        ]
    lines.append(
        f"  models have {account['computing_of_left_pct']} % of the processor time that the game leaves"
    )
    lines.append(f"  steps: {', '.join(f'{name} {count:.0f}' for name, count in account['steps'].items())}")
    return "\n".join(lines)
