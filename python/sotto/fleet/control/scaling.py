"""`Scaling`: how many replicas each workload is to have now, and on which nodes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from ..autoscaling import Autoscaler, AutoscalingPolicy, Decision, Load
from ..prices import NodePrice, NodePrices, PriceTable
from . import policies
from .load import FleetLoad
from .meter import Live
from .placement import Placement, Places
from .store import why
from .tables import Workload

log = logging.getLogger("sotto.fleet")
_EVERY = 2.0  # seconds between two decisions
_ANY = PriceTable({"any": NodePrice(0.0, workers=1_000_000)})  # until the nodes are known


class Wanted(NamedTuple):
    """What a workload is to have.

    Attributes:
        replicas: Number of replicas.
        nodes: Names of the nodes that they may run on; None: all.
    """

    replicas: int
    nodes: tuple[str, ...] | None = None


@dataclass
class _Scaled:
    """A workload of policy `autoscaling`. `scaler` has its policy but for `workers`: `Scaling` chooses."""

    policy: AutoscalingPolicy
    scaler: Autoscaler
    wanted: Wanted


class Scaling:
    """Numbers of replicas by the execution policies; those of `autoscaling` follow the load of the fleet.

    The price ceiling of a workload holds for all nodes that it may run on together, wherever on them its
    replicas are.

    Args:
        load: The load of all processes.
        placement: Says where replicas run, and may run.
        prices: Prices of the nodes.
        clock: Returns seconds since 1970.
    """

    def __init__(
        self,
        load: FleetLoad,
        placement: Placement,
        prices: NodePrices,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._load, self._placement, self._prices, self._clock = load, placement, prices, clock
        self._lives: Mapping[str, Live] | None = None
        self._scaled: dict[str, _Scaled] = {}
        self._looked = float("-inf")

    async def look(self, workloads: list[Workload]) -> None:
        """Decides anew about all workloads, if two seconds have passed."""
        now = self._clock()
        due = abs(now - self._looked) >= _EVERY
        scaled = [one for one in workloads if one.execution_policy == "autoscaling"]
        self._scaled = {one.id: self._scaled[one.id] for one in scaled if one.id in self._scaled}
        if due and scaled:
            self._looked = now
            try:
                self._lives = await self._load.read()
            except (SQLAlchemyError, OSError) as error:
                self._lives = None  # numbers stay as they are
                log.warning("the load of the fleet cannot be read: %s", why(error))
        for one in scaled:
            if due or one.id not in self._scaled:
                self._decide(one)

    def wanted(self, workload: Workload) -> Wanted:
        """Returns what a workload is to have, by its policy and the last `look()`."""
        if workload.execution_policy != "autoscaling":
            config = workload.execution_policy_config
            return Wanted(policies.replicas(workload.execution_policy, config, self._clock()))
        return self._scaled[workload.id].wanted

    def _decide(self, one: Workload) -> None:
        policy = AutoscalingPolicy.from_config(one.execution_policy_config)
        places = self._placement.places(one.id)
        known = self._scaled.get(one.id)
        if known is None or known.policy != policy:
            scaler = Autoscaler(replace(policy, workers=()), _ANY, clock=self._clock)
            before = Wanted(0) if known is None else known.wanted
            replicas = min(max(before.replicas, policy.min_workers), policy.max_workers)
            known = self._scaled[one.id] = _Scaled(policy, scaler, before._replace(replicas=replicas))
        nodes = self._nodes(policy, places, known.wanted.nodes or places.nodes or ())
        known.wanted = known.wanted._replace(nodes=nodes)
        usable = sorted(set(places.room) if nodes is None else set(nodes) & set(places.room))
        if not usable or self._lives is None:
            return
        prices = {name: NodePrice(self._prices.of(name), max(1, places.room[name]), 1) for name in usable}
        known.scaler.set_prices(PriceTable(prices))
        load = _sample(self._lives.get(one.id, Live()), places, known.wanted.replicas, usable)
        decision = known.scaler.decide(load)
        if decision.total != known.wanted.replicas:
            _tell(one, known.wanted.replicas, decision)
        known.wanted = Wanted(decision.total, nodes)

    def _nodes(
        self, policy: AutoscalingPolicy, places: Places, before: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        """Returns the nodes that replicas may run on; None: all.

        Those of before stay, if the ceiling allows them; then come the cheapest, and last those that left.
        """
        ceiling = policy.max_hourly_cost_usd
        if ceiling is None and not policy.workers:
            return None

        def order(name: str) -> tuple[bool, bool, float]:
            price = self._prices.of(name) / max(1, places.room.get(name, 1))
            return name not in places.room, name not in before, price

        chosen, cost = [], 0.0
        for name in sorted({*places.room, *before}, key=lambda name: (order(name), name)):
            price = self._prices.of(name)
            listed = not policy.workers or self._prices.listed(name, policy.workers)
            if listed and (ceiling is None or cost + price <= ceiling):
                chosen.append(name)
                cost += price
        return tuple(sorted(chosen))


def _sample(live: Live, places: Places, wanted: int, usable: list[str]) -> Load:
    """Returns the load as the autoscaler reads it. Replicas on other nodes count for the first usable one."""
    ready: dict[str, int] = {}
    for name, count in places.ready.items():
        where = name if name in usable else usable[0]
        ready[where] = ready.get(where, 0) + count
    starting = max(0, wanted - sum(ready.values()))
    return Load(
        waiting=live.waiting,
        wait_s=live.wait_s(0.95),
        tokens_per_s=live.tokens_per_second,
        ready=ready,
        starting={usable[0]: starting} if starting else {},
    )


def _tell(one: Workload, before: int, decision: Decision) -> None:
    limit = f", limited by {decision.limited_by}" if decision.limited_by else ""
    cost = f", {decision.hourly_cost_usd:.2f} USD/h" if decision.hourly_cost_usd else ""
    log.info(
        "workload %s: %d to %d replicas: %s%s%s",
        one.slug, before, decision.total, decision.reason, limit, cost,
    )  # fmt: skip
