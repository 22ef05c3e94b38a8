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
from fleet_process import Served, serving
from fleet_ray import GPU, RayFleet, Studio, until

pytest.importorskip("ray", reason="the extra 'fleet-ray' is not installed")
HOUSE = Path(__file__).resolve().parents[2] / "samples" / "house_model" / "house.gguf"


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayFleet]:
    """A cluster for all tests of this module."""
    with RayFleet(tmp_path_factory.mktemp("ray")) as made:
        yield made


@pytest.fixture(scope="module")
def served(ray: RayFleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A control plane on the cluster."""
    with serving(tmp_path_factory.mktemp("served"), *ray.words()) as made:
        yield made


@pytest.fixture(scope="module")
def clients(served: Served) -> Studio:
    """Clients of the control plane."""
    return Studio(served)


@pytest.fixture
def studio(clients: Studio, ray: RayFleet) -> Iterator[Studio]:
    """The same; after the test, the cluster is empty."""
    yield clients
    for slug in clients.listed():
        clients.workloads.delete(slug)
    assert ray.applications() == {}


def test_provision_call_delete(studio: Studio, ray: RayFleet) -> None:
    phases = list(dict.fromkeys(phase for phase, _ in studio.run("smith")))
    assert phases == ["scheduling", "provisioning", "bootstrapping", "ready"]
    assert len(studio.say("smith", 12)) > 5
    ((name, app),) = ray.applications().items()
    assert name.endswith("-1") and app["options"]["num_cpus"] == 1 and len(app["pids"]) == 1
    assert app["options"]["memory"] % (1 << 20) == 0 and app["options"]["memory"] >> 20 > 20  # of the plan
    assert studio.workloads.delete("smith") is True
    assert ray.applications() == {} and not Path(f"/proc/{app['pids'][0]}").exists()
    with pytest.raises(fleet.ApiError):
        studio.say("smith")


def test_a_new_version_takes_over_while_the_old_one_answers(studio: Studio, ray: RayFleet) -> None:
    studio.run("rolling")
    before = ray.pids()
    with studio.load("rolling") as answers:
        studio.run("rolling", config={"options": {"context": 1024}})
        until(lambda: len(ray.pids()) == 1)
        count = len(answers)
        until(lambda: len(answers) > count + 10)
    assert ray.pids() != before and count > 10 and all(answers)
    with (
        studio.load("rolling") as answers,
        pytest.raises(fleet.ApiError, match="'/nowhere.gguf' does not exist"),
    ):
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
    assert answers and set(ray.pids()) < set(before) and len(ray.applications()) == 1


def test_a_replica_that_dies_is_started_again(studio: Studio, ray: RayFleet) -> None:
    studio.run("mortal")
    (pid,) = ray.pids()
    os.kill(pid, signal.SIGKILL)
    (again,) = until(lambda: [one for one in ray.pids() if one != pid])
    assert studio.say("mortal") and again != pid
    until(lambda: studio.listed()["mortal"]["phase"] == "ready")


def test_replicas_are_added_and_ended(studio: Studio, ray: RayFleet) -> None:
    """The number changes; the replicas that run go on."""
    studio.run("many")
    (first,) = ray.pids()
    with studio.load("many") as answers:
        studio.workloads.ensure(
            spec(slug="many", model="sotto/house", execution_policy_config={"replicas": 3})
        )
        until(lambda: len(ray.pids()) == 3)
        assert first in ray.pids()
        until(lambda: "3 of 3 replicas" in studio.listed()["many"]["message"])
        studio.workloads.ensure(
            spec(slug="many", model="sotto/house", execution_policy_config={"replicas": 1})
        )
        until(lambda: len(ray.pids()) == 1)
    assert answers and len(ray.applications()) == 1


def test_pins(studio: Studio, ray: RayFleet) -> None:
    assert studio.run("pinned", worker_id="b")[-1] == ("ready", "serving sotto/house on 'b'")
    assert studio.run("pinned", worker_id="a")[-1] == ("ready", "serving sotto/house on 'a'")
    studio.run("card", gpu_resource_id=GPU.id)
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
        ({"gpu_resource_id": GPU.id, "worker_id": "a"}, "node 'a' does not have the GPU 'gpu0'"),
        ({"backend": "vllm"}, "backend 'vllm' does not run"),
        ({"command": "llama-server -m x"}, "placement 'ray'"),
    ],
)  # fmt: skip
def test_what_no_node_can_run(studio: Studio, ray: RayFleet, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(fleet.ApiError, match=words):
        studio.run("cannot", **fields)


def test_an_application_that_others_delete_is_deployed_again(studio: Studio, ray: RayFleet) -> None:
    studio.run("drifting")
    before = ray.pids()
    ray.ask("[cluster.delete(name) for name in cluster.applications()]")
    until(lambda: ray.pids() not in ([], before))
    until(lambda: studio.listed()["drifting"]["phase"] == "ready")
    assert studio.say("drifting")


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
