"""The hosts of the tests themselves: addresses, cuts, kills, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hosts
from hosts import Host, HostError, Hosts

ROOT = Path(__file__).resolve().parents[2]
GET = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=1).read().decode())"
LEFT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
import sys, time; sys.path.insert(0, sys.argv[1])
import hosts
with hosts.hosts(2) as made:
    made[0].start("sleep", "1000")
    print(*(one.pid for one in [*made, made.outside]), flush=True)
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[Hosts]:
    """Two hosts, and the one outside."""
    with hosts.hosts(2) as made:
        yield made


def serve(host: Host) -> hosts.Process:
    """Starts a server of the host's files."""
    host.write("name", host.name)
    return host.start(
        *(sys.executable, "-m", "http.server", "8000", "--bind", host.address),
        *("--directory", hosts.FOLDER),
        log="server",
    )


def name_of(host: Host, asking: Host) -> str:
    """Asks the server of a host for its name; waits until it answers."""
    end = time.monotonic() + 20
    while True:
        try:
            return asking.run(sys.executable, "-c", GET, f"http://{host.address}:8000/name").strip()
        except HostError:
            assert time.monotonic() < end
            time.sleep(0.1)


def error_of(host: Host, asking: Host) -> str:
    """Returns the error of asking the server of a host."""
    with pytest.raises(HostError) as caught:
        asking.run(sys.executable, "-c", GET, f"http://{host.address}:8000/name")
    return str(caught.value)


def test_hosts_have_networks_processes_and_files_of_their_own(pair: Hosts) -> None:
    one, other = pair
    assert (len(pair), one.address, other.name) == (2, "10.77.0.1", "host-2")
    servers = [serve(one), serve(other)]
    assert name_of(one, pair.outside) == "host-1" and name_of(other, one) == "host-2"
    assert one.run("hostname").strip() == "host-1" and one.run("cat", text="said") == "said"
    assert one.processes() == [servers[0].pid] and not one.file("absent").exists()
    assert not Path(f"{hosts.FOLDER}/name").exists()  # of this machine
    pair.cut(other)
    assert "timed out" in error_of(other, one) and name_of(other, other) == "host-2"
    pair.restore(other)
    assert name_of(other, one) == "host-2"
    one.kill()
    assert not servers[0].running and servers[1].running and one.processes() == []
    assert "refused" in error_of(one, other)  # its network goes on
    serve(one)
    assert name_of(one, other) == "host-1"
    with pytest.raises(HostError, match=r"host-1: false: status 1"):
        one.run("false")
    done = one.start("sh", "-c", "exit 3")
    assert done.wait() == 3
    with pytest.raises(HostError, match="has ended"):
        _ = done.pid


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_the_test_ends_in_any_way(number: signal.Signals) -> None:
    command = [sys.executable, "-c", LEFT, str(ROOT / "tests" / "fleet")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        pids = [int(one) for one in process.stdout.readline().split()]
        namespaces = {os.readlink(f"/proc/{pid}/ns/net") for pid in pids}
        assert len(namespaces) == 3
        process.send_signal(number)
        try:
            assert process.wait(30) != 0
        finally:
            process.kill()
    end = time.monotonic() + 20
    while left := in_namespaces(namespaces):
        assert time.monotonic() < end, left
        time.sleep(0.1)


def in_namespaces(wanted: set[str]) -> list[str]:
    """Returns the processes in some network namespaces."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns" / "net") in wanted:
                found.append(entry.name)
        except OSError:  # it ended
            continue
    return found
