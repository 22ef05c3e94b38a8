"""The data plane in a replica: keys, quotas, usage, names, and how ingresses learn of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from fleet_control import Control, FakePlacement
from fleet_dataplane import USAGE, Replica
from fleet_postgres import Postgres
from sotto.errors import ArgumentError
from sotto.fleet.control.changes import QUOTAS, Changes
from sotto.fleet.control.placement import Deployment, Report
from sotto.fleet.control.replicas import Place, Replicas
from sotto.fleet.control.store import Store
from sotto.fleet.control.tables import Quota, ReplicaRow
from sotto.fleet.control.usage import totals
from sotto.fleet.dataplane.names import Name
from sotto.fleet.ingress import Route
from sotto.fleet.ingress.following import follow_store


class Plane(Control):
    """A control plane with one workload, `smith`."""

    def provision(self) -> Deployment:
        """Declares the workload. Returns what a placement gets."""
        body = {"name": "smith", "slug": "smith", "model_name": "m", "backend": "llamacpp"}
        body |= {"task_type": "text2text"}
        made = self.ask("POST", "/api/projects/acme/workloads", self.token(), body)
        assert made.status_code in (200, 201), made.text
        return self.deployed("smith")

    def report(self, deployment: Deployment, serving: int | None) -> None:
        """Reports which version serves."""
        told = Report(deployment.workload_id, deployment.generation, "ready", "", None, None, serving)
        self.run(self.service.workloads.report(told))

    def limit(self, metric: str, amount: int) -> None:
        """Sets a quota of the project, of an hour."""

        async def change() -> None:
            async with self.service.store.write() as session:
                token = self.service.tokens
                project = (await token.all("acme"))[0][0].project_id
                session.add(Quota(project_id=project, metric=metric, seconds=3600, amount=amount))
                await self.service.changes.announce(session, QUOTAS)
            self.service.changes.deliver(QUOTAS)

        self.run(change())

    def usage(self) -> dict[str, Any]:
        """Returns the usage of the project that is in the store."""
        found = self.run(totals(self.service.store, "acme"))
        return {name: sum(one[name] for one in found) for name in ("requests", "failures", *USAGE)}


@pytest.fixture
def plane(database: str) -> Iterator[Plane]:
    """A control plane, on both kinds of stores."""
    with Plane(database, FakePlacement()) as made:
        yield made


def _until(condition: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.01)


def test_a_request_with_a_key_is_answered_and_counted(plane: Plane, database: str) -> None:
    deployment, key = plane.provision(), plane.token("live")
    with Replica(database, deployment) as replica:
        assert httpx2.get(replica.url + "/ready").status_code == 200
        answer = replica.ask(key, body={"messages": [], "x": 1})
        assert answer.status_code == 200 and answer.json() == {"usage": USAGE}
        replica.app.status = 500
        assert replica.ask(key).status_code == 500
        assert replica.app.bodies[0] == {"messages": [], "x": 1}
        _until(lambda: plane.usage() == {"requests": 2, "failures": 1, **USAGE})


def test_what_is_refused(plane: Plane, database: str) -> None:
    deployment = plane.provision()
    others = [plane.token("live", project="other"), plane.token("live", workload="mara"), plane.token("sdk")]
    key = plane.token("live", workload="smith")
    with Replica(database, deployment, max_body_bytes=100) as replica:
        assert [replica.ask(one).status_code for one in (None, "x", *others)] == [401, 401, 403, 403, 403]
        for path, words in (
            ("/jobs", "the control plane takes jobs"),
            ("/v1/models/load", "no route '/v1/models/load'"),
            ("/metrics", "replicas answer '/v1/...' alone"),
        ):
            refused = replica.ask(key, path)
            assert refused.status_code == 404 and words in refused.json()["message"]
        assert replica.ask(key, body={"messages": ["x" * 100]}).status_code == 413
        assert replica.ask(key, body=[1]).status_code == 400
        assert replica.app.bodies == [] and replica.ask(key).status_code == 200


def test_a_revoked_key_is_refused_within_a_second(plane: Plane, database: str) -> None:
    deployment, key = plane.provision(), plane.token("live")
    with Replica(database, deployment) as one, Replica(database, deployment, "b") as other:
        assert one.ask(key).status_code == other.ask(key).status_code == 200
        plane.run(plane.service.tokens.revoke(key.split("_")[2]))
        _until(lambda: one.ask(key).status_code == other.ask(key).status_code == 401, 1.0)


def test_quotas_are_shared_by_replicas(plane: Plane, database: str) -> None:
    """Together they grant what the quota has, and at most one lease less."""
    deployment, key = plane.provision(), plane.token("live")
    plane.limit("requests", 40)
    with Replica(database, deployment) as one, Replica(database, deployment, "b") as other:
        statuses: list[int] = []

        def ask(replica: Replica) -> None:
            for _ in range(40):
                statuses.append(replica.ask(key).status_code)

        threads = [threading.Thread(target=ask, args=(which,)) for which in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) == {200, 429} and statuses.count(200) == 40
        refused = one.ask(key)
        assert refused.json()["code"] == "quota_exceeded" and int(refused.headers["retry-after"]) > 0


def test_tokens_that_were_not_used_are_given_back(plane: Plane, database: str) -> None:
    deployment, key = plane.provision(), plane.token("live")
    plane.limit("tokens", 2000)
    with Replica(database, deployment, default_max_tokens=900) as replica:
        for _ in range(20):  # of 10 tokens each, for which 900 are reserved
            assert replica.ask(key).status_code == 200
        assert replica.app.bodies[0]["max_tokens"] == 900


@pytest.mark.parametrize(
    "sent, came",
    [
        ({}, {"priority": "background", "target_tps": 12.0}),
        ({"priority": "foreground", "target_tps": 30}, {"priority": "background", "target_tps": 12.0}),
        ({"priority": "background", "target_tps": 8}, {"priority": "background", "target_tps": 8}),
        ({"priority": None, "target_tps": None}, {"priority": "background", "target_tps": 12.0}),
        ({"priority": "foreground", "target_tps": -1}, {"priority": "background", "target_tps": 12.0}),
        ({"priority": "x", "target_tps": "y"}, {"priority": "x", "target_tps": "y"}),  # the server refuses it
    ],
)
def test_priority_and_pace_of_a_key(tmp_path: Path, sent: dict[str, Any], came: dict[str, Any]) -> None:
    with Plane(tmp_path / "fleet.db", FakePlacement()) as plane:
        deployment = plane.provision()
        key = plane.token("live", priority="background", target_tps=12.0)
        with Replica(str(tmp_path / "fleet.db"), deployment) as replica:
            assert replica.ask(key, body={"messages": [], **sent}).status_code == 200
            assert replica.app.bodies == [{"messages": [], **came}]
            assert replica.ask(plane.token("live"), body={"messages": []}).status_code == 200
            assert replica.app.bodies[1] == {"messages": []}


def test_a_client_that_leaves_ends_its_request(plane: Plane, database: str) -> None:
    deployment, key = plane.provision(), plane.token("live")
    with Replica(database, deployment) as replica:
        headers = {"Authorization": f"Bearer {key}"}
        with (
            httpx2.Client(trust_env=False) as http,
            http.stream(
                "POST", replica.url + "/v1/completions", headers=headers, json={"stream": True}
            ) as it,
        ):
            assert next(it.iter_raw())
        replica.release()
        _until(lambda: plane.usage()["requests"] == 1)


def test_leaving(plane: Plane, database: str) -> None:
    """The store knows first; a running answer ends as usual; then nothing listens."""
    deployment, key = plane.provision(), plane.token("live")
    plane.report(deployment, deployment.generation)
    serving = Replicas(plane.service.store, plane.service.changes).serving
    with Replica(database, deployment) as replica:
        assert plane.run(serving()) == {("acme", "smith"): [replica.endpoint.place]}
        headers = {"Authorization": f"Bearer {key}"}
        with (
            httpx2.Client(trust_env=False, timeout=30) as http,
            http.stream(
                "POST", replica.url + "/v1/completions", headers=headers, json={"stream": True}
            ) as it,
        ):
            pieces = it.iter_raw()
            assert next(pieces)
            leaving = threading.Thread(target=replica.stop, args=(20.0,))
            leaving.start()
            _until(lambda: plane.run(serving()) == {("acme", "smith"): []})
            assert replica.ask(key).status_code == 200  # an ingress that has not heard of it
            assert leaving.is_alive()
            replica.release()
            assert b"[DONE]" in b"".join(pieces)
        leaving.join(20)
        assert not leaving.is_alive()
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(replica.url + "/ready")
        _until(lambda: plane.usage()["requests"] == 2)


def test_known_keys_go_on_while_postgresql_is_down(postgres: Postgres) -> None:
    """No usage is lost, and the replica is still known when it is back."""
    database = postgres.database()
    with Plane(database, FakePlacement()) as plane:
        deployment, key, late = plane.provision(), plane.token("live"), plane.token("live")
        plane.report(deployment, deployment.generation)
        with Replica(database, deployment) as replica:
            assert replica.ask(key).status_code == 200
            postgres.stop()
            try:
                for _ in range(20):
                    assert replica.ask(key).status_code == 200
                refused = replica.ask(late)
                assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
            finally:
                postgres.start()
            _until(lambda: replica.ask(late).status_code == 200)
            _until(lambda: _quiet(plane.usage) == 22, 20)
            places = plane.run(Replicas(plane.service.store, plane.service.changes).serving())
            assert places == {("acme", "smith"): [replica.endpoint.place]}


def _quiet(usage: Any) -> int | None:
    try:
        return int(usage()["requests"])
    except Exception:  # the pool still has connections to the server before
        return None


def test_a_killed_replica_is_forgotten_after_ten_minutes(database: str) -> None:
    async def check() -> None:
        now = [1000.0]
        store = await Store.open(database)
        replicas = Replicas(store, Changes(store), lambda: now[0])
        one, other = Place("w", 1, "a", "10.0.0.1", 1), Place("w", 1, "b", "10.0.0.2", 2)
        await replicas.add(one)
        await replicas.add(other)
        for _ in range(11):
            now[0] += 60
            await replicas.add(one)
        assert await _names(store) == ["a"]
        await replicas.add(other)
        now[0] += 3600  # the store was down for an hour: nobody could say that it is there
        await replicas.add(one)
        assert await _names(store) == ["a", "b"]
        await replicas.add(other)
        moved = one._replace(port=3)
        await replicas.add(moved)
        await replicas.remove(one)  # the process before, which ends late
        assert await _names(store) == ["a", "b"]
        await replicas.remove(moved)
        assert await _names(store) == ["b"]
        await store.close()

    asyncio.run(check())


async def _names(store: Store) -> list[str]:
    async with store.read() as session:
        return sorted((await session.scalars(select(ReplicaRow.name))).all())


HOLD = """
import sys
from sotto.fleet.dataplane.names import Name
print(Name("a", sys.argv[1]).text, flush=True)
sys.stdin.read()
"""


def test_names_are_taken_over_from_those_that_were_killed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLD, "w-1"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "a\n"
        second, other = Name("a", "w-1"), Name("a", "w-2")
        assert (second.text, other.text) == ("a.2", "a")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    again = Name("a", "w-1")
    assert again.text == "a"
    for one in (again, second, other):
        one.release()
        one.release()
    third = Name("a", "w-1")
    assert third.text == "a"
    third.release()
    assert list((tmp_path / f"sotto-fleet-{os.getuid()}").iterdir()) == []


def test_an_ingress_follows_the_store(plane: Plane, database: str) -> None:
    """The version that serves, and its replicas; a store that is down changes nothing."""
    deployment = plane.provision()
    seen: list[list[Route]] = []
    leaving = threading.Event()

    async def follow() -> None:
        found = follow_store(database)
        async for routes in found:
            seen.append(routes)
            if leaving.is_set():
                break
        await found.aclose()

    thread = threading.Thread(target=lambda: asyncio.run(follow()))
    thread.start()
    try:
        prefix = "/endpoint/acme/smith"
        _until(lambda: seen == [[Route(prefix)]])
        with Replica(database, deployment) as replica:
            plane.report(deployment, deployment.generation)
            _until(lambda: len(seen) == 2)
            (route,) = seen[1]
            assert [(one.name, one.port) for one in route.replicas] == [("a", replica.endpoint.place.port)]
            plane.report(deployment, deployment.generation + 1)  # whose replicas are not there
            _until(lambda: len(seen) == 3 and seen[2] == [Route(prefix)])
            plane.report(deployment, deployment.generation)
            _until(lambda: len(seen) == 4)
        _until(lambda: len(seen) == 5 and seen[4] == [Route(prefix)])
    finally:
        leaving.set()
        plane.ask("DELETE", f"/api/workloads/{deployment.workload_id}", plane.token())
        thread.join(20)
    assert not thread.is_alive() and seen[-1] == []


def test_a_workload_that_is_deleted_leaves_no_replica(plane: Plane, database: str) -> None:
    deployment = plane.provision()
    with Replica(database, deployment) as replica:
        assert replica.endpoint.place.name == "a"
        plane.run(plane.service.workloads.delete(deployment.workload_id))
        _until(lambda: plane.run(plane.service.workloads.is_gone(deployment.workload_id)))
        assert plane.run(_names(plane.service.store)) == []


def test_a_folder_that_others_may_open_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"sotto-fleet-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(ArgumentError, match="is no folder of this user alone"):
        Name("a", "w-1")
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(ArgumentError, match="is no folder of this user alone"):
        Name("a", "w-1")
