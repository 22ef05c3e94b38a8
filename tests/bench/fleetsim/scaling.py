"""The product's autoscaler and schedules on a simulated cell, with the time that a node needs to start."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import simpy

from sotto.fleet.autoscaling import Autoscaler, AutoscalingPolicy, Load
from sotto.fleet.prices import PriceTable
from sotto.fleet.scheduling import Schedule

from .cell import Cell

TICK_S = 15.0
EPOCH = datetime(2026, 1, 5, 12, 0, tzinfo=timezone.utc)  # a Monday


def clock_of(env: simpy.Environment) -> Any:
    """Returns a clock for schedules that follows the simulation."""
    return lambda: EPOCH + timedelta(seconds=env.now)


class Scaler:
    """Samples the load of a cell every 15 s and starts or drains nodes."""

    def __init__(
        self,
        cell: Cell,
        policy: AutoscalingPolicy,
        prices: PriceTable,
        schedule: Schedule | None = None,
    ) -> None:
        self.cell = cell
        self.starting = 0
        self.history: list[tuple[float, int, int]] = []  # (time, serving, starting)
        self._cancelled = 0  # starts that are no longer wanted
        self._schedule = schedule
        self._tokens = self._seen = 0
        self._auto = Autoscaler(policy, prices, clock=lambda: cell.env.now)
        cell.env.process(self._run())

    def _run(self) -> Iterator[simpy.Event]:
        while True:
            yield self.cell.env.timeout(TICK_S)
            ready = len(self.cell.serving)
            wanted = self._auto.decide(self._load(ready)).total
            if self._schedule is not None:
                wanted = max(wanted, self._schedule.replicas())
            if wanted > ready + self.starting:
                self._start(wanted - ready - self.starting)
            elif wanted < ready + self.starting:
                surplus = ready + self.starting - wanted
                stopped = min(surplus, self.starting)
                self._cancelled += stopped
                self.starting -= stopped
                if surplus > stopped:
                    self.cell.drain_nodes(surplus - stopped)
            self.history.append((self.cell.env.now, len(self.cell.serving), self.starting))

    def _start(self, number: int) -> None:
        self.starting += number
        kind = self.cell.kind
        arrival = self.cell.env.timeout(kind.boot_s + kind.load_s, number)
        arrival.callbacks.append(self._arrived)

    def _arrived(self, event: Any) -> None:
        stopped = min(self._cancelled, event.value)
        self._cancelled -= stopped
        number = event.value - stopped
        self.starting -= number
        if number:
            self.cell.add_nodes(number)

    def _load(self, ready: int) -> Load:
        cell, now = self.cell, self.cell.env.now
        stats = cell.stats
        open_waits = [now - request.asked for node in cell.nodes for request in node.unanswered()]
        waits = np.concatenate([np.array(stats.waits[self._seen :]), np.array(open_waits)])
        tokens, self._tokens = stats.tokens - self._tokens, stats.tokens
        self._seen = len(stats.waits)
        return Load(
            waiting=len(open_waits),
            wait_s=float(np.percentile(waits, 95)) if len(waits) else 0.0,
            tokens_per_s=tokens / TICK_S,
            ready={cell.kind.name: ready},
            starting={cell.kind.name: self.starting},
        )
