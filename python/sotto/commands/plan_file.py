"""Child process of `sotto plan`: plans the memory of a model file."""

from __future__ import annotations

from typing import Any

from ..engine import Engine
from ..memory import Plan

_MB = 1 << 20


def run(model: str, budget_mb: int | None, options: dict[str, Any], engine: dict[str, Any]) -> Plan:
    """Plans the model for a budget of `budget_mb` MB. None: the memory that this machine has available."""
    with Engine(**engine) as opened:
        return opened.plan_model(model, budget_mb=budget_mb or _available_mb(opened), options=options)


def _available_mb(engine: Engine) -> int:
    """Returns the available memory in MB, or 0 (no limit) if the system does not report it."""
    system = engine.memory()["system"]
    return 0 if system is None else max(1, system["available"] // _MB)
