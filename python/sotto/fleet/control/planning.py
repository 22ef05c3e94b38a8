"""The command that plans the memory of a workload, and how its result is read."""

from __future__ import annotations

import json
import sys

from ..enums import Backend
from .launch import CannotLaunch
from .placement import Deployment

PLAN_TIMEOUT = 120.0  # seconds for `sotto plan`
_MB = 1 << 20


def is_planned(deployment: Deployment) -> bool:
    """Returns True if our engine runs the workload, with settings that can be planned."""
    return deployment.backend == Backend.LLAMACPP and "command" not in deployment.config


def plan_command(deployment: Deployment, free_mb: int | None) -> list[str]:
    """Returns the command that plans a workload on this machine.

    Args:
        deployment: The workload.
        free_mb: Memory for it in MB, unless its config sets one; None: what the machine has available.
    """
    config, budget = deployment.config, deployment.config.get("budget_mb", free_mb)
    words = [sys.executable, "-P", "-m", "sotto.cli", "plan", "--json"]
    words += [] if budget is None else ["--budget", str(budget)]
    words += ["--options", json.dumps(config["options"])] if config.get("options") else []
    return [*words, "--", deployment.model]


def planned_mb(status: int, said: str, complained: str) -> int:
    """Returns the memory of a plan in MB, from the command's exit status and what it printed.

    Raises:
        CannotLaunch: The model does not fit, or is not on the machine; the words are those of the plan.
    """
    try:
        plan = json.loads(said)
    except ValueError:
        raise CannotLaunch(_last_words(complained) or f"`sotto plan` ended with status {status}") from None
    if not plan["fits"]:
        raise CannotLaunch(plan["reason"])
    taken = next((one["bytes"] for one in plan["rungs"] if one["fits"]), 0)
    return -(-int(taken) // _MB)


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("sotto: ")[:500] if lines else ""
