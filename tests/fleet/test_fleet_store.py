"""The store: migrations, addresses, an outage of PostgreSQL, and usage that is not lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

import fleet_postgres
import sotto.fleet as fleet
from fleet_control import Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import Upstream, body
from sotto import ArgumentError
from sotto.fleet.control.store import Store, parse_url
from sotto.fleet.control.tables import Base

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"


def test_migrations_make_the_tables(database: str) -> None:
    async def look() -> list[Any]:
        for _ in range(2):  # the second time, there is nothing to do
            store = await Store.open(database)
            async with store.engine.connect() as connection:
                found: list[Any] = await connection.run_sync(
                    lambda one: compare_metadata(MigrationContext.configure(one), Base.metadata)
                )
            await store.close()
        return found

    assert asyncio.run(look()) == []


def test_control_planes_that_start_at_once_migrate_once(database: str) -> None:
    script = "import asyncio, sys; from sotto.fleet.control.store import Store; "
    script += "asyncio.run(Store.open(sys.argv[1]))"
    started = [subprocess.Popen([sys.executable, "-c", script, database]) for _ in range(8)]
    assert [one.wait(60) for one in started] == [0] * 8

    async def versions() -> list[Any]:
        store = await Store.open(database)
        async with store.read() as session:
            found = (await session.scalars(text("SELECT version_num FROM alembic_version"))).all()
        await store.close()
        return list(found)

    assert asyncio.run(versions()) == ["0004"]


def test_a_store_of_a_newer_version_is_refused(database: str) -> None:
    async def look() -> None:
        store = await Store.open(database)
        async with store.write() as session:
            await session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        await store.close()
        with pytest.raises(ArgumentError, match=r"cannot open --database .*9999"):
            await Store.open(database)

    asyncio.run(look())


@pytest.mark.parametrize(
    "address",
    ["mysql://h/d", "://", "sqlite:///:memory:", "", "oracle://x", "postgresql://u:secret@127.0.0.1:1/d"],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ArgumentError, match="--database") as failed:
        asyncio.run(Store.open(address))
    assert "secret" not in str(failed.value)


def test_addresses() -> None:
    assert parse_url("/tmp/a.db").render_as_string() == "sqlite+aiosqlite:////tmp/a.db"
    assert parse_url("sqlite:///a.db").drivername == "sqlite+aiosqlite"
    assert parse_url("postgresql://h/d").drivername == "postgresql+psycopg"
    assert parse_url("postgresql+asyncpg://h/d").drivername == "postgresql+psycopg"


@pytest.fixture
def server() -> Iterator[fleet_postgres.Postgres]:
    """A PostgreSQL server that the test may stop."""
    with fleet_postgres.running() as made:
        yield made


def test_an_outage_of_the_store(server: fleet_postgres.Postgres) -> None:
    with Upstream() as upstream, Control(server.database(), FakePlacement(upstream.url)) as control:
        client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
        client.ensure(spec())
        client.wait_until_ready("smith", timeout=30, silent=True)
        key = control.token("live")
        assert control.ask("POST", CHAT_PATH, key, body()).status_code == 200
        server.stop()
        statuses = []
        end = time.monotonic() + 4
        while time.monotonic() < end:
            statuses.append(control.ask("POST", CHAT_PATH, key, body()).status_code)
        assert set(statuses) == {200}
        unknown = control.ask("POST", CHAT_PATH, key.replace(key[8:16], "00000000"), body())
        assert unknown.status_code == 503  # it cannot be looked up, and is not let in
        with pytest.raises(fleet.ApiError, match="store"):
            client.delete("smith")
        server.start()
        end = time.monotonic() + 60
        while True:
            answer = control.ask("GET", "/api/projects/acme/usage", control.token())
            if answer.status_code == 200 and answer.json()[0]["requests"] == len(statuses) + 1:
                break
            assert time.monotonic() < end, answer.text
            time.sleep(0.1)
        assert client.delete("smith") is True


def test_the_role_of_a_process_that_ends_is_taken(database: str) -> None:
    second = FakePlacement()
    with ExitStack() as first:
        one = first.enter_context(Control(database, FakePlacement()))
        client = fleet.ManagementClient(base_url=one.url, sdk_token=one.token(), project="acme")
        client.ensure(spec())
        one.deployed("smith")
        with Control(database, second) as two:
            time.sleep(0.3)
            assert second.current == {} and not two.service.reconciler.leads
            first.close()
            assert two.deployed("smith").slug == "smith"


def test_nothing_is_lost_of_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "b%20c.db"
    asyncio.run(_open(str(path)))
    assert path.stat().st_size > 0


async def _open(database: str) -> None:
    await (await Store.open(database)).close()
