"""Execution policies of workloads: their settings are checked, and say how many replicas a workload has now.

`fixed` and `scheduled` are read by `read_schedule()`, `autoscaling` by `AutoscalingPolicy.from_config()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ..autoscaling import AutoscalingPolicy
from ..scheduling import read_schedule
from .errors import Refusal, invalid

MAX_REPLICAS = 1000


def check(policy: str, config: Mapping[str, Any]) -> None:
    """Raises `Refusal` 400 if the settings are not those of a policy, or contradict each other."""
    try:
        if policy == "autoscaling":
            AutoscalingPolicy.from_config(config)
        else:
            read_schedule(policy, config)
    except ValueError as error:
        raise Refusal(400, f"execution_policy_config: {error}") from None
    for name in ("replicas", "replicas_outside", "min_workers", "max_workers"):
        if config.get(name, 0) > MAX_REPLICAS:
            raise invalid(f"execution_policy_config.{name}", config[name], f"at most {MAX_REPLICAS}")


def replicas(policy: str, config: Mapping[str, Any], now: float) -> int:
    """Returns how many replicas a workload of policy `fixed` or `scheduled` has at a point in time."""
    at = datetime.fromtimestamp(now, timezone.utc)
    return read_schedule(policy, config, clock=lambda: at).replicas()
