"""Workloads on a real Ray cluster of two nodes: provisioned, replaced, killed, pinned, deleted by others."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto.fleet as fleet
from fleet_mock import spec
from fleet_process import serving
from fleet_ray import GPU, HEAD, SECOND, RayFleet, Studio, until

pytest.importorskip("ray", reason="the extra 'fleet-ray' is not installed")
HOUSE = Path(__file__).resolve().parents[2] / "samples" / "house_model" / "house.gguf"


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayFleet]:
    """A cluster for all tests of this module."""
    with RayFleet(tmp_path_factory.mktemp("ray")) as made:
        yield made


@pytest.fixture(scope="module")
def clients(ray: RayFleet) -> Studio:
    """Clients of its control plane."""
    return Studio(ray.served)


@pytest.fixture
def studio(clients: Studio, ray: RayFleet) -> Iterator[Studio]:
    """The same; after the test, the cluster is empty."""
    yield clients
    for slug in clients.listed():
        clients.workloads.delete(slug)
    assert ray.applications() == {}


def test_provision_call_delete(studio: Studio, ray: RayFleet) -> None:
    """Meanwhile, the replica is killed, and others delete the application."""
    phases = list(dict.fromkeys(phase for phase, _ in studio.run("smith")))
    assert phases == ["scheduling", "provisioning", "bootstrapping", "ready"]
    assert len(studio.say("smith", 12)) > 5
    ((name, app),) = ray.applications().items()
    assert name.endswith("-1") and app["options"]["num_cpus"] == 1 and len(app["pids"]) == 1
    assert 20 < app["options"]["memory"] / (1 << 20) < 500  # of the plan
    (killed,) = app["pids"]
    os.kill(killed, signal.SIGKILL)
    (second,) = until(lambda: [one for one in ray.pids() if one != killed])
    assert studio.say("smith")
    ray.ask(f"cluster.delete({name!r})")
    (third,) = until(lambda: [one for one in ray.pids() if one != second])
    until(lambda: studio.listed()["smith"]["phase"] == "ready")
    assert studio.say("smith")
    assert studio.workloads.delete("smith") is True
    assert ray.applications() == {} and not Path(f"/proc/{third}").exists()
    with pytest.raises(fleet.ApiError):
        studio.say("smith")


def test_a_new_version_takes_over_while_the_old_one_answers(studio: Studio, ray: RayFleet) -> None:
    """Then replicas are added and ended: those that run go on."""
    studio.run("rolling")
    before = ray.pids()
    with studio.load("rolling") as answers:
        studio.run("rolling", config={"options": {"context": 1024}})
        (first,) = until(lambda: [one for one in ray.pids() if one not in before])
        until(lambda: ray.pids() == [first])
        count = len(answers)
        for replicas in (3, 1):
            fields = {"model": "sotto/house", "execution_policy_config": {"replicas": replicas}}
            studio.workloads.ensure(spec(slug="rolling", **fields))
            until(lambda replicas=replicas: len(ray.pids()) == replicas)
            assert replicas == 1 or first in ray.pids()
        until(lambda: len(answers) > count + 10)
    assert count > 10 and all(answers) and len(ray.applications()) == 1
    with studio.load("rolling") as answers, pytest.raises(fleet.ApiError, match=r"'/nowhere\.gguf' does not"):
        studio.run("rolling", model="/nowhere.gguf")
    assert answers and studio.say("rolling")


def test_a_version_that_fails_to_start(studio: Studio, ray: RayFleet, tmp_path: Path) -> None:
    """It waits for room; meanwhile, the file of its model vanishes."""
    studio.run("rolling", worker_id="a")
    studio.run("other", worker_id="a")
    before = ray.pids()
    copy = tmp_path / "copy.gguf"
    shutil.copy(HOUSE, copy)
    studio.workloads.ensure(spec(slug="rolling", model=str(copy), worker_id="a"))
    until(lambda: "waiting: no room for 1 x 1 core" in studio.listed()["rolling"]["message"])
    copy.unlink()
    with studio.load("rolling") as answers:
        studio.workloads.delete("other")
        with pytest.raises(fleet.ApiError, match=r"copy\.gguf"):
            studio.workloads.wait_until_ready("rolling", timeout=120, silent=True)
    assert answers and set(ray.pids()) < set(before)
    until(lambda: len(ray.applications()) == 1)


def test_pins(studio: Studio, ray: RayFleet) -> None:
    assert studio.run("pinned", worker_id="b")[-1] == ("ready", "serving sotto/house on 'b'")
    studio.run("card", gpu_resource_id=GPU)
    options = next(one["options"] for one in ray.applications().values() if "num_gpus" in one["options"])
    assert 0.02 < options["num_gpus"] < 0.5 and "memory" not in options
    assert options["label_selector"]["sotto-node"] == "in(b)"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"model": "/nowhere/model.gguf"}, "file '/nowhere/model.gguf' does not exist"),
        ({"config": {"budget_mb": 8}}, r"sotto/house needs .* MB .* Raise vram_budget"),
        ({"config": {"threads": 9}}, r"1 replica of 9 cores .* fit nowhere: .* room for 0: a \(2 cores, 1,0"),
        ({"execution_policy_config": {"replicas": 5}}, "5 replicas of 1 core .* room for 4"),
        ({"worker_id": "w7"}, "no node 'w7'; the nodes are: a, b"),
        ({"gpu_resource_id": "gpu9"}, "no node has the GPU 'gpu9'"),
        ({"gpu_resource_id": GPU, "worker_id": "a"}, "node 'a' does not have the GPU 'gpu0'"),
        ({"backend": "vllm"}, "backend 'vllm' does not run"),
        ({"command": "llama-server -m x"}, "placement 'ray'"),
    ],
)  # fmt: skip
def test_what_no_node_can_run(studio: Studio, ray: RayFleet, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(fleet.ApiError, match=words):
        studio.run("cannot", **fields)


def test_another_control_plane_takes_over(ray: RayFleet, tmp_path: Path) -> None:
    """Two on one store: one reconciles; when it ends, the other finds the replicas as they are."""
    with serving(tmp_path, *ray.words()) as first:
        Studio(first).run("shared")
        before = ray.applications()
        with serving(tmp_path, *ray.words()) as second:
            studio = Studio(second)
            assert list(studio.listed()) == ["shared"]
            with studio.load("shared") as answers:
                first.process.terminate()
                assert first.process.wait(60) == 0
                time.sleep(3)
                assert studio.run("shared")[-1][0] == "ready"
            assert answers and ray.applications() == before
            assert studio.workloads.delete("shared")
            assert ray.applications() == {}


def test_a_node_is_drained(studio: Studio, ray: RayFleet) -> None:
    """Its replica moves to another node, and no answer breaks."""
    assert (
        "a node of this name is in the fleet"
        in ray.command("join", ray.head, "--name", "b", "--address", SECOND)[2]
    )
    assert "no node 'c'; the nodes are: a, b" in ray.command("drain", "c", "--head", ray.head)[2]
    studio.run("small", worker_id="a")
    assert studio.run("moving", config={"threads": 2})[-1] == ("ready", "serving sotto/house on 'b'")
    said = ray.command("top", "--head", ray.head)[1]
    rows = [line.split() for line in said.splitlines() if line.strip()]
    assert [row[:5] for row in rows[1:3]] == [["a", HEAD, "1", "of", "2"], ["b", SECOND, "2", "of", "2"]]
    studio.workloads.delete("small")
    (before,) = ray.pids()
    with studio.load("moving") as answers:
        status, said, _ = ray.command("drain", "b", "--seconds", "30", "--head", ray.head)
        assert status == 0 and said == "node 'b' ends in 30 s; its replicas move to other nodes\n"
        until(lambda: ray.pids() not in ([], [before]) and before not in ray.pids())
        until(lambda: "on 'a'" in studio.listed()["moving"]["message"])
    assert answers
    assert ray.node_b.wait(60) == 0  # its process ends, so this test is the last one
