"""A whole fleet on four hosts, under load: hosts killed and cut, versions and replicas that change."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

import hosts
from hosts_cluster import Answer, Cluster, Players
from hosts_fleet import until

pytest.importorskip("ray", reason="the extra 'fleet-ray' is not installed")
FULL = os.environ.get("SOTTO_FULL") == "1"
TIMES = 4 if FULL else 1  # length of each load, as a factor
DETERMINISTIC = {"deterministic": True, "options": {"ubatch": 1, "batch": 16}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Four hosts with a replica each."""
    with hosts.hosts(4) as made:
        found = Cluster(made)
        found.provision(4, **DETERMINISTIC)
        until(lambda: sum(found.replicas().values()) == 4, "all replicas take requests", 60)
        yield found


@pytest.fixture(scope="module")
def texts(cluster: Cluster) -> dict[int, str]:
    """What each session hears if nothing is disturbed."""
    answers = Players(cluster, list(cluster.hosts), 6, 120).finish()
    check(answers)
    found: dict[int, str] = {}
    for one in answers:
        assert found.setdefault(one.session, one.text) == one.text
    assert len(found) == 60
    return found


def check(answers: list[Answer]) -> None:
    """Fails if an answer is broken."""
    broken = [one for one in answers if one.error or not one.text]
    assert not broken, (len(broken), len(answers), broken[:3])


def equal(answers: list[Answer], texts: dict[int, str]) -> float:
    """Returns the share of answers with the text of the undisturbed run."""
    return sum(one.text == texts[one.session] for one in answers) / len(answers)


def busiest(cluster: Cluster) -> hosts.Host:
    """Returns the host with the most replicas, other than the head's."""
    counts = cluster.replicas()
    found = max(list(cluster.hosts)[1:], key=lambda host: counts[host.name])
    assert counts[found.name] > 0
    return found


def test_a_host_that_is_killed_breaks_no_answer(cluster: Cluster, texts: dict[int, str]) -> None:
    lost = busiest(cluster)
    others = [host for host in cluster.hosts if host is not lost]
    players = Players(cluster, others, 20 * TIMES, 300 * TIMES)
    until(lambda: len(players.answers()) > 60, "each session has asked", 60)
    lost.kill()
    answers = players.finish()
    check(answers)
    resumed = [one for one in answers if one.resumed]
    print(f"hosts: killed: {len(answers)} answers, {len(resumed)} resumed, {equal(answers, texts):.1%} equal")
    assert resumed and equal(answers, texts) >= 0.98
    cluster.start_node(lost)
    cluster.wait_for(lost)
    until(lambda: sum(cluster.replicas().values()) >= 4, "the replica is back", 120)


def test_a_host_that_is_cut_off_breaks_no_answer(cluster: Cluster, texts: dict[int, str]) -> None:
    lost = busiest(cluster)
    others = [host for host in cluster.hosts if host is not lost]
    players = Players(cluster, others, 20 * TIMES, 300 * TIMES)
    until(lambda: len(players.answers()) > 60, "each session has asked", 60)
    cluster.hosts.cut(lost)
    try:
        answers = players.finish()
    finally:
        cluster.hosts.restore(lost)
    check(answers)
    resumed = [one for one in answers if one.resumed]
    print(f"hosts: cut: {len(answers)} answers, {len(resumed)} resumed, {equal(answers, texts):.1%} equal")
    assert resumed and equal(answers, texts) >= 0.98


def test_versions_and_replicas_change_under_load(cluster: Cluster) -> None:
    players = Players(cluster, [cluster.hosts[0]], 45 * TIMES, 750 * TIMES)
    began, rounds = time.monotonic(), 0
    while rounds == 0 or time.monotonic() < began + 30 * TIMES:
        cluster.provision(3, **DETERMINISTIC, threads=1 + rounds % 2)
        cluster.provision(2, **DETERMINISTIC, threads=1 + rounds % 2)
        rounds += 1
    answers = players.finish()
    print(f"hosts: rolled {rounds} times: {len(answers)} answers")
    check(answers)
