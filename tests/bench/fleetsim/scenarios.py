"""Scenarios: steady load, the capacity of a node, a launch, a lost node, a lost cell."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import simpy

from sotto.fleet.autoscaling import AutoscalingPolicy
from sotto.fleet.hashing import rendezvous
from sotto.fleet.prices import PriceTable
from sotto.fleet.scheduling import read_schedule

from .cell import Cell
from .scaling import EPOCH, Scaler, clock_of
from .service import NodeKind
from .stats import quantiles
from .traffic import LONG, SHORT, Traffic

TARGET_S = 1.0  # p95 of the first word
REFUSED = 0.001  # of the requests, at most
FRONT_S = 5.0  # until clients leave a cell that does not answer
WARM_UP_S = 45.0
TRAFFIC = {"cpu": SHORT, "gpu": LONG}


@dataclass(frozen=True)
class Setting:
    """What a scenario simulates."""

    node: NodeKind
    nodes: int
    players: int  # per node
    policy: str = "consistent_hash"
    seed: int = 1

    @property
    def kind(self) -> str:
        return self.node.name

    @property
    def traffic(self) -> Traffic:
        return TRAFFIC[self.kind]

    def cell(self, env: simpy.Environment, seed: int = 0) -> Cell:
        """Returns a cell whose players have been there for long."""
        return Cell(
            env,
            self.node,
            self.traffic,
            nodes=self.nodes,
            players=self.nodes * self.players,
            policy=self.policy,
            seed=self.seed + 1000 * seed,
        )


def steady(setting: Setting, seconds: float, hopeless_s: float = 0.0) -> dict[str, Any]:
    """A constant load after a warm-up. Ends half-way if the p95 is over `hopeless_s`, if given."""
    gc.disable()  # a simulation makes no cycles worth a search
    env = simpy.Environment()
    cell = setting.cell(env)
    env.run(WARM_UP_S)
    cell.stats.reset()
    busy = sum(node.busy_s for node in cell.nodes)
    env.run(WARM_UP_S + seconds / 2)
    if not hopeless_s or quantiles(np.array(cell.stats.waits))["p95_ms"] <= 1e3 * hopeless_s:
        env.run(WARM_UP_S + seconds)
    seconds = env.now - WARM_UP_S
    stats = cell.stats
    gc.enable()
    return {
        "players_per_node": setting.players,
        **quantiles(np.array(stats.waits)),
        "asked": stats.asked,
        "refused": stats.refused,
        "repeated_prefill": round(stats.repeated, 4),
        "tokens_per_s_per_node": round(stats.tokens / seconds / setting.nodes, 2),
        "busy": round((sum(node.busy_s for node in cell.nodes) - busy) / seconds / setting.nodes, 3),
        "balanced": stats.balanced(),
        "waits": stats.waits,
    }


def fits(found: dict[str, Any], target_s: float) -> bool:
    """Whether a steady run keeps to the target."""
    if found["p95_ms"] is None:
        return True
    return bool(found["p95_ms"] <= 1e3 * target_s and found["refused"] <= REFUSED * found["asked"])


def capacity(setting: Setting, target_s: float, seconds: float, tolerance: float = 0.03) -> dict[str, Any]:
    """The most players per node with which the p95 of the first word keeps to its target, by bisection."""
    node, traffic = setting.node, setting.traffic
    step = node.service.step_stream_s + node.service.step_base_s / node.slots
    high = max(2, int(traffic.cycle_s / (traffic.mean_answer * step)))  # decoding alone would be too much
    low, best = 0, None
    while high - low > max(1, tolerance * high):
        middle = (low + high) // 2
        found = steady(replace(setting, players=middle), seconds, 2 * target_s)
        if fits(found, target_s):
            low, best = middle, found
        else:
            high = middle
    figures = {} if best is None else {name: value for name, value in best.items() if name != "waits"}
    return {**figures, "policy": setting.policy, "target_ms": 1e3 * target_s, "players_per_node": low}


def launch(setting: Setting, worker_tps: float, spare: float, planned: bool) -> dict[str, Any]:
    """Players grow tenfold in five minutes, and stay.

    Args:
        setting: Nodes and players per node after the growth.
        worker_tps: Tokens per second of a node at its capacity.
        spare: Share of the capacity that stays free.
        planned: A schedule starts the nodes ten minutes before.
    """
    gc.disable()
    env = simpy.Environment()
    few = max(1, round(setting.nodes / 10))
    begin, growth, end = 600.0, 300.0, 1500.0
    cell = replace(setting, nodes=few).cell(env)
    name = setting.kind
    policy = AutoscalingPolicy(
        min_workers=few,
        max_workers=2 * setting.nodes,
        target_wait_ms=1e3 * TARGET_S,
        target_utilization=1.0 - spare,
        worker_tokens_per_s=worker_tps,
        start_s=setting.node.boot_s + setting.node.load_s,
    )
    schedule = None
    if planned:
        window = {"start": f"{EPOCH:%H:%M}", "end": "23:00", "replicas": setting.nodes}
        schedule = read_schedule("scheduled", {"window": window}, clock=clock_of(env))
    scaler = Scaler(cell, policy, PriceTable({name: {"usd_per_hour": 0}}), schedule)
    first, last = few * setting.players, setting.nodes * setting.players

    def grow() -> Any:
        yield env.timeout(begin)
        for second in range(int(growth)):
            yield env.timeout(1.0)
            cell.set_players(int(first + (last - first) * (second + 1) / growth))

    env.process(grow())
    env.run(end)
    gc.enable()
    spans = [(at, cell.stats.between(at, at + 30.0)) for at in np.arange(begin, end, 30.0)]
    p95 = [(at, float(np.percentile(waits, 95))) for at, waits in spans if len(waits)]
    late = [at for at, value in p95 if value > TARGET_S]
    return {
        "planned": planned,
        "nodes_before": few,
        "nodes_after": len(cell.serving),
        "nodes_max": max(serving + starting for _, serving, starting in scaler.history),
        "worst_p95_ms": round(1e3 * max(value for _, value in p95), 1),
        "seconds_over_target": 30 * len(late),
        "back_after_s": round(max(late) + 30.0 - begin) if late else 0,
        "refused": cell.stats.refused,
        "asked": cell.stats.asked,
        "balanced": cell.stats.balanced(),
    }


def node_lost(setting: Setting) -> dict[str, Any]:
    """One node of a cell dies under load."""
    env = simpy.Environment()
    cell = setting.cell(env)
    env.run(WARM_UP_S)
    cell.stats.reset()
    cell.kill_node(cell.serving[0])
    env.run(WARM_UP_S + 120.0)
    stats = cell.stats
    return {
        "nodes": setting.nodes,
        "cut": stats.cut,
        "broken": stats.broken,
        "retried": stats.retried,
        "moved": round(stats.moved / len(cell.players), 4),
        "resume_gap": quantiles(np.array(stats.gaps)),
        "first_60_s": quantiles(stats.between(WARM_UP_S, WARM_UP_S + 60.0)),
        "after_60_s": quantiles(stats.between(WARM_UP_S + 60.0, WARM_UP_S + 120.0)),
        "balanced": stats.balanced(),
    }


def cell_lost(setting: Setting, cells: int) -> dict[str, Any]:
    """One of several cells dies; its players go to the others by rendezvous hashing, and are cold there."""
    gc.disable()
    env = simpy.Environment()
    all_cells = {f"cell-{number}": setting.cell(env, number) for number in range(cells)}
    env.run(WARM_UP_S)
    before = np.concatenate([np.array(cell.stats.waits) for cell in all_cells.values()])
    for cell in all_cells.values():
        cell.stats.reset()
    lost = all_cells.pop("cell-0")
    requests = lost.fail()
    env.run(WARM_UP_S + FRONT_S)
    names = dict.fromkeys(all_cells, 1.0)
    homes = {player: rendezvous(repr(player.key), names)[0] for player in lost.players}
    for name, cell in all_cells.items():
        cell.adopt([player for player in lost.players if homes[player] == name], FRONT_S)
        cell.take_over([request for request in requests if homes[request.player] == name])
    env.run(WARM_UP_S + 180.0)
    gc.enable()

    def of(start: float, end: float) -> dict[str, Any]:
        spans = [cell.stats.between(WARM_UP_S + start, WARM_UP_S + end) for cell in all_cells.values()]
        return quantiles(np.concatenate(spans))

    stats = [cell.stats for cell in all_cells.values()]
    return {
        "cells": cells,
        "nodes_per_cell": setting.nodes,
        "players_per_node": setting.players,
        "before": quantiles(before),
        "first_60_s": of(0.0, 60.0),
        "after_60_s": of(60.0, 180.0),
        "cut": sum(one.cut for one in stats),
        "broken": sum(one.broken for one in stats),
        "retried": sum(one.retried for one in stats),
        "refused": sum(one.refused for one in stats),
        "resume_gap": quantiles(np.concatenate([np.array(one.gaps) for one in stats])),
        "balanced": all(one.balanced() for one in stats),
    }


def many_cells(setting: Setting, cells: int, seconds: float) -> dict[str, Any]:
    """Several cells side by side whose players are shared out by rendezvous hashing: one cell's figures."""
    env = simpy.Environment()
    chance = Random(setting.seed)
    names = [f"cell-{number}" for number in range(cells)]
    weights = dict.fromkeys(names, 1.0)
    homes = [
        rendezvous(repr(chance.random()), weights)[0] for _ in range(cells * setting.nodes * setting.players)
    ]
    side = []
    for number, name in enumerate(names):
        side.append(
            Cell(
                env,
                setting.node,
                setting.traffic,
                nodes=setting.nodes,
                players=homes.count(name),
                policy=setting.policy,
                seed=setting.seed + 1000 * number,
            )
        )
    env.run(WARM_UP_S)
    for cell in side:
        cell.stats.reset()
    env.run(WARM_UP_S + seconds)
    each = [quantiles(np.array(cell.stats.waits))["p95_ms"] for cell in side]
    together = quantiles(np.concatenate([np.array(cell.stats.waits) for cell in side]))
    return {"cells": cells, "nodes_per_cell": setting.nodes, **together, "p95_ms_each": each}
