"""A Ray cluster whose head is killed and comes back: replicas of other nodes go on meanwhile."""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_head import HeadFleet
from fleet_postgres import Postgres
from fleet_ray import Studio, until
from fleet_redis import PASSWORD

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="the extra 'fleet-ray' is not installed"
)
OUTAGE = 65.0  # seconds; nodes of a head without Redis end after 60


@pytest.fixture
def ray(tmp_path: Path, postgres: Postgres) -> Iterator[HeadFleet]:
    """A cluster of two nodes; nothing of it is left after the test."""
    with HeadFleet(tmp_path, postgres.database()) as made:
        yield made
    until(lambda: not made.processes(), 30)


def alive(pid: int) -> bool:
    """Whether a process runs."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_the_head_is_lost_and_comes_back(ray: HeadFleet) -> None:
    """The ingress and the replica on node `b` answer all the while; the head's replica is started again."""
    studio = Studio(ray.served)
    studio.run("far", worker_id="b")
    studio.run("near", worker_id="a")
    assert PASSWORD not in str(ray.processes())
    before = ray.applications()
    ids = {slug: one["id"] for slug, one in studio.listed().items()}
    far = next(name for name in before if ids["far"] in name)
    (pid,) = before[far]["pids"]
    with ray.asked("far", studio.key) as said:
        until(lambda: said)
        ray.kill_head()
        lost = len(said)
        until(lambda: any("is lost; node 'b' waits 600 s for it" in one for one in ray.said))
        time.sleep(OUTAGE)
        assert alive(pid) and ray.node_b.poll() is None and len(said) > lost + OUTAGE
        assert set(said) == {"ok"}
        studio = ray.start_head()
        assert studio.say("far")
        until(lambda: {one["phase"] for one in studio.listed().values()} == {"ready"})
        assert studio.say("near")
        until(lambda: f"sotto fleet: the head at {ray.head} is back" in ray.said)
        count = len(said)
        until(lambda: len(said) > count + 4)
    assert set(said) == {"ok"}
    after = ray.applications()
    assert after.keys() == before.keys() and after[far] == before[far]
    assert studio.run("new", worker_id="b")[-1] == ("ready", "serving sotto/house on 'b'")
    assert studio.say("new") and ray.applications()[far]["pids"] == [pid]
    for slug in ids | {"new": ""}:
        assert studio.workloads.delete(slug)
    assert ray.applications() == {} and not alive(pid)
