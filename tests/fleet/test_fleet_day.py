"""24 hours of a control plane on a clock that the test moves: nothing grows, no row is lost or left over."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import math
import os
import tracemalloc
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from client_mock import MockServer, Reply, Request
from fleet_control import Clock, FakePlacement
from fleet_upstream import Upstream, body
from sotto.fleet.autoscaling import Autoscaler, AutoscalingPolicy, Load
from sotto.fleet.control.connections import Connections
from sotto.fleet.control.gateway import Answer
from sotto.fleet.control.jobs import RETRIES
from sotto.fleet.control.service import Service
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.control.store import Store
from sotto.fleet.control.tables import (
    Event,
    Job,
    NodeRow,
    Project,
    Quota,
    QuotaWindow,
    UsageWriter,
    Workload,
)
from sotto.fleet.control.tokens import Identity
from sotto.fleet.control.usage import totals
from sotto.fleet.prices import PriceTable

STEP = 60 if os.environ.get("SOTTO_FULL") else 900  # seconds
HOUR, DAY = 3600, 86_400
WARM, MAX_GROWTH = 6 * HOUR, 400 << 10  # bytes that Python may hold more at the end than after 6 hours
EVENING = {"window": {"start": "18:00", "end": "23:00"}, "replicas": 3, "replicas_outside": 1}


class Receiver(MockServer):
    """Receives webhooks; is out of order at times. Notes the ids of the jobs that it took."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.taken: list[str] = []

    def reply_to(self, request: Request) -> Reply:
        broken = self._clock.now % (4 * HOUR) < HOUR  # one hour in four
        if not broken:
            self.taken.append(request.body["job_id"])
        return Reply({}, 503 if broken else 200)


@pytest.fixture
def clock() -> Clock:
    """The clock of everything here."""
    return Clock()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A workload."""
    with Upstream() as made:
        yield made


@pytest.fixture
def receiver(clock: Clock) -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with Receiver(clock) as made:
        yield made


class Day:
    """A service that is driven step by step, and what it has to hold at the end."""

    def __init__(self, service: Service, placement: FakePlacement, clock: Clock) -> None:
        self.service, self.placement, self._clock = service, placement, clock
        self.requests = 0
        self.jobs: list[str] = []
        self.identity: Identity

    async def begin(self, webhook: str) -> None:
        """Makes the project, its key, quota, webhook and workloads."""
        await self.placement.start(self.service.reconciler._reports.note)
        await self.service.changes.start()
        async with self.service.store.write() as session:
            session.add(
                Project(id="p", slug="acme", created_at=0.0, webhook_url=webhook, webhook_secret="whsec_x")
            )
            await session.flush()
            session.add(Quota(project_id="p", metric="requests", seconds=60, amount=100))
        await self._create("smith", {})
        await self._create("evening", EVENING, "scheduled")
        self.identity = await self._key()
        await self.step()

    async def _create(self, slug: str, config: dict[str, Any], policy: str = "fixed") -> str:
        given = {"name": slug, "slug": slug, "backend": "llamacpp", "model_name": "m"}
        more = {"execution_policy": policy, "execution_policy_config": config}
        made, _ = await self.service.workloads.create("p", {**given, **more})
        return str(made.id)

    async def _key(self) -> Identity:
        token = await self.service.tokens.create("acme", "live")
        found = await self.service.tokens.identify(f"Bearer {token}")
        return found

    async def step(self) -> None:
        """What the loops of the service do once."""
        assert await self.service.reconciler.step()
        while await self.service.jobs.step():
            pass
        await self.service.usage.flush()

    async def ask(self) -> None:
        """Sends a request to the workload that is always there."""
        route = await self.service.workloads.route("p", "smith")
        data = json.dumps(body(user=f"player {self.requests}")).encode()
        work = self.service.gateway.complete
        answer: Answer = await work(
            self.identity, "smith", route, "chat/completions", data, "application/json"
        )
        assert answer.status == 200
        self.requests += 1

    async def submit(self) -> None:
        """Sends a job."""
        route = await self.service.workloads.route("p", "smith")
        job = {"kind": "chat", "body": body()}
        self.jobs.append(await self.service.jobs.submit(self.identity, route, job))
        self.requests += 1

    async def churn(self, hour: int) -> None:
        """A workload that comes and goes, a new version of another, a key that is revoked."""
        id = await self._create(f"visitor-{hour}", {})
        await self.step()
        await self.service.workloads.route("p", f"visitor-{hour}")
        await self.service.workloads.delete(id)
        await self.step()
        while self.service.reconciler._removing:
            await asyncio.gather(*self.service.reconciler._removing.values())
        smith = await self.service.workloads.by_slug("p", "smith")
        for version in range(10):
            await self.service.workloads.change(smith.id, {"config": {"threads": 1 + version}})
            assert await self.service.reconciler.step()
        assert await self.service.tokens.revoke((await self._key()).token_id)

    async def count(self, table: Any, *where: Any) -> int:
        """Returns the number of rows of a table."""
        async with self.service.store.read() as session:
            query = select(func.count()).select_from(table).where(*where)
            return int(await session.scalar(query) or 0)


def replicas_due(now: float) -> int:
    """Returns the replicas of `EVENING`."""
    hour = datetime.fromtimestamp(now, timezone.utc).hour
    return 3 if 18 <= hour < 23 else 1


def test_24_hours(tmp_path: Path, clock: Clock, upstream: Upstream, receiver: Receiver) -> None:
    logging.disable(logging.CRITICAL)  # pytest keeps records
    try:
        asyncio.run(_day(tmp_path, clock, upstream, receiver))
    finally:
        logging.disable(logging.NOTSET)
        tracemalloc.stop()


async def _day(tmp_path: Path, clock: Clock, upstream: Upstream, receiver: Receiver) -> None:
    placement = FakePlacement(upstream.url)
    service = Service(await Store.open(str(tmp_path / "fleet.db")), placement, ControlSettings(), clock)
    import httpx2

    service.jobs._http = httpx2.AsyncClient(trust_env=False)
    day = Day(service, placement, clock)
    await day.begin(f"{receiver.url}/hook")
    began, held = clock.now, 0
    prices = PriceTable({"own": {"usd_per_hour": 0, "nodes": 2}, "rented": {"usd_per_hour": 0.5}})
    policy = AutoscalingPolicy(min_workers=1, max_workers=12, max_hourly_cost_usd=4.0)
    scaler, workers = Autoscaler(policy, prices, clock=clock), {"own": 1}
    peak = 0
    while clock.now - began < DAY:
        clock.now += STEP
        passed = round(clock.now - began)
        await day.ask()
        if passed % 1800 == 0:
            await day.submit()
        if passed % (2 * HOUR) == 0:
            await day.churn(passed // HOUR)
            for server in (upstream, receiver):
                server.requests.clear()
        await day.step()
        evening = next(one for one in placement.current.values() if one.slug == "evening")
        assert evening.replicas == replicas_due(clock.now), passed
        players = 50 * (1 - math.cos(2 * math.pi * passed / DAY))
        load = Load(waiting=round(players / 10), wait_s=players / 50, tokens_per_s=8 * players, ready=workers)
        decision = scaler.decide(load)
        workers = dict(decision.workers)
        assert 1 <= decision.total <= 12 and decision.hourly_cost_usd <= 4.0
        peak = max(peak, decision.total)
        if passed == WARM:
            tracemalloc.start()
        if passed == WARM + 2 * HOUR:
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - held
    assert peak > 3 and sum(workers.values()) < peak  # it followed the day
    assert held and grown < MAX_GROWTH, grown
    await _check_rows(day, clock, receiver)
    await service.jobs.stop()
    await service.gateway.close()
    await service.changes.stop()
    await service.store.close()


async def _check_rows(day: Day, clock: Clock, receiver: Receiver) -> None:
    """Each request is counted, each job has been delivered, and nothing is left of what is over."""
    (row,) = await totals(day.service.store)
    assert (row["requests"], row["completion_tokens"]) == (day.requests, 8 * day.requests)
    for wait in RETRIES:  # the last jobs
        clock.now += wait + 2 * HOUR - (clock.now % (4 * HOUR)) % HOUR
        await day.step()
    assert len(day.jobs) == 48 and sorted(receiver.taken) == sorted(day.jobs)
    assert await day.count(Job, Job.state == "done") == await day.count(Job) == 48
    assert await day.count(Workload) == 2 and len(day.placement.current) == 2
    smith = await day.service.workloads.by_slug("p", "smith")
    assert (
        await day.count(Event, Event.workload_id == smith.id) == 200
    )  # 12 x 10 versions, at two events each
    assert await day.count(Event) <= 200 + 48
    assert await day.count(NodeRow) == await day.count(UsageWriter) == 1
    assert await day.count(QuotaWindow) <= 2
    clock.now += 8 * DAY
    await day.step()
    assert await day.count(Job) == await day.count(QuotaWindow) == await day.count(UsageWriter) == 0
    assert (await totals(day.service.store)) == [row]  # usage is kept


def test_connections_of_versions_that_ended_are_closed() -> None:
    async def run() -> None:
        now = [0.0]
        made = Connections(60.0, lambda: now[0])
        first = await made.to("http://127.0.0.1:1")
        assert await made.to("http://127.0.0.1:1") is first
        for number in range(2, 200):
            now[0] += 1.0
            await made.to(f"http://127.0.0.1:{number}")
            await made.to("http://127.0.0.1:2")  # which is in use
        assert len(made) == 62 and first.is_closed
        assert not (await made.to("http://127.0.0.1:2")).is_closed
        await made.close()
        assert len(made) == 0

    asyncio.run(run())
