"""Autoscaling in a control plane: the load that processes measure, and the replicas that follow from it."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sotto.fleet as fleet
from client_mock import Reply
from fleet_control import Clock, Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import Upstream, body
from sotto import cli
from sotto.fleet.control.load import FleetLoad, LoadLog
from sotto.fleet.control.meter import WINDOW, Live, Meter, total
from sotto.fleet.control.placement import Places
from sotto.fleet.control.scaling import Scaling
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.control.store import Store
from sotto.fleet.control.usage import Tail
from sotto.fleet.prices import NodePrices

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"


def test_a_stream_waits_until_its_first_token() -> None:
    clock = Clock()
    meter = Meter(clock)
    request = meter.began("w", streamed=True)
    clock.now += 2
    live = meter.live()["w"]
    assert (live.running, live.waiting) == (1, 1) and live.wait_s(0.95) == pytest.approx(2, rel=0.13)
    tail = Tail(request.wrote)
    tail.add(b'data: {"choices": []}\n\ndata: {"choices": []}\n\n')
    clock.now += 1
    live = meter.live()["w"]
    assert (live.running, live.waiting, live.tokens_per_second) == (1, 0, 2 / WINDOW)
    assert live.wait_s(0.95) == pytest.approx(2, rel=0.13)
    request.end(5, 3.0)
    request.end(5, 3.0)
    live = meter.live()["w"]
    assert (live.running, live.requests_per_minute) == (0, 60 / WINDOW)
    assert live.tokens_per_second == pytest.approx(5 / WINDOW)


def test_a_whole_answer_waits_for_all_but_its_generation() -> None:
    clock = Clock()
    meter = Meter(clock)
    first = meter.began("w")
    clock.now += 5
    assert meter.live()["w"].waiting == 0  # nothing is known of generation yet
    first.end(20, 3.0)
    assert meter.live()["w"].wait_s(0.95) == pytest.approx(2, rel=0.13)
    meter.began("w")
    clock.now += 2.9
    assert meter.live()["w"].waiting == 0
    clock.now += 4
    assert meter.live()["w"].waiting == 1 and meter.live()["w"].wait_s(1) == pytest.approx(3.9, rel=0.13)


def test_waits_of_all_sizes_and_clocks_that_go_back() -> None:
    clock = Clock()
    meter = Meter(clock)
    for seconds in (0.0, 1e-9, 0.01, 1.0, 1e6):
        request = meter.began("w", streamed=True)
        clock.now += seconds
        request.wrote(1)
        request.end(1, None)
        assert meter.live()["w"].wait_s(1.0) >= 0
        clock.now += WINDOW
    meter.began("w", streamed=True)
    clock.now -= 100
    assert meter.live()["w"].wait_s(1.0) < 0.02
    assert Live().wait_s(0.95) == 0 and total([]) == Live()


def test_time_of_generation_is_read_from_answers() -> None:
    def of(text: str) -> float | None:
        tail = Tail()
        tail.add(text.encode())
        return tail.generation_s()

    assert of('{"timings": {"predicted_ms": 1500}}') == 1.5
    assert of('data: {"timings": {"predicted_ms": 250.0}}\n\ndata: [DONE]\n\n') == 0.25
    for wrong in ("", "{}", '{"timings": {}}', '{"timings": 3}', '{"timings": {"predicted_ms": true}}',
                  '{"timings": {"predicted_ms": -1}}', '{"timings": {"predicted_ms": NaN}}'):  # fmt: skip
        assert of(wrong) is None


def test_the_load_of_all_processes_is_summed(database: str) -> None:
    async def run() -> None:
        store, clock, own = await Store.open(database), Clock(), Clock()
        meters = [Meter(clock), Meter(clock)]
        logs = [LoadLog(store, meter, clock) for meter in meters]
        load = FleetLoad(store, own)
        try:
            for meter in meters:
                meter.began("w", "a", streamed=True)
            meters[0].missed("v")
            clock.now += 1
            for log in logs:
                await log.flush()
            found = await load.read()
            assert (found["w"].running, found["w"].waiting, found["w"].sessions) == (2, 2, 2)
            assert found["w"].wait_s(0.95) == pytest.approx(1, rel=0.13) and found["v"].waiting == 1
            for _ in range(3):  # the second process is killed, and the clock of the first one is set back
                own.now += 4
                clock.now -= 1000
                await logs[0].flush()
                found = await load.read()
            assert found["w"].running == 1
            await logs[0].stop()
            assert await load.read() == {}
        finally:
            await store.close()

    asyncio.run(run())


class Slow(Upstream):
    """A workload that begins to answer streams when it may. `waits`: a request that waits releases it."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.waits = threading.Event(), threading.Semaphore(0)

    def reply_to(self, request: Any) -> Reply:
        """Returns the reply to a request."""
        if request.path != "/health":
            self.waits.release()
            self.may.wait(30)
        return super().reply_to(request)


class Plane:
    """A control plane with an autoscaled workload, whose clock the test moves."""

    def __init__(self, control: Control, upstream: Slow, clock: Clock) -> None:
        self.control, self.upstream, self.clock = control, upstream, clock
        self.key = control.token("live")

    def ensure(self, **config: Any) -> None:
        """Declares the workload `smith`."""
        control = self.control
        client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
        fields = {"execution_policy": "autoscaling", "execution_policy_config": {"max_workers": 6, **config}}
        client.ensure(spec(**fields))
        client.wait_until_ready("smith", timeout=30, silent=True)
        self.pass_time(2)

    def pass_time(self, seconds: float) -> int:
        """Moves the clock, decides and deploys. Returns the number of replicas."""
        for _ in range(max(1, int(seconds / 2))):
            self.clock.now += 2
            self.control.run(self.control.service.load_log.flush())
            self.control.run(self.control.service.reconciler.reconcile())
        return self.control.deployed("smith").replicas

    def ask(self, stream: bool = True) -> threading.Thread:
        """Sends a request that waits. Returns its thread."""
        thread = threading.Thread(
            target=self.control.ask, args=("POST", CHAT_PATH, self.key, body(stream=stream))
        )
        thread.start()
        assert self.upstream.waits.acquire(timeout=30)
        return thread


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """A control plane; a node costs 1 USD in an hour."""
    clock = Clock()
    with Slow() as upstream:
        settings = ControlSettings(prices=NodePrices(1.0), delete_wait=5.0)
        with Control(tmp_path / "fleet.db", FakePlacement(upstream.url), clock, settings) as control:
            yield Plane(control, upstream, clock)
            upstream.may.set()


@pytest.mark.row("D-176", "D-177")
def test_replicas_follow_the_load(plane: Plane) -> None:
    plane.ensure(min_workers=1, scale_down_after_s=60)
    assert plane.control.deployed("smith").replicas == 1
    asked = [plane.ask() for _ in range(4)]
    assert plane.pass_time(20) == 6  # never above `max_workers`
    plane.upstream.may.set()
    for thread in asked:
        thread.join()
    assert plane.pass_time(WINDOW) == 6
    assert plane.pass_time(500) == 1


@pytest.mark.row("D-177")
def test_a_workload_without_replicas_wakes_for_a_request(plane: Plane) -> None:
    plane.upstream.may.set()
    plane.ensure(min_workers=0, scale_down_after_s=20)
    assert plane.pass_time(2) == 0
    placement: FakePlacement = plane.control.placement
    plane.control.say("smith", "scheduling", "the execution policy schedules no replica now")
    answer = plane.control.ask("POST", CHAT_PATH, plane.key, body())
    assert answer.status_code == 503 and "retry-after" in answer.headers
    assert plane.pass_time(6) == 1
    plane.control.run(placement.say("smith", "ready", "serving"))
    assert plane.control.ask("POST", CHAT_PATH, plane.key, body()).status_code == 200
    assert plane.pass_time(100) == 0


def test_numbers_stay_while_the_store_cannot_be_read(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane.ensure(min_workers=1, scale_down_after_s=2)
    asked = [plane.ask() for _ in range(4)]
    assert plane.pass_time(20) == 6
    plane.upstream.may.set()
    for thread in asked:
        thread.join()

    async def fail() -> None:
        raise OSError("no route to host")

    with monkeypatch.context() as patched:
        patched.setattr(plane.control.service.scaling._load, "read", fail)
        assert plane.pass_time(100) == 6
    assert plane.pass_time(100) == 1


def test_the_page_shows_replicas_and_waits(plane: Plane) -> None:
    plane.ensure(min_workers=2)
    thread = plane.ask()
    plane.clock.now += 1
    plane.control.run(plane.control.service.load_log.flush())
    found = plane.control.ask("GET", "/api/overview", plane.control.token()).json()["workloads"][0]
    assert found["replicas"] == {"ready": 2, "wanted": 2} and found["waiting"] == 1
    assert found["wait_p95_ms"] == pytest.approx(1000, rel=0.13)
    plane.upstream.may.set()
    thread.join()


class History:
    """Nodes that come, go and are filled by others, and a load, at random."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.clock = chance, Clock()
        self.usd = {f"n{number}": chance.choice((0.0, 0.25, 0.5, 1.0, 3.0)) for number in range(6)}
        self.prices = NodePrices(1.0, self.usd)
        self.room: dict[str, int] = {}
        self.replicas, self.nodes = 0, tuple[str, ...]()
        least = chance.choice((0, 0, 1, 2))
        config: dict[str, Any] = {"max_workers": least + chance.randint(1, 9), "min_workers": least}
        if chance.random() < 0.7:
            config["max_hourly_cost_usd"] = chance.choice((0.25, 0.6, 1.0, 2.5))
        if chance.random() < 0.4:
            config["workers"] = chance.sample(sorted(self.usd), 3)
        config["scale_down_after_s"] = chance.choice((0, 10, 60))
        self.config = config
        self.workload: Any = SimpleNamespace(
            id="w", slug="w", execution_policy="autoscaling", execution_policy_config=config
        )
        self.scaling = Scaling(self, self, self.prices, self.clock)  # type: ignore[arg-type]

    async def read(self) -> dict[str, Live]:
        chance = self.chance
        if chance.random() < 0.1:
            raise OSError("the store is down")
        waits = tuple(chance.randint(0, 3) for _ in range(chance.choice((0, 20, 48))))
        return {"w": Live(9, chance.randint(0, 9), 9, 1.0, chance.uniform(0, 300), waits)}

    def places(self, workload_id: str) -> Places:
        ready: dict[str, int] = {}
        for number in range(self.replicas):
            where = self.nodes[number % len(self.nodes)] if self.nodes else "n0"
            ready[where] = ready.get(where, 0) + 1
        return Places(ready, dict(self.room), self.nodes or None)

    def step(self) -> None:
        chance = self.chance
        self.clock.now += chance.choice((0.5, 2, 2, 2, 30, -5))
        if chance.random() < 0.3:
            names = chance.sample(sorted(self.usd), chance.randint(0, 6))
            self.room = {name: chance.randint(0, 3) for name in names}
        asyncio.run(self.scaling.look([self.workload]))
        wanted = self.scaling.wanted(self.workload)
        assert 0 <= wanted.replicas <= self.config["max_workers"]
        if (ceiling := self.config.get("max_hourly_cost_usd")) is not None:
            assert wanted.nodes is not None
            assert sum(self.usd[name] for name in wanted.nodes) <= ceiling + 1e-9
        if listed := self.config.get("workers"):
            assert wanted.nodes is not None and set(wanted.nodes) <= set(listed)
        self.replicas, self.nodes = wanted.replicas, wanted.nodes or tuple(self.room)


@pytest.mark.row("D-177")
def test_bounds_and_prices_hold_in_all_histories() -> None:
    for seed in range(300):
        history = History(random.Random(seed))
        for _ in range(30):
            history.step()


def test_nodes_stay_while_the_ceiling_allows_them() -> None:
    history = History(random.Random(1))
    history.usd.update(n0=1.0, n1=1.0, n2=0.5, n3=0.5)
    history.prices = NodePrices(1.0, history.usd)
    policy = {"max_workers": 9, "max_hourly_cost_usd": 2.0}
    history.workload.execution_policy_config = policy
    scaling = Scaling(history, history, history.prices, history.clock)  # type: ignore[arg-type]

    def nodes(**room: int) -> tuple[str, ...] | None:
        history.room = room
        history.clock.now += 2
        asyncio.run(scaling.look([history.workload]))
        return scaling.wanted(history.workload).nodes

    assert nodes(n0=1, n1=1) == ("n0", "n1")
    assert nodes(n0=1, n1=1, n2=1) == ("n0", "n1")  # the cheaper one came later
    assert nodes(n0=1) == ("n0", "n1")  # one that left keeps its place
    assert nodes(n0=1, n2=1, n3=1) == ("n0", "n2", "n3")  # unless others need it
    assert nodes(n0=1, n1=1, n2=1, n3=1) == ("n0", "n2", "n3")


def test_numbers_stay_while_no_node_is_known() -> None:
    history = History(random.Random(1))
    history.workload.execution_policy_config = {"max_workers": 9, "scale_down_after_s": 0}
    scaling = Scaling(history, history, history.prices, history.clock)  # type: ignore[arg-type]
    history.room, history.replicas, history.nodes = {"n0": 9}, 5, ("n0",)
    found = []
    for _ in range(40):
        history.clock.now += 2
        asyncio.run(scaling.look([history.workload]))
        found.append(scaling.wanted(history.workload).replicas)
        history.replicas = found[-1]
    history.room = {}
    history.clock.now += 2
    asyncio.run(scaling.look([history.workload]))
    assert max(found) > 1 and scaling.wanted(history.workload).replicas == found[-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "invalid node prices"), ("{", "expected a JSON object"), ('{"a": -1}', "node prices.a"),
        ('{"a": "1"}', "node prices.a"), (None, "cannot read --node-prices"),
    ],
)  # fmt: skip
def test_wrong_files_of_prices(tmp_path: Path, capsys: Any, content: str | None, words: str) -> None:
    path = tmp_path / "prices.json"
    if content is not None:
        path.write_text(content)
    database = str(tmp_path / "fleet.db")
    assert cli.main(["fleet", "serve", "--database", database, "--node-prices", str(path)]) == 2
    assert words in capsys.readouterr().err


def test_prices_by_name() -> None:
    prices = NodePrices(0.1, {"gpu-1": 0.5, "gpu-*": 0.8})
    assert [prices.of(name) for name in ("gpu-1", "gpu-2", "cpu")] == [0.5, 0.8, 0.1]
    assert prices.listed("gpu-2", ("gpu-*",)) and prices.listed("gpu-2", ("gpu-2",))
    assert not prices.listed("gpu-1", ("gpu-*",)) and not prices.listed("cpu", ("gpu-*",))
