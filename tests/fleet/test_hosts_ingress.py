"""The data plane on four hosts: sessions keep their replica through losses, cuts and reloads."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import hosts
from hosts_fleet import INGRESS, PREFIX, REPLICA, ROOT, Asked, Clients, Fleet, until

BUILD = Path(os.environ.get("SOTTO_TEST_LIBRARY") or ROOT / "build" / "check" / "release" / "out")
FULL = os.environ.get("SOTTO_FULL") == "1"
LENGTH = 4.0 if FULL else 1.0  # of each load, as a factor


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    """Four hosts, with a replica and an ingress each."""
    with hosts.hosts(4) as made:
        yield Fleet(made, BUILD / "scripted")


def homes(asked: list[Asked]) -> dict[int, set[str]]:
    """Returns the replicas that answered each session."""
    found: dict[int, set[str]] = defaultdict(set)
    for one in asked:
        found[one.session].update(one.replicas)
    return found


def failed(asked: list[Asked]) -> list[Asked]:
    """Returns the requests without a whole answer."""
    return [one for one in asked if not one.ok]


def settle(fleet: Fleet) -> None:
    """Waits until all ingresses see all replicas up: each session is where it belongs."""
    for host in fleet.hosts:
        until(lambda host=host: fleet.up(host) == 4, f"{host.name} sees all replicas")


def test_sessions_keep_their_replica_through_every_ingress(fleet: Fleet) -> None:
    asked = Clients(fleet.hosts, 6 * LENGTH, fleet.hosts).finish()
    assert not failed(asked)
    assert {len(one) for one in homes(asked).values()} == {1}
    assert len(homes(asked)) == 60 and {one.ingress for one in asked} == {
        f"http://{one.address}:{INGRESS}" for one in fleet.hosts
    }
    shares = Counter(next(iter(one)) for one in homes(asked).values())
    assert len(shares) == 4 and max(shares.values()) <= 30, shares


def test_a_killed_replica_moves_its_own_sessions_alone(fleet: Fleet) -> None:
    clients = Clients(fleet.hosts, 8 * LENGTH, fleet.hosts)
    until(lambda: len(clients.asked()) > 120, "each session has asked twice")
    lost = fleet.hosts[1]
    before = homes(clients.asked())
    at = time.monotonic()
    fleet.replicas[lost.name].signal(9)
    asked = clients.finish()
    assert all(one.began <= at + 1.0 for one in failed(asked)), failed(asked)[-3:]
    assert {next(iter(before[one.session])) for one in failed(asked)} <= {lost.name}
    after = homes([one for one in asked if one.began > at + 1.0])
    stayed = [session for session, some in before.items() if some != {lost.name}]
    assert len(stayed) >= 30 and all(after[session] == before[session] for session in stayed)
    moved = [after[session] for session, some in before.items() if some == {lost.name}]
    assert moved and all(lost.name not in some and len(some) == 1 for some in moved)
    assert len(set.union(*moved)) > 1  # they do not all go to one neighbour
    fleet.start_replica(lost)
    settle(fleet)
    assert homes(Clients(fleet.hosts, 3, fleet.hosts).finish()) == before


def test_a_cut_host_moves_its_own_sessions_within_5_s(fleet: Fleet) -> None:
    clients = Clients(fleet.hosts, 10 * LENGTH, fleet.hosts)
    until(lambda: len(clients.asked()) > 120, "each session has asked twice")
    lost = fleet.hosts[2]
    before = homes(clients.asked())
    at = time.monotonic()
    fleet.hosts.cut(lost)
    try:
        asked = clients.finish()
    finally:
        fleet.hosts.restore(lost)
    assert all(one.ended <= at + 5.0 for one in failed(asked)), failed(asked)[-3:]
    after = homes([one for one in asked if one.began > at + 5.0])
    stayed = [session for session, some in before.items() if some != {lost.name}]
    assert len(stayed) >= 30 and all(after[session] == before[session] for session in stayed)
    settle(fleet)
    assert homes(Clients(fleet.hosts, 3, fleet.hosts).finish()) == before


def test_reloads_break_no_stream(fleet: Fleet) -> None:
    """Workloads come and go every second; then a replica goes, and its streams end as they began."""
    clients = Clients(fleet.hosts, 10 * LENGTH, fleet.hosts, tokens=30)
    before = [fleet.reloads(host) for host in fleet.hosts]
    rounds = int(5 * LENGTH)
    for number in range(rounds):
        time.sleep(1)
        fleet.routes(fleet.hosts, **{f"other-{number}": fleet.hosts})
    time.sleep(1)
    fleet.routes(list(fleet.hosts)[1:])
    for host, count in zip(fleet.hosts, before, strict=True):
        until(lambda h=host: fleet.replica_count(h) == 3, f"{host.name} was reloaded")
        assert fleet.reloads(host) > count + rounds // 2  # on a busy machine, one takes up two changes
    gone = time.monotonic() + 0.5  # until then, HAProxy closes idle connections that know the replica
    asked = clients.finish()
    assert not failed(asked), failed(asked)[:3]
    assert len(asked) >= 150 and any(one.replica == "host-1" for one in asked)
    late = [one for one in asked if one.began > gone]
    assert late and all(one.replica != "host-1" for one in late)
    early = homes([one for one in asked if one.ended < gone])
    for session, some in homes(late).items():
        assert some == early[session] or early[session] == {"host-1"}
    fleet.routes(fleet.hosts)
    settle(fleet)


def test_a_draining_replica_finishes_its_streams(fleet: Fleet) -> None:
    """SIGTERM: running answers end, and no ingress sends a new request after its next health check."""
    clients = Clients(fleet.hosts, 8, fleet.hosts, tokens=30)
    time.sleep(3)
    leaving = fleet.hosts[3]
    at = time.monotonic()
    fleet.replicas[leaving.name].signal(15)
    asked = clients.finish()
    running = [
        one for one in asked if one.began < at - 0.1 < at < one.ended and one.replicas == (leaving.name,)
    ]
    assert running and not failed(running)
    assert all(at - 0.1 <= one.began <= at + 1.0 for one in failed(asked)), failed(asked)
    until(lambda: not fleet.replicas[leaving.name].running, "the replica ends")
    fleet.start_replica(leaving)
    settle(fleet)


def test_an_ingress_answers_where_no_replica_does(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    assert fleet.answers(host, INGRESS, "/-/healthz")
    assert not fleet.answers(host, INGRESS, "/endpoint/acme/nobody/v1/models")
    assert fleet.answers(host, REPLICA, "/ready") and not fleet.answers(host, INGRESS, f"{PREFIX}er/ready")
