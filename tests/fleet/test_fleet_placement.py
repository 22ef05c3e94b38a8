"""Replicas of a workload on a double of the cluster, while their number and its nodes change."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from fleet_ray_double import Run, W, hurry, node
from sotto.fleet.control.placement import Places

__all__ = ["hurry"]  # a fixture


def test_replicas_use_nodes_that_came_later() -> None:
    async def run() -> None:
        async with Run() as it:
            it.cluster.has = [node("a", free_cores=2.0)]
            await it.placement.deploy(W)
            await it.until("ready")
            assert it.placement.places("w0") == Places({"a": 1}, {"a": 3}, ("a",))
            it.cluster.has.append(node("b", free_cores=1.0))
            it.cluster.has.append(node("old", version="0.0.1"))
            await it.placement.deploy(replace(W, replicas=3))
            await it.until("ready", "'a', 3 of 3 replicas")
            it.cluster.has = [node("a", free_cores=0.0), node("b", free_cores=1.0)]
            while it.placement.places("w0").room.get("b") != 1:
                await asyncio.sleep(0.01)
            await it.placement.deploy(replace(W, replicas=4))
            await it.until("ready", "'a', 'b', 4 of 4 replicas")
            await it.placement.deploy(replace(W, replicas=99))
            await it.until("ready", "99 of 99 replicas")  # the double holds all; Ray leaves the rest pending
            assert it.placement.places("w0").nodes == ("a", "b")
            assert not any("delete" in one for one in it.cluster.calls)

    asyncio.run(run())


def test_replicas_keep_to_the_nodes_of_their_workload() -> None:
    async def run() -> None:
        async with Run() as it:
            it.cluster.has = [node("a"), node("b")]
            await it.placement.deploy(replace(W, nodes=("b",)))
            await it.until("ready", "'b'")
            await it.placement.deploy(replace(W, nodes=("a",)))
            await it.until("ready", "'a'")
            await it.placement.deploy(replace(W, nodes=()))
            await asyncio.sleep(0.1)
            assert it.placement.places("w0").nodes == ("a",)  # what runs goes on
            await it.placement.deploy(replace(W, generation=2, nodes=()))
            await it.until("error", "execution_policy_config leaves no node")

    asyncio.run(run())
