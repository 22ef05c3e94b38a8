"""What the page of a control plane shows: nodes, workloads, rates, cost, and refused requests."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..prices import NodePrices
from .housekeeping import nodes_of
from .load import FleetLoad
from .meter import Live, total
from .refusals import Refusals
from .store import Store
from .tables import NodeRow, Workload
from .tokens import Identity
from .usage import totals
from .workloads import Workloads

PAGE = Path(__file__).with_name("page.html")
_SEEN = 30.0  # seconds after which a node that was not noted again counts as lost
_DAY = 86_400.0


class Overview:
    """The figures of a project, and of the nodes that all projects share.

    Args:
        store: The store.
        workloads: The workloads.
        load: The load of all processes.
        refusals: The requests that this process refused.
        prices: Prices of the nodes.
        clock: Returns seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        workloads: Workloads,
        load: FleetLoad,
        refusals: Refusals,
        prices: NodePrices,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._workloads, self._load = store, workloads, load
        self._refusals, self._prices, self._clock = refusals, prices, clock

    async def of(self, identity: Identity) -> dict[str, Any]:
        """Returns the overview of the project of a token."""
        now = self._clock()
        nodes = [self._node(row, now) for row in await nodes_of(self._store)]
        live = await self._load.read()
        used: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for row in await totals(self._store, identity.project, now - _DAY):
            counts = (row[name] for name in _USED)
            used[row["workload_id"]] = [a + b for a, b in zip(used[row["workload_id"]], counts, strict=True)]
        workloads = await self._workloads.all(identity.project_id)
        shown = [_workload(one, live.get(one.id, Live()), used[one.id]) for one in workloads]
        return {
            "project": identity.project,
            "at": now,
            "nodes": nodes,
            "cost": self._cost(nodes, sum(one.tokens_per_second for one in live.values())),
            "live": _figures(total(live.get(one.id, Live()) for one in workloads)),
            "workloads": shown,
            "refusals": self._refusals.of(identity.project),
        }

    def _node(self, row: NodeRow, now: float) -> dict[str, Any]:
        names = ("id", "cores", "memory", "gpus", "version", "seen_at")
        found = {name: getattr(row, name) for name in names}
        return {**found, "lost": now - row.seen_at > _SEEN, "usd_per_hour": self._prices.of(row.id)}

    @staticmethod
    def _cost(nodes: list[dict[str, Any]], tokens_per_second: float) -> dict[str, Any]:
        """Returns the price of the nodes in an hour, and that of a million tokens at the present rate."""
        hour = sum(one["usd_per_hour"] for one in nodes if not one["lost"])
        million = 1e6 * hour / (3600 * tokens_per_second) if tokens_per_second else None
        return {"usd_per_hour": hour, "usd_per_million_tokens": million}


_USED = ("requests", "failures", "prompt_tokens", "completion_tokens")


def _workload(row: Workload, live: Live, used: list[int]) -> dict[str, Any]:
    names = ("slug", "name", "backend", "phase", "message", "execution_policy")
    return {
        **{name: getattr(row, name) for name in names},
        "model": row.model_name,
        "replicas": {"ready": row.ready, "wanted": row.wanted},
        **_figures(live),
        "day": dict(zip(_USED, used, strict=True)),
    }


def _figures(live: Live) -> dict[str, Any]:
    """Returns what a workload does now, with the 95th percentile of its waits in place of all of them."""
    found = live._asdict()
    del found["waits"]
    return {**found, "wait_p95_ms": round(1000 * live.wait_s(0.95))}
