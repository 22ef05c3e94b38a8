"""What `RayPlacement` decides, on a double of the cluster; and the settings of real ones."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import threading
from pathlib import Path
from typing import Any

import pytest

from fleet_ray_double import MB, VERSION, Run, W, hurry, node
from sotto import cli
from sotto.errors import ArgumentError
from sotto.fleet.cluster import settings
from sotto.fleet.cluster.cluster import Application
from sotto.fleet.cluster.needs import Needs, Planned, candidates, fit
from sotto.fleet.cluster.workload import application_name, owner
from sotto.fleet.control.launch import CannotLaunch
from sotto.fleet.control.placement import Deployment

__all__ = ["hurry"]  # a fixture


def test_versions_follow_each_other() -> None:
    async def run() -> None:
        async with Run() as it:
            await it.placement.deploy(W)
            assert (await it.until("ready")).address == "http://here/sotto-w0-1"
            phases = list(dict.fromkeys(one.phase for one in it.reports))
            assert phases == ["scheduling", "provisioning", "bootstrapping", "ready"]
            it.cluster.behave = lambda name: (
                "DEPLOY_FAILED",
                "Error:\n  trace\n\x1b[36mModelLoadError: bad\n",
            )
            second = Deployment(**{**vars(W), "generation": 2})
            await it.placement.deploy(second)
            failed = await it.until("error", "ModelLoadError: bad")
            assert failed.address == "http://here/sotto-w0-1" and list(it.cluster.known) == ["sotto-w0-1"]
            it.cluster.behave = lambda name: ("RUNNING", "")
            await it.placement.deploy(Deployment(**{**vars(W), "generation": 3}))
            assert (await it.until("ready")).address == "http://here/sotto-w0-3"
            while list(it.cluster.known) != ["sotto-w0-3"]:
                await asyncio.sleep(0.01)
            await it.placement.deploy(Deployment(**{**vars(W), "generation": 3, "replicas": 2}))
            await it.until("ready", "2 of 2 replicas")
            await it.placement.deploy(Deployment(**{**vars(W), "generation": 3, "replicas": 0}))
            assert (await it.until("scheduling", "no replica")).address is None
            while it.cluster.known:
                await asyncio.sleep(0.01)
            await it.placement.remove("w0")
            assert it.placement.deployed() == {}

    asyncio.run(run())


def test_an_error_is_tried_again_when_nodes_come() -> None:
    async def run() -> None:
        async with Run() as it:
            it.cluster.has = []
            await it.placement.deploy(W)
            await it.until("error", "no node has joined")
            it.cluster.has = [node("a", version="0.0.1")]
            await it.until(
                "error", f"no node has Sotto {VERSION}, as the control plane has; the nodes have a: 0.0.1"
            )
            it.cluster.has = [node("b")]
            await it.until("ready")

    asyncio.run(run())


def test_room_is_waited_for_but_not_for_ever() -> None:
    async def run() -> None:
        async with Run(room_wait=0.3) as it:
            it.cluster.has = [node("a", free_cores=0.5)]
            await it.placement.deploy(W)
            await it.until("scheduling", "waiting: no room for 1 x 1 core and 100 MB beside what runs")
            await it.until("error", "no room")
            it.cluster.has = [node("a", free_cores=0.5), node("b", free_memory=99 * MB)]
            await it.until("scheduling", "waiting")
            it.cluster.has = [node("a"), node("b", free_memory=99 * MB)]
            await it.until("ready")

    asyncio.run(run())


def test_an_application_that_is_deleted_again_and_again() -> None:
    async def run() -> None:
        async with Run() as it:
            await it.placement.deploy(W)
            for _ in range(2):
                await it.until("ready")
                it.cluster.known.clear()
                it.reports.clear()
                await it.until("bootstrapping", "deploying again; its application was deleted")
            await it.until("ready")
            it.cluster.known.clear()
            await it.until("error", "deployed 3 times")

    asyncio.run(run())


def test_a_cluster_that_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with Run() as it:
            await it.placement.deploy(W)
            await it.until("ready")
            it.cluster.down = True
            while it.cluster.calls.count("start") < 3:
                await asyncio.sleep(0.01)
            it.cluster.down = False
            it.cluster.known["sotto-w0-1"] = it.cluster.known["sotto-w0-1"]._replace(running={})
            assert (await it.until("bootstrapping", "Ray starts them again")).address
            await asyncio.wait_for(it.placement.remove("w0"), 10)
            assert it.cluster.known == {}

    asyncio.run(run())
    assert [one.message for one in caplog.records].count(
        "the Ray cluster does not answer: the controller died"
    ) == 1


def test_a_cluster_whose_calls_hang(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As those of Ray do while the head is lost: said once, at the workload too, and over when it is back."""
    monkeypatch.setattr("sotto.fleet.cluster.view._PATIENCE", 0.1)
    caplog.set_level("INFO", "sotto.fleet")
    back = threading.Event()
    back.set()

    async def run() -> None:
        async with Run() as it:
            it.cluster.on_look = back.wait
            await it.placement.deploy(W)
            serving = await it.until("ready")
            assert [one.id for one in await it.placement.nodes()] == ["a"]
            back.clear()
            away = await it.until("ready", f"{serving.message}; the head of the cluster does not answer")
            assert away.address == serving.address
            assert await asyncio.wait_for(it.placement.nodes(), 1) == []
            count = len(it.reports)
            await asyncio.sleep(0.3)
            assert len(it.reports) == count
            back.set()
            while it.reports[-1] == away:
                await asyncio.sleep(0.01)
            assert it.reports[-1] == serving
            assert [one.id for one in await it.placement.nodes()] == ["a"]

    asyncio.run(run())
    assert [one.message for one in caplog.records if "Ray cluster" in one.message] == [
        "the Ray cluster does not answer: no answer within 0.1 s",
        "the Ray cluster answers again",
    ]


def test_another_process_takes_over() -> None:
    async def run() -> None:
        async with Run() as it:
            it.cluster.known = {
                "sotto-w0-1": Application("RUNNING", "", 1, frozenset({("id-a", 7)}), {}),
                "sotto-w9-4": Application("RUNNING", "", 1, frozenset({("id-a", 8)}), {}),  # of another store
                "other": Application("RUNNING", "", 1, frozenset({("id-a", 9)}), {}),
            }
            assert it.placement.deployed() == {}
            await it.placement.deploy(W)
            assert (await it.until("ready")).address == "http://here/sotto-w0-1"
            await it.placement.remove("w0")
            assert it.cluster.calls == ["delete sotto-w0-1"] and list(it.cluster.known) == [
                "sotto-w9-4",
                "other",
            ]

    asyncio.run(run())


def test_names() -> None:
    assert owner(application_name("ab-c", 12)) == ("ab-c", 12)
    for name in ("default", "sotto-", "sotto-1", "sotto-ab-x"):
        assert owner(name) is None


def test_what_a_replica_takes() -> None:
    nodes = [node("a"), node("b", gpu="g0", gpu_mb=2000, free_gpu=1.0), node("c", memory=50 * MB)]
    plans = {"a": Planned(100), "b": Planned(300), "c": "too small"}
    needs = fit(W, nodes, plans, 2.0, 4)
    assert needs == Needs(("a", "b"), 2.0, 300) and needs.room(nodes, free=True) == 4
    assert needs.actor_options("1") == {
        "num_cpus": 2.0,
        "memory": 300 * MB,
        "label_selector": {"sotto-node": "in(a,b)", "sotto-version": "1"},
    }
    with pytest.raises(CannotLaunch, match=r"5 replicas of 2 cores and 300 MB fit nowhere: .* room for 4"):
        fit(W, nodes, plans, 2.0, 5)
    with pytest.raises(CannotLaunch, match=r"^too small$"):
        fit(W, nodes, dict.fromkeys("abc", "too small"), 1.0, 1)
    with pytest.raises(CannotLaunch, match="node 'a': no file; node 'c': too small"):
        fit(W, [nodes[0], nodes[2]], {"a": "no file", "c": "too small"}, 1.0, 1)
    card = Deployment(**{**vars(W), "gpu_resource_id": "g0"})
    assert candidates(card, nodes, VERSION) == [nodes[1]]
    needs = fit(card, [nodes[1]], {"b": Planned(500)}, 1.0, 1)
    assert (
        needs.gpu == 0.25 and needs.room(nodes, free=True) == 4 and "memory" not in needs.actor_options("1")
    )


def test_a_token(tmp_path: Path) -> None:
    file = tmp_path / "new" / "token"
    with pytest.raises(ArgumentError, match="`sotto fleet up` makes it"):
        settings.variables(file)
    settings.make_token(file)
    token = file.read_text()
    settings.make_token(file)
    assert file.read_text() == token and len(token) == 64
    made = settings.variables(file)
    assert made["RAY_AUTH_MODE"] == "token" and made["RAY_USAGE_STATS_ENABLED"] == "0"
    file.chmod(0o644)
    with pytest.raises(ArgumentError, match="other users may read"):
        settings.variables(file)
    file.chmod(0o600)
    file.write_text("short")
    with pytest.raises(ArgumentError, match="at least 32 characters"):
        settings.variables(file)


@pytest.mark.parametrize(
    "words, what",
    [
        (["up", "--name", "a", "--address", "8.8.8.8"], "expected one of a private network"),
        (["up", "--name", "a", "--address", "0.0.0.0"], "expected one of a private network"),
        (["up", "--name", "a", "--address", "127.0.0.1"], "or 127.0.0.2 for a fleet of this machine"),
        (["up", "--name", "a", "--address", "here"], "expected an IP address"),
        (["join", "127.0.0.1:1", "--name", "a b", "--address", "10.0.0.1"], "invalid name 'a b'"),
        (["join", "127.0.0.1:1", "--name", "a", "--address", "10.0.0.1", "--gpu", "x"], "invalid --gpu 'x'"),
        (["join", "127.0.0.1:1", "--name", "a", "--address", "10.0.0.1"], "no head of a fleet answers"),
        (["join", "nowhere", "--name", "a", "--address", "10.0.0.1"], "invalid head 'nowhere'"),
        (["drain", "a", "--head", "127.0.0.1:0"], "invalid head '127.0.0.1:0'"),
        (["top", "--head", "127.0.0.1:1"], "no head of a fleet answers at 127.0.0.1:1"),
    ],
)  # fmt: skip
def test_arguments(
    words: list[str],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ray", reason="the extra 'fleet-ray' is not installed")
    token = tmp_path / "token"
    settings.make_token(token)
    with monkeypatch.context() as kept, contextlib.suppress(SystemExit):
        for name, value in settings.variables(token).items():
            kept.setenv(name, value)
        assert cli.main(["fleet", *words, "--token-file", str(token)]) == 2
    assert what in capsys.readouterr().err


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    token = tmp_path / "token"
    settings.make_token(token)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in settings.variables(token):
        monkeypatch.setenv(name, "x")
    words = ["serve", "--placement", "ray", "--token-file", str(token)]
    assert cli.main(["fleet", *words]) == 2
    assert "needs the extra 'fleet-ray'" in capsys.readouterr().err
