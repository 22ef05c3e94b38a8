"""The study: capacities, the plan for the players of a game, its day, a launch and failures."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import Any

from sotto.fleet.prices import PriceTable

from .day import CELL_DAYS, NODE_DAYS, Day, Table
from .routing import POLICIES
from .scenarios import Setting, capacity, cell_lost, launch, many_cells, node_lost, steady
from .service import NodeKind

SPARE = 0.2  # of a node's capacity, for lost nodes and cells and for the autoscaler's lag
MIN_CELLS, MAX_CELL_NODES = 8, 250
LEVELS = (0.10, 0.30, 0.50, 0.65, 0.80, 0.90, 1.0, 1.1)  # of the capacity, for the day's table
COMPARED = ("consistent_hash", "power_of_two")
PREFILL_FACTORS = (0.5, 2.0)  # of an estimated node's prefill speed
WIDER_S = 5.0  # p95 at which policies are compared if one cannot keep to the target at any load


@dataclass(frozen=True)
class Sizes:
    """Nodes and seconds of the detailed runs. Small nodes have few players, so more of them are simulated."""

    nodes: int
    launch: int
    cell: int  # of each cell where several are simulated
    seconds: float


SIZES = {"cpu": Sizes(60, 40, 50, 120.0), "gpu": Sizes(12, 16, 10, 80.0)}
QUICK = {"cpu": Sizes(12, 6, 5, 40.0), "gpu": Sizes(4, 6, 3, 40.0)}


class Study:
    """The study of one kind of node: `begin_...` methods submit runs, `figures()` waits for them."""

    def __init__(
        self, node: NodeKind, players: int, prices: PriceTable, target_s: float, quick: bool, pool: Executor
    ) -> None:
        kind = node.name
        if kind not in prices:
            raise ValueError(f"invalid prices: expected a price of '{kind}', found {', '.join(prices)}")
        self.node, self.players, self.prices, self.target_s = node, players, prices, target_s
        self.sizes = (QUICK if quick else SIZES)[kind]
        self._pool = pool
        self._base = Setting(node, self.sizes.nodes, 0)
        self._jobs: dict[str, Future[Any]] = {}
        self.minutes: list[tuple[Any, ...]] = []  # of the day: hour, players, nodes, p95 in ms

    def _submit(self, name: str, call: Callable[..., Any], *arguments: Any) -> None:
        self._jobs[name] = self._pool.submit(call, *arguments)

    def _found(self, name: str) -> Any:
        return self._jobs[name].result()

    def begin_capacities(self) -> None:
        """Searches the capacity of a node with each policy."""
        for policy in POLICIES:
            setting = replace(self._base, policy=policy)
            self._submit(f"capacity {policy}", capacity, setting, self.target_s, self.sizes.seconds)
        for factor in self._speeds():
            service = self.node.service
            faster = replace(service, prefill_token_s=service.prefill_token_s / factor)
            for policy in COMPARED:
                setting = replace(self._base, policy=policy, node=replace(self.node, service=faster))
                self._submit(f"x {factor} {policy}", capacity, setting, self.target_s, self.sizes.seconds)

    def _speeds(self) -> tuple[float, ...]:
        """Factors of the prefill speed with which policies are compared too: none if it was measured."""
        return PREFILL_FACTORS if self.node.assumed.startswith("all") else ()

    def begin_rest(self) -> None:
        """Plans the cells for the capacity found, and simulates them."""
        best = self._found("capacity consistent_hash")
        most = best["players_per_node"]
        if most < 2:
            raise ValueError(
                f"invalid --target '{self.target_s}': too short for an idle node '{self.node.name}'; raise it"
            )
        self.per_node = max(1, int((1 - SPARE) * most))
        nodes = math.ceil(self.players / self.per_node)
        self.cells = max(MIN_CELLS, math.ceil(nodes / MAX_CELL_NODES))
        self.per_cell = math.ceil(nodes / self.cells)
        sizes, base = self.sizes, replace(self._base, players=self.per_node)
        if not self._found("capacity power_of_two")["players_per_node"]:
            for policy in COMPARED:
                setting = replace(self._base, policy=policy)
                self._submit(f"wider {policy}", capacity, setting, WIDER_S, sizes.seconds)
        self._submit("cell", steady, replace(base, nodes=self.per_cell), 60.0)
        self._submit("cell lost", cell_lost, replace(base, nodes=sizes.cell), MIN_CELLS)
        growing = replace(base, nodes=sizes.launch)
        for planned in (False, True):
            worker_tps = best["tokens_per_s_per_node"]
            self._submit(f"launch {planned}", launch, growing, worker_tps, SPARE, planned)
        for level in LEVELS:
            players = max(1, round(level * most))
            self._submit(f"level {level}", steady, replace(self._base, players=players), sizes.seconds)
        for cells in (1, 2, 4):
            self._submit(f"{cells} cells", many_cells, replace(base, nodes=sizes.cell), cells, sizes.seconds)
        for nodes in (sizes.cell, 2 * sizes.cell):
            self._submit(f"{nodes} nodes", steady, replace(base, nodes=nodes), sizes.seconds)
        self._submit("node lost", node_lost, replace(base, nodes=sizes.launch))

    def figures(self) -> dict[str, Any]:
        """Waits for all runs. Returns the figures."""
        cell = {name: value for name, value in self._found("cell").items() if name != "waits"}
        return {
            "node": self.node.name,
            "model": self.node.model,
            "assumed": self.node.assumed,
            "capacity": [self._found(f"capacity {policy}") for policy in POLICIES],
            **self._ratio(),
            "plan": {
                "players": self.players,
                "players_per_node": self.per_node,
                "nodes": self.cells * self.per_cell,
                "cells": self.cells,
                "nodes_per_cell": self.per_cell,
                "usd_per_hour_at_peak": round(
                    self.prices.hourly_cost({self.node.name: self.cells * self.per_cell}), 2
                ),
                "peak": cell,
            },
            "day": self._day(),
            "launch": [self._found(f"launch {planned}") for planned in (False, True)],
            "node_lost": self._found("node lost"),
            "cell_lost": self._found("cell lost"),
            "independence": self._independence(),
        }

    def _ratio(self) -> dict[str, Any]:
        """Players per node with consistent hashing over those with power of two, at the same p95."""

        def at(search: str) -> tuple[int, int]:
            found = [self._found(f"{search} {policy}")["players_per_node"] for policy in COMPARED]
            return found[0], found[1]

        (hashed, two), p95_s = at("capacity"), self.target_s
        wider = not two
        if wider:
            (hashed, two), p95_s = at("wider"), WIDER_S
        return {
            "hash_over_power_of_two": round(hashed / two, 2) if two else None,
            "hash_over_power_of_two_p95_ms": 1e3 * p95_s,
            "power_of_two_keeps_target": not wider,
            "hash_over_power_of_two_by_prefill_speed": {
                factor: round(hashed / max(two, 1), 2)
                for factor, (hashed, two) in ((factor, at(f"x {factor}")) for factor in self._speeds())
            },
        }

    def _day(self) -> dict[str, Any]:
        table = Table.of([self._found(f"level {level}") for level in LEVELS])
        setting = replace(self._base, nodes=self.per_cell, players=self.per_node)
        worker_tps = self._found("capacity consistent_hash")["tokens_per_s_per_node"]
        one = Day(setting, table, self.prices, worker_tps=worker_tps, spare=SPARE).run()
        self.minutes = one.pop("minutes")
        lost = self._found("node lost"), self._found("cell lost")
        broken = sum(case["broken"] for case in lost) / max(1, sum(case["cut"] for case in lost))
        cut = self.cells * (one.pop("cut_by_nodes") + one.pop("cut_by_cell"))
        return {
            **one,
            "node_hours": round(self.cells * one["node_hours"], 1),
            "usd": round(self.cells * one["usd"], 2),
            "nodes_least": self.cells * one["nodes_least"],
            "nodes_most": self.cells * one["nodes_most"],
            "cut_answers": {"http": round(cut, 1), "our_clients": round(cut * broken, 1)},
            "failures": {"node_days": NODE_DAYS, "cell_days": CELL_DAYS},
        }

    def _independence(self) -> dict[str, Any]:
        """p95 of the same load in fewer and more cells, and in cells of fewer and more nodes."""
        cells = {count: self._found(f"{count} cells")["p95_ms"] for count in (1, 2, 4)}
        sizes = (self.sizes.cell, 2 * self.sizes.cell)
        nodes = {count: self._found(f"{count} nodes")["p95_ms"] for count in sizes}
        nodes[self.per_cell] = self._found("cell")["p95_ms"]
        values = [*cells.values(), *nodes.values()]
        return {
            "p95_ms_by_cells": cells,
            "p95_ms_by_nodes": nodes,
            "spread": round(max(values) / min(values) - 1, 3),
        }
