"""PostgreSQL that is down under load or amid provisioning, a commit of unknown outcome, and a full disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

import fleet_postgres
import sotto.fleet as fleet
from fleet_control import Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import Upstream, body
from sotto.fleet.control.local import LocalPlacement
from sotto.fleet.control.role import LEASE, Role
from sotto.fleet.control.store import Store
from sotto.fleet.control.tables import Event, Project
from sotto.fleet.control.usage import Counts, UsageLog, totals

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"
SECONDS = 30.0 if os.environ.get("SOTTO_FULL") else 3.0
CLIENTS = 4
ANSWERS = 10  # of each client, at least, in each part of a test


@pytest.fixture
def server() -> Iterator[fleet_postgres.Postgres]:
    """A PostgreSQL server that the test may stop."""
    with fleet_postgres.running() as made:
        yield made


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A workload."""
    with Upstream() as made:
        yield made


class Load:
    """Clients of a workload that ask on and on, every other time for a stream; each has a key of its own."""

    def __init__(self, control: Control) -> None:
        self._url = control.url + CHAT_PATH
        self._keys = [control.token("live") for _ in range(CLIENTS)]
        self._ended = threading.Event()
        self.answers = [0] * CLIENTS
        self.tokens = [0, 0]  # of prompts and of answers
        self.slowest = 0.0
        self.broken: list[str] = []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(one,)) for one in range(CLIENTS)]

    def __enter__(self) -> Load:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        for one in self._threads:
            one.join()

    def more(self) -> None:
        """Waits until each client has got some more answers."""
        wanted = [one + ANSWERS for one in self.answers]
        until(lambda: self.broken or all(a >= b for a, b in zip(self.answers, wanted, strict=True)))
        assert self.broken == []

    def _ask(self, place: int) -> None:
        headers = {"Authorization": f"Bearer {self._keys[place]}"}
        with httpx2.Client(trust_env=False, verify=False, timeout=60) as http:
            while not self._ended.is_set():
                streams = self.answers[place] % 2 == 1
                began = time.monotonic()
                try:
                    answer = http.post(self._url, headers=headers, json=body(stream=streams))
                except httpx2.HTTPError as error:
                    self.broken.append(repr(error))
                    return
                whole = answer.text.endswith("data: [DONE]\n\n") if streams else answer.text.endswith("}")
                if answer.status_code != 200 or not whole:
                    self.broken.append(f"{answer.status_code}: {answer.text}")
                    return
                prompt, tokens = (7, 2) if streams else (12, 8)
                with self._lock:
                    self.answers[place] += 1
                    self.tokens = [self.tokens[0] + prompt, self.tokens[1] + tokens]
                    self.slowest = max(self.slowest, time.monotonic() - began)


def until(done: Any, seconds: float = 120.0) -> Any:
    """Waits until a condition is true. Returns its value."""
    end = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.02)
    return found


def ready(control: Control, slug: str = "smith", **fields: Any) -> fleet.ManagementClient:
    """Makes a workload, and waits until it is ready."""
    client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
    client.ensure(spec(slug=slug, **fields))
    client.wait_until_ready(slug, timeout=120, silent=True)
    return client


def used(control: Control) -> dict[str, int]:
    """Returns the usage of all keys together, as the store has it."""
    rows = control.run(totals(control.service.store, "acme"))
    names = ("requests", "failures", "prompt_tokens", "completion_tokens")
    return {name: sum(row[name] for row in rows) for name in names}


def test_postgresql_is_down_under_load(server: fleet_postgres.Postgres, upstream: Upstream) -> None:
    """No answer of a known key fails, and usage is that which the clients counted. `SOTTO_FULL`: 30 s."""
    with Control(server.database(), FakePlacement(upstream.url)) as control:
        client, token = ready(control), control.token()
        with Load(control) as load:
            load.more()
            server.stop()
            began = time.monotonic()
            assert not lists(control, token)
            while time.monotonic() - began < SECONDS:
                load.more()
            server.start()
            load.more()
            until(lambda: lists(control, token))
            ready(control, "second")  # the control plane goes on by itself
            load.more()
        assert load.broken == [] and load.slowest < 30
        counted = {
            "requests": sum(load.answers), "failures": 0,
            "prompt_tokens": load.tokens[0], "completion_tokens": load.tokens[1],
        }  # fmt: skip
        control.run(control.service.usage.flush())
        assert used(control) == counted
        assert client.delete("smith") and control.placement.calls[-1] == ("remove", "smith")


def lists(control: Control, token: str) -> bool:
    """Returns whether the control plane lists workloads; False: it refuses with status 503."""
    status = control.ask("GET", "/api/projects/acme/workloads", token).status_code
    assert status in (200, 503)
    return bool(status == 200)


def test_a_batch_of_unknown_outcome_is_added_once(database: str) -> None:
    """The connection breaks after the commit, before its acknowledgement; or before the commit."""

    class Breaking(Store):
        breaks: tuple[bool, ...] = ()

        @contextlib.asynccontextmanager
        async def write(self) -> AsyncIterator[AsyncSession]:
            after, self.breaks = self.breaks[:1], self.breaks[1:]
            lost = OperationalError("COMMIT", {}, Exception("server closed the connection"))
            async with super().write() as session:
                yield session
                if after == (False,):
                    raise lost
            if after == (True,):
                raise lost

    async def run() -> None:
        store = await Breaking.open(database)
        assert isinstance(store, Breaking)
        async with store.write() as session:
            session.add(Project(id="p", slug="acme", created_at=0.0))
        usage = UsageLog(store)
        usage.count("p", "w", "k", Counts(5, 3), False)
        store.breaks = (True, False, True)
        for more in range(3):
            with pytest.raises(OperationalError):
                await usage.flush()
            usage.count("p", "w", "k", Counts(0, more), True)
        await usage.flush()
        await usage.flush()
        (row,) = await totals(store)
        assert [row[name] for name in ("requests", "failures", "prompt_tokens", "completion_tokens")] == [
            4, 3, 5, 6,
        ]  # fmt: skip
        await store.close()

    asyncio.run(run())


def test_the_role_stays_where_it_was_after_an_outage(database: str) -> None:
    """Else the processes of the workloads would be ended and started elsewhere."""

    async def run() -> None:
        now = [1000.0]
        stores = [await Store.open(database) for _ in range(2)]
        one, two = (Role(store, "reconciler", lambda: now[0]) for store in stores)
        assert await one.take() and not await two.take()
        now[0] += 30  # the lease ends while neither reaches the store
        one.lost_sight()
        two.lost_sight()
        now[0] += 1
        assert not await two.take() and await one.take()
        now[0] += LEASE + 1  # now `one` is gone
        assert await two.take() and not await one.take()
        for store in stores:
            await store.close()

    asyncio.run(run())


def test_postgresql_restarts_amid_provisioning(server: fleet_postgres.Postgres, tmp_path: Path) -> None:
    """The process is started while the store is down; what it reported is written afterwards, in order."""
    placement = LocalPlacement(Path(tempfile.mkdtemp(prefix="sotto-")), drain=1.0)
    with Control(server.database(), placement) as control:
        token = control.token()
        client = fleet.ManagementClient(base_url=control.url, sdk_token=token, project="acme")
        key = control.token("live")
        client.ensure(spec(model="sotto/house"))
        until(placement.pids)
        server.stop()
        until(lambda: any(one._serving is not None for one in placement._runners.values()))
        assert not lists(control, token)
        (before,) = placement.pids()
        server.start()
        phases: list[str] = []
        client.wait_until_ready("smith", timeout=120, on_progress=lambda event: phases.append(event.phase))
        assert phases[-1] == "ready"
        data = fleet.DataClient(base_url=control.url, project="acme", api_key=key)
        assert data.endpoint("smith").generate_text(prompt="Hi", max_tokens=2).text
        assert placement.pids() == [before]  # it was not started again

        async def events() -> list[str]:
            async with control.service.store.read() as session:
                return list((await session.scalars(select(Event.phase).order_by(Event.id))).all())

        seen = list(dict.fromkeys(control.run(events())))
        assert seen == ["scheduling", "provisioning", "bootstrapping", "ready"]
        assert client.delete("smith") and placement.pids() == []


class Disk:
    """A file system of 4 MB in memory, which a test fills and empties."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Writes a file until there is no room."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self) -> None:
        """Removes the file."""
        self._ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "sotto", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"this user cannot mount a small disk: {mounted.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(disk: Disk, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    """Answers go on; requests that need the store say why they fail; all goes on when there is room."""
    with Control(disk.folder / "fleet.db", FakePlacement(upstream.url)) as control:
        client = ready(control)
        with Load(control) as load:
            load.more()
            disk.fill()
            until(lambda: "usage is kept until the store is back: database or disk is full" in caplog.text)
            load.more()
            with pytest.raises(fleet.ApiError, match="the disk of the control plane's store is full"):
                client.ensure(spec(slug="second"))
            control.say("smith", "ready", "serving, one replica died")
            control.say("smith", "ready", "serving again")
            assert "reports of workloads are kept until the store is back" in caplog.text
            load.more()
            disk.free()
            load.more()
            until(lambda: used(control)["requests"] > 0 and _message(control) == "serving again")
            ready(control, "second")
        assert load.broken == []
        control.run(control.service.usage.flush())
        found = used(control)
        assert (found["requests"], found["failures"]) == (sum(load.answers), 0)
        assert [found["prompt_tokens"], found["completion_tokens"]] == load.tokens
    with Control(disk.folder / "fleet.db", FakePlacement(upstream.url)) as control:
        assert used(control) == found  # the file is whole


def _message(control: Control) -> str:
    answer = control.ask("GET", "/api/projects/acme/workloads/smith", control.token())
    return str(answer.json()["message"])
