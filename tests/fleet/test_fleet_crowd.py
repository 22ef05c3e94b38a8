"""Many at once: processes that ensure one slug, gateways that share a quota, reconcilers that race."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest
from sqlalchemy import func, select

import sotto.fleet as fleet
from fleet_control import Clock, Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import Upstream, body
from sotto.fleet.control.changes import Changes
from sotto.fleet.control.load import FleetLoad
from sotto.fleet.control.reconciler import Reconciler
from sotto.fleet.control.scaling import Scaling
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.control.store import Store
from sotto.fleet.control.tables import Project, Quota, QuotaWindow, Workload
from sotto.fleet.control.workloads import Workloads
from sotto.fleet.prices import NodePrices

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"
PROCESSES = 16
_ENSURE = """
import sys
from sotto.fleet import ManagementClient, WorkloadSpec
client = ManagementClient(base_url=sys.argv[1], sdk_token=sys.argv[2], project="acme")
print("up", flush=True)
sys.stdin.readline()
print(client.ensure(WorkloadSpec("Smith", "My Smith", "m", "llamacpp")).workload_slug)
"""


@pytest.mark.row("D-036", "D-018")
def test_16_processes_that_ensure_one_slug_make_one_workload(control: Control) -> None:
    """They are started before, and let go at once."""
    pipe, token = subprocess.PIPE, control.token()
    command = [sys.executable, "-c", _ENSURE, control.url, token]
    with ExitStack() as left:
        started = [
            left.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
            for _ in range(PROCESSES)
        ]
        for one in started:
            assert one.stdout is not None and one.stdout.readline() == "up\n"
        for one in started:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        said = [one.communicate(timeout=120)[0] for one in started]
    assert [one.returncode for one in started] == [0] * PROCESSES
    assert said == ["my-smith\n"] * PROCESSES

    async def rows() -> int | None:
        async with control.service.store.read() as session:
            return await session.scalar(select(func.count()).select_from(Workload))

    assert control.run(rows()) == 1
    control.deployed("my-smith")
    assert control.placement.calls == [("deploy", "my-smith")]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A workload."""
    with Upstream() as made:
        yield made


@pytest.mark.parametrize("metric, amount, cost", [("requests", 60, 1), ("tokens", 3000, 20)])
def test_gateways_that_are_asked_at_once_keep_a_quota(
    database: str, upstream: Upstream, metric: str, amount: int, cost: int
) -> None:
    """Three gateways on one store, four clients at each: granted is within a lease of the quota."""
    clock, settings = Clock(), ControlSettings(quota_lease=0.1)
    lease = amount // 10
    with ExitStack() as left:
        gateways = [
            left.enter_context(Control(database, FakePlacement(upstream.url), clock, settings))
            for _ in range(3)
        ]
        first = gateways[0]
        client = fleet.ManagementClient(base_url=first.url, sdk_token=first.token(), project="acme")
        client.ensure(spec())
        client.wait_until_ready("smith", timeout=30, silent=True)
        key = first.token("live")

        async def limit() -> None:
            async with first.service.store.write() as session:
                project = (await session.scalars(select(Project))).one()
                session.add(Quota(project_id=project.id, metric=metric, seconds=60, amount=amount))

        first.run(limit())
        barrier = threading.Barrier(3 * 4)

        def ask(place: int) -> int:
            """Asks until the gateway has refused twice. Returns how many requests were answered."""
            answered = refused = 0
            barrier.wait()
            with httpx2.Client(trust_env=False, verify=False, timeout=60) as http:
                while refused < 2:
                    headers = {"Authorization": f"Bearer {key}"}
                    url = gateways[place % 3].url + CHAT_PATH
                    status = http.post(url, headers=headers, json=body(max_tokens=8)).status_code
                    assert status in (200, 429), status
                    answered, refused = answered + (status == 200), refused + (status == 429)
            return answered

        with ThreadPoolExecutor(3 * 4) as pool:
            granted = sum(pool.map(ask, range(3 * 4))) * cost

        async def leased() -> int | None:
            async with first.service.store.read() as session:
                return await session.scalar(select(func.sum(QuotaWindow.leased)))

        assert first.run(leased()) == pytest.approx(amount, abs=lease)
    assert amount - 3 * lease <= granted <= amount + lease


def test_two_reconcilers_never_have_the_role_at_once(database: str) -> None:
    """They look at the same moments, over 300 steps of a clock in which either one is often away."""

    async def run() -> None:
        clock = Clock()
        stores = [await Store.open(database) for _ in range(2)]
        made, placements = [], []
        for store in stores:
            changes = Changes(store)
            placement = FakePlacement()
            workloads = Workloads(store, changes, ControlSettings(), clock)
            await placement.start(workloads.report)
            scaling = Scaling(FleetLoad(store), placement, NodePrices(), clock)
            made.append(Reconciler(store, changes, workloads, placement, scaling, clock))
            placements.append(placement)
        had = [0, 0]
        for step in range(300):
            clock.now += 4.0
            here = [one for place, one in enumerate(made) if step // (7 + 3 * place) % 2 == 0]
            taken = await asyncio.gather(*(one._lead() for one in here))
            assert sum(taken) <= 1, step
            for place, one in enumerate(made):
                if one in here:
                    had[place] += taken[here.index(one)]
        assert min(had) > 20  # the role went to and fro
        for store in stores:
            await store.close()

    asyncio.run(run())
