"""What `sotto plan` does with a file, in a process of its own."""

from __future__ import annotations

from typing import Any

from ..engine import Engine
from ..memory import Plan

_MB = 1 << 20


def run(model: str, budget_mb: int | None, options: dict[str, Any], engine: dict[str, Any]) -> Plan:
    """Plans for a budget. None: what this machine has available."""
    with Engine(**engine) as opened:
        return opened.plan_model(model, budget_mb=budget_mb or _available_mb(opened), options=options)


def _available_mb(engine: Engine) -> int:
    """What this machine has available. 0, which is no limit, where it does not say."""
    system = engine.memory()["system"]
    return 0 if system is None else max(1, system["available"] // _MB)
