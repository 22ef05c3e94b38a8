"""A Ray cluster on hosts of hosts.py: a node in each, the head's state in Redis outside."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from hosts import FOLDER, Host, HostError, Hosts, Process

GCS, REDIS = 6380, 6379  # ports
READY = "Ray runtime started"
NODES = """
import importlib, json, sys
client = importlib.import_module("ray._raylet").GcsClient(address=sys.argv[1])
nodes = client.get_all_node_info(timeout=5).values()
print(json.dumps(sorted(one.node_manager_address for one in nodes if one.state == 0)))
"""


class RayCluster:
    """Ray nodes; the first host is the head. Usage statistics are off, and there is no dashboard."""

    def __init__(self, hosts: Hosts, seconds: float = 120) -> None:
        self.hosts, self._seconds = hosts, seconds
        self.head = hosts[0]
        self._nodes: dict[str, Process] = {}
        self._start_redis()
        for host in hosts:
            self.start(host)
        for host in hosts:
            self.wait_for(host)

    @property
    def address(self) -> str:
        """Where the head listens."""
        return f"{self.head.address}:{GCS}"

    def start(self, host: Host) -> None:
        """Starts the node of a host, also after a kill, of which Redis alone knows the state."""
        shutil.rmtree(host.file("ray"), ignore_errors=True)
        words = ["--block", "--disable-usage-stats", f"--node-ip-address={host.address}", "--num-cpus=2"]
        words += [f"--object-store-memory={80 << 20}", "--dashboard-agent-listen-port=0"]
        words += [f"--labels=host={host.name}"]
        if host is self.head:
            words += ["--head", f"--port={GCS}", "--include-dashboard=false"]
        else:
            words += [f"--address={self.address}"]
        host.file("node.log").unlink(missing_ok=True)
        self._nodes[host.name] = host.start(
            *(sys.executable, "-m", "ray.scripts.scripts", "start", *words), env=self._variables(), log="node"
        )

    def wait_for(self, host: Host) -> None:
        """Waits until the node of a host runs, and starts it again if it gave up on a busy machine."""
        end = time.monotonic() + self._seconds
        while READY not in (log := self._nodes[host.name].log.read_text(errors="replace")):
            if not self._nodes[host.name].running:
                self.start(host)
            assert time.monotonic() < end, f"the node of {host.name} does not start: {log[-1000:]}"
            time.sleep(0.2)

    def alive(self) -> set[str]:
        """Returns the names of hosts whose nodes are alive, as the head says; none if it does not answer."""
        try:
            told = json.loads(self.run(NODES, self.address))
        except HostError:
            return set()
        names = {host.address: host.name for host in self.hosts}
        return {names[one] for one in told}

    def run(self, script: str, *arguments: str, host: Host | None = None) -> str:
        """Runs a Python script in a host, by default outside. Returns what it prints."""
        where = self.hosts.outside if host is None else host
        return where.run(
            sys.executable, "-c", script, *arguments, env=self._variables(), timeout=self._seconds
        )

    def _start_redis(self) -> None:
        outside = self.hosts.outside
        words = ["--bind", outside.address, "--port", str(REDIS), "--protected-mode", "no"]
        outside.start("redis-server", *words, "--save", "", "--dir", FOLDER)

    def _variables(self) -> dict[str, str]:
        return {
            "RAY_TMPDIR": f"{FOLDER}/ray",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_REDIS_ADDRESS": f"{self.hosts.outside.address}:{REDIS}",
            "RAY_external_storage_namespace": "fleet",
            "RAY_health_check_initial_delay_ms": "2000",
            "RAY_health_check_period_ms": "1000",
            "RAY_health_check_failure_threshold": "5",
            "RAY_DISABLE_IMPORT_WARNING": "1",
        }


def until(done: Callable[[], Any], what: str, seconds: float) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.25)
