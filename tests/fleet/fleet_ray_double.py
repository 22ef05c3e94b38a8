"""A double of a Ray cluster, and placements on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from sotto.fleet.cluster import settings, workload
from sotto.fleet.cluster.cluster import Application, Cluster
from sotto.fleet.cluster.needs import Planned, RayNode, selected
from sotto.fleet.cluster.placement import RayPlacement
from sotto.fleet.control.placement import Deployment, Report

MB = 1 << 20
VERSION = settings.version_label()
W = Deployment("w0", 1, "acme", "smith", "m", "llamacpp", "text2text")


def node(name: str, **fields: Any) -> RayNode:
    """Returns a free node of 4 cores and 1000 MB."""
    given = {"cores": 4.0, "memory": 1000 * MB, "free_cores": 4.0, "free_memory": 1000 * MB, **fields}
    return RayNode(f"id-{name}", name, given.pop("version", VERSION), "10.0.0.1", **given)


class FakeCluster(Cluster):
    """Runs nothing. `behave`: status, and number of running replicas, of an application that is deployed."""

    def __init__(self) -> None:
        self.known: dict[str, Application] = {}
        self.has = [node("a")]
        self.calls: list[str] = []
        self.plans: Planned | str = Planned(100)
        self.files: dict[str, str] = {}  # fingerprints of the model's file, by node
        self.behave: Callable[[str], tuple[str, str]] = lambda name: ("RUNNING", "")
        self.down = False
        self.on_look: Callable[[], object] = lambda: None

    def connect(self) -> None: ...

    def start_serve(self) -> None:
        self.calls.append("start")

    def address(self, name: str) -> str:
        return f"http://here/{name}"

    def applications(self) -> dict[str, Application]:
        self.on_look()
        if self.down:
            raise RuntimeError("the controller died")
        return dict(self.known)

    def nodes(self) -> list[RayNode]:
        return list(self.has)

    def plan(self, deployment: Deployment, nodes: list[RayNode]) -> dict[str, Planned | str]:
        if isinstance(self.plans, str):
            return dict.fromkeys((one.name for one in nodes), self.plans)
        return {one.name: self.plans._replace(file=self.files.get(one.name, "")) for one in nodes}

    def deploy(self, name: str, deployment: Deployment, actor: Any) -> None:
        self.calls.append(f"deploy {name} {deployment.replicas}")
        status, message = self.behave(name)
        count = deployment.replicas if status == "RUNNING" else 0
        places = [one.ray_id for one in self.has if one.name in selected(actor)] or ["id-gone"]
        running = frozenset((places[pid % len(places)], pid) for pid in range(count))
        self.known[name] = Application(status, message, deployment.replicas, running, actor)

    def delete(self, name: str) -> None:
        self.calls.append(f"delete {name}")
        self.known.pop(name, None)


class Run:
    """A placement on the double, and what it reported."""

    def __init__(self, **limits: Any) -> None:
        self.cluster = FakeCluster()
        self.placement = RayPlacement(self.cluster, **limits)
        self.reports: list[Report] = []

    async def __aenter__(self) -> Run:
        async def note(report: Report) -> None:
            self.reports.append(report)

        await self.placement.start(note)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.placement.stop()

    async def until(self, phase: str, words: str = "") -> Report:
        """Waits for a report, from the last one on."""
        end = time.monotonic() + 30
        while not (self.reports and self.reports[-1].phase == phase and words in self.reports[-1].message):
            assert time.monotonic() < end, self.reports[-3:]
            await asyncio.sleep(0.01)
        return self.reports[-1]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls often, and waits for nothing."""
    monkeypatch.setattr("sotto.fleet.cluster.view._EVERY", 0.01)
    monkeypatch.setattr(workload, "_GRACE", 0.02)
    monkeypatch.setattr(workload, "_RESTARTS", (0.0, 0.0, 0.0))
