"""Execution policies: their settings are checked, and say how many replicas a workload has now.

`fixed`: `replicas`. `scheduled`: `cron`, with `minutes`, or `window` of `start` and `end`, times of day in
UTC as "HH:MM"; and `replicas`. `autoscaling`: `min_workers`, `max_workers`, `max_hourly_cost_usd`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from cronsim import CronSim, CronSimError

from .errors import Refusal, invalid

MAX_REPLICAS = 1000
_FIELDS = {
    "fixed": {"replicas"},
    "scheduled": {"cron", "minutes", "window", "replicas"},
    "autoscaling": {"min_workers", "max_workers", "max_hourly_cost_usd", "workers"},
}
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_DAY = 24 * 60  # minutes


def check(policy: str, config: Mapping[str, Any]) -> None:
    """Raises `Refusal` 400 if the settings are not those of a policy, or contradict each other."""
    name = "execution_policy_config"
    unknown = sorted(set(config) - _FIELDS[policy])
    if unknown:
        raise invalid(
            f"{name}.{unknown[0]}", config[unknown[0]], f"one of {', '.join(sorted(_FIELDS[policy]))}"
        )
    if policy == "fixed":
        _count(f"{name}.replicas", config.get("replicas", 1), 0)
    elif policy == "scheduled":
        _check_schedule(name, config)
    else:
        _check_bounds(name, config)


def replicas(policy: str, config: Mapping[str, Any], now: float) -> int:
    """Returns how many replicas a workload has at a point in time; for autoscaling, the fewest."""
    if policy == "fixed":
        return int(config.get("replicas", 1))
    if policy == "autoscaling":
        return int(config.get("min_workers", 1))
    at = datetime.fromtimestamp(now, timezone.utc)
    wanted = int(config.get("replicas", 1))
    if "window" in config:
        start, end = (_minutes(config["window"][name]) for name in ("start", "end"))
        minute = at.hour * 60 + at.minute
        inside = start <= minute < end if start < end else minute >= start or minute < end
        return wanted if inside else 0
    fired = next(CronSim(config["cron"], at + timedelta(seconds=1), reverse=True), None)
    lasts = timedelta(minutes=int(config.get("minutes", 60)))
    return wanted if fired is not None and at < fired + lasts else 0


def _check_schedule(name: str, config: Mapping[str, Any]) -> None:
    if ("cron" in config) == ("window" in config):
        raise Refusal(400, f"invalid {name}: expected 'cron' or 'window', one of them")
    _count(f"{name}.replicas", config.get("replicas", 1), 1)
    if "window" in config:
        window = config["window"]
        if "minutes" in config:
            raise Refusal(400, f"invalid {name}.minutes: a window has an end; leave it out")
        if not isinstance(window, dict) or set(window) != {"start", "end"}:
            raise invalid(f"{name}.window", window, "an object with 'start' and 'end'")
        for edge in ("start", "end"):
            if not isinstance(window[edge], str) or not _TIME.fullmatch(window[edge]):
                raise invalid(f"{name}.window.{edge}", window[edge], "a time of day in UTC, such as 18:30")
        if window["start"] == window["end"]:
            raise invalid(f"{name}.window.end", window["end"], "another time than the start")
        return
    minutes = config.get("minutes", 60)
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 1 <= minutes <= 7 * _DAY:
        raise invalid(f"{name}.minutes", minutes, f"an integer from 1 to {7 * _DAY}")
    try:
        if not isinstance(config["cron"], str):
            raise CronSimError("expected a string")
        next(CronSim(config["cron"], datetime.now(timezone.utc)))
    except (CronSimError, StopIteration) as error:
        why = str(error) or "it never comes"
        raise Refusal(400, f"invalid {name}.cron '{str(config['cron'])[:100]}': {why}") from None


def _check_bounds(name: str, config: Mapping[str, Any]) -> None:
    if "max_workers" not in config:
        raise Refusal(400, f"invalid {name}: autoscaling needs 'max_workers'")
    _count(f"{name}.min_workers", config.get("min_workers", 1), 0)
    _count(f"{name}.max_workers", config["max_workers"], 1)
    if config.get("min_workers", 1) > config["max_workers"]:
        raise invalid(f"{name}.min_workers", config.get("min_workers", 1), "at most 'max_workers'")
    cost = config.get("max_hourly_cost_usd")
    number = isinstance(cost, int | float) and not isinstance(cost, bool) and math.isfinite(cost)
    if cost is not None and (not number or cost <= 0):
        raise invalid(f"{name}.max_hourly_cost_usd", cost, "a number above 0")
    workers = config.get("workers", [])
    if not isinstance(workers, list) or not all(isinstance(one, str) and one for one in workers):
        raise invalid(f"{name}.workers", workers, "a list of ids of workers")


def _count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_REPLICAS:
        raise invalid(name, value, f"an integer from {least} to {MAX_REPLICAS}")


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)
