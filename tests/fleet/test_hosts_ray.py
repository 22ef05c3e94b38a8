"""A Ray cluster of four hosts: nodes killed and cut off, the head lost and returned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hosts
from hosts_ray import RayCluster, until

START = """
import ray, sys
ray.init(address=sys.argv[1], log_to_driver=False, namespace="tests")
@ray.remote(num_cpus=0, label_selector={"host": "host-3"})
class Counter:
    def __init__(self): self.count = 0
    def add(self): self.count += 1; return self.count
print(ray.get(Counter.options(name="counter", lifetime="detached").remote().add.remote(), timeout=60))
"""
ASK = """
import ray, sys
ray.init(address=sys.argv[1], log_to_driver=False, namespace="tests")
print(ray.get(ray.get_actor("counter").add.remote(), timeout=60))
"""
ALL = {"host-1", "host-2", "host-3", "host-4"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """Four nodes."""
    with hosts.hosts(4) as made:
        yield RayCluster(made)


def test_nodes_and_the_head_go_and_come_back(cluster: RayCluster) -> None:
    until(lambda: cluster.alive() == ALL, "all nodes are alive", 60)
    driver = cluster.hosts[2]
    assert cluster.run(START, cluster.address, host=driver).strip() == "1"

    lost = cluster.hosts[3]
    lost.kill()
    until(lambda: cluster.alive() == ALL - {lost.name}, "the head misses the node that was killed", 60)
    cluster.start(lost)
    cluster.wait_for(lost)

    cut = cluster.hosts[1]
    cluster.hosts.cut(cut)
    until(lambda: cluster.alive() == ALL - {cut.name}, "the head misses the node that was cut off", 60)
    cluster.hosts.restore(cut)
    cut.kill()  # Ray ends a node that it took for dead
    cluster.start(cut)
    cluster.wait_for(cut)
    until(lambda: cluster.alive() == ALL, "all nodes are alive again", 60)

    cluster.head.kill()
    assert cluster.alive() == set()
    cluster.start(cluster.head)
    cluster.wait_for(cluster.head)
    until(lambda: cluster.alive() == ALL, "the nodes come back to the head", 60)
    assert cluster.run(ASK, cluster.address, host=driver).strip() == "2"  # the same actor, from Redis
