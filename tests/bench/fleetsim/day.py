"""A day of a cell: its autoscaler each 15 s, first words from steady runs at the load that it leads to.

A day of a cell in detail is 10^8 requests. But its load changes over hours and a queue within seconds, so
at each moment the figures are those of a steady load: the detailed runs of some loads give a table, and the
day reads it. The launch and failures, where that does not hold, are simulated in detail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sotto.fleet.autoscaling import Autoscaler, AutoscalingPolicy, Load
from sotto.fleet.prices import PriceTable

from .scaling import TICK_S
from .scenarios import TARGET_S, Setting
from .traffic import day_curve

EDGES = np.geomspace(0.005, 100.0, 500)  # of the bins of first-word times, in seconds
DAY_S = 86_400
NODE_DAYS = 30.0  # between failures of a node
CELL_DAYS = 365.0  # between failures of a cell


@dataclass(frozen=True)
class Table:
    """First words at some loads."""

    players: np.ndarray  # per node, ascending
    shares: np.ndarray  # of requests in each bin, a row per load
    p95_s: np.ndarray
    mean_s: np.ndarray

    @classmethod
    def of(cls, runs: list[dict[str, Any]]) -> Table:
        """Builds the table from steady runs."""
        runs = sorted(runs, key=lambda run: run["players_per_node"])
        waits = [np.array(run["waits"]) for run in runs]
        rows = [np.histogram(np.clip(one, EDGES[0], EDGES[-1]), EDGES)[0] / len(one) for one in waits]
        return cls(
            np.array([run["players_per_node"] for run in runs], dtype=float),
            np.array(rows),
            np.array([np.percentile(one, 95) for one in waits]),
            np.array([one.mean() for one in waits]),
        )

    def row(self, players: float) -> np.ndarray:
        """Returns the distribution of first words at a load, between those that were run."""
        at = float(np.interp(players, self.players, np.arange(len(self.players))))
        low = min(int(at), len(self.players) - 2)
        return (1 - (at - low)) * self.shares[low] + (at - low) * self.shares[low + 1]


def quantile_ms(shares: np.ndarray, quantile: float) -> float:
    """Quantile of a distribution over the bins."""
    total = np.cumsum(shares)
    return round(1e3 * float(EDGES[1 + int(np.searchsorted(total, quantile * total[-1]))]), 1)


class Day:
    """A day of one cell at a time step of 15 s."""

    def __init__(
        self, setting: Setting, table: Table, prices: PriceTable, *, worker_tps: float, spare: float
    ) -> None:
        self.setting, self._table = setting, table
        self._now = 0.0
        self._price = prices[setting.kind].cost(1)
        kind = setting.node
        self._lag = round((kind.boot_s + kind.load_s) / TICK_S)
        policy = AutoscalingPolicy(
            min_workers=math.ceil(0.1 * setting.nodes),
            max_workers=setting.nodes,
            max_hourly_cost_usd=prices[setting.kind].cost(setting.nodes) or None,
            target_wait_ms=1e3 * TARGET_S,
            target_utilization=1.0 - spare,
            worker_tokens_per_s=worker_tps,
            start_s=kind.boot_s + kind.load_s,
        )
        self._auto = Autoscaler(policy, prices, clock=lambda: self._now)
        self.serving = math.ceil(setting.nodes * day_curve(0.0))
        self._starting: list[tuple[int, int]] = []  # (tick at which they serve, nodes)

    def run(self) -> dict[str, Any]:
        """Runs the day. Returns its figures and a row per minute for the plot."""
        shares = np.zeros(len(EDGES) - 1)
        node_s = moved = spoken_s = over_s = 0.0
        minutes = []
        for tick in range(int(DAY_S / TICK_S)):
            self._now = tick * TICK_S
            players = self.setting.nodes * self.setting.players * day_curve(self._now / 3600)
            moved += self._step(tick, players)
            on_node = players / self.serving
            shares += players * self._table.row(on_node)
            node_s += TICK_S * self.serving
            spoken_s += TICK_S * players * self._speaking()
            p95 = float(np.interp(on_node, self._table.players, self._table.p95_s))
            over_s += TICK_S * (p95 > TARGET_S)
            if tick % 4 == 0:
                minutes.append(
                    (round(self._now / 3600, 3), round(players), self.serving, round(1e3 * p95, 1))
                )
        hours = node_s / 3600
        streams = spoken_s / DAY_S  # mean number of answers that are spoken
        return {
            "p50_ms": quantile_ms(shares, 0.50),
            "p95_ms": quantile_ms(shares, 0.95),
            "p99_ms": quantile_ms(shares, 0.99),
            "nodes_least": min(row[2] for row in minutes),
            "nodes_most": max(row[2] for row in minutes),
            "node_hours": round(hours, 1),
            "usd": round(hours * self._price, 2),
            "seconds_over_target": round(over_s),
            "sessions_moved": round(moved, 2),  # times, of a session in a day, because nodes came and went
            "cut_by_nodes": streams / NODE_DAYS,
            "cut_by_cell": streams / CELL_DAYS,
            "minutes": minutes,
        }

    def _speaking(self) -> float:
        """Share of the players who hear an answer."""
        traffic = self.setting.traffic
        return traffic.mean_answer / traffic.pace_tps / traffic.cycle_s

    def _step(self, tick: int, players: float) -> float:
        """Lets the autoscaler decide. Returns the share of the sessions that move."""
        before = self.serving
        self.serving += sum(number for due, number in self._starting if due <= tick)
        self._starting = [entry for entry in self._starting if entry[0] > tick]
        starting = sum(number for _, number in self._starting)
        traffic, kind = self.setting.traffic, self.setting.kind
        on_node = players / self.serving
        mean = float(np.interp(on_node, self._table.players, self._table.mean_s))
        load = Load(
            waiting=round(players / traffic.cycle_s * mean),
            wait_s=float(np.interp(on_node, self._table.players, self._table.p95_s)),
            tokens_per_s=players / traffic.cycle_s * traffic.mean_answer,
            ready={kind: self.serving},
            starting={kind: starting},
        )
        change = self._auto.decide(load).total - self.serving - starting
        if change > 0:
            self._starting.append((tick + self._lag, change))
        elif change < 0:
            while self._starting and change < 0:
                due, number = self._starting.pop()
                kept = max(0, number + change)
                change += number - kept
                if kept:
                    self._starting.append((due, kept))
            self.serving += change
        return abs(self.serving - before) / max(self.serving, before)
