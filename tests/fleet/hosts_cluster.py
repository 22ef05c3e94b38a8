"""A whole fleet on hosts of hosts.py: Ray nodes with ingresses, PostgreSQL outside, players outside."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet_postgres import BINARIES
from hosts import FOLDER, Host, Hosts, Process
from hosts_fleet import ROOT, until

INGRESS, CONTROL, HEAD = 8080, 8090, 6380  # ports
PLAYERS = Path(__file__).with_name("hosts_players.py")
PREFIX = "/endpoint/acme/smith"
_START = 180.0  # seconds until something of Ray has to run, on a busy machine


@dataclass(frozen=True)
class Answer:
    """What came of a request: times are of `time.monotonic()`."""

    session: int
    began: float
    ended: float
    text: str
    resumed: bool
    error: str


class Players:
    """Sessions that ask with our client, through the ingresses of some hosts.

    They end after `seconds`, or when there are `least` answers, whichever is later.
    """

    def __init__(self, cluster: Cluster, ingresses: Iterable[Host], seconds: float, least: int) -> None:
        order: dict[str, Any] = {
            "ingresses": [f"http://{one.address}:{INGRESS}" for one in ingresses],
            "key": cluster.key,
            "sessions": 60,
            "seconds": seconds,
            "least": least,
            "tokens": 12,
            "pause": 0.5,
        }
        name = f"players-{time.monotonic_ns()}"
        command = (sys.executable, PLAYERS, json.dumps(order))
        self._process = cluster.hosts.outside.start(*command, env=cluster.env, log=name)
        self._longest = seconds + 0.5 * least
        until(lambda: self._process.log.read_text().startswith("ready"), "the players start", _START)

    def answers(self) -> list[Answer]:
        """Returns the answers that ended so far."""
        lines = [line for line in self._process.log.read_text().splitlines()[1:] if line.endswith("}")]
        names = Answer.__dataclass_fields__
        return [Answer(**{name: told[name] for name in names}) for told in map(json.loads, lines)]

    def finish(self) -> list[Answer]:
        """Waits for the end. Returns all answers."""
        status = self._process.wait(self._longest + 120)
        assert status == 0, self._process.log.read_text()[-2000:]
        return self.answers()


class Cluster:
    """`sotto fleet up` on the first host, `sotto fleet join` on the others, each with an ingress.

    Attributes:
        hosts: The machines.
        key: A live key of project `acme`, with a pace of 4 tokens per second.
        env: Variables of programs of the fleet.
    """

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.nodes: dict[str, Process] = {}
        self._start_postgres()
        outside = hosts.outside.address
        self.env = {
            "PYTHONPATH": str(ROOT / "python"),
            "SOTTO_FLEET_DATABASE": f"postgresql://postgres@{outside}/postgres",
            "INFERENCEKEY_BASE_URL": f"http://{hosts[0].address}:{CONTROL}",
        }
        self._token = os.urandom(32).hex()
        for host in hosts:
            self.start_node(host)
        for host in hosts:
            self.wait_for(host)
        new = self.sotto("keys", "create", "acme", "--kind", "sdk", "--new-project").strip()
        self.env["INFERENCEKEY_SDK_TOKEN"] = new
        self.key = self.sotto("keys", "create", "acme", "--target-tps", "4").strip()

    def start_node(self, host: Host) -> None:
        """Starts the node of a host. Those that are not the head wait for it."""
        if not host.file("token").exists():
            host.write("token", self._token)
            host.file("token").chmod(0o600)
        words = ["--name", host.name, "--address", host.address, "--ingress", str(INGRESS), "--drain", "5"]
        words += ["--cores", "2", "--node-memory", "600", "--token-file", f"{FOLDER}/token"]
        head = f"{self.hosts[0].address}:{HEAD}"
        if host is self.hosts[0]:
            command = ["up", "--head-port", str(HEAD), "--host", host.address, "--port", str(CONTROL)]
        else:
            until(lambda: "the head runs" in self.log(self.hosts[0]), "the head runs", _START)
            command = ["join", head]
        host.file("node.log").unlink(missing_ok=True)
        program = (sys.executable, "-m", "sotto.cli", "fleet")
        self.nodes[host.name] = host.start(*program, *command, *words, env=self.env, log="node")

    def wait_for(self, host: Host) -> None:
        """Waits until the node of a host runs, with its ingress."""
        said = "ready at" if host is self.hosts[0] else "joined"

        def runs() -> bool:
            assert self.nodes[host.name].running, self.log(host)[-2000:]
            return said in self.log(host) and "the ingress serves" in self.log(host)

        until(runs, f"{host.name} starts", _START)

    def log(self, host: Host) -> str:
        """Returns what the node of a host printed."""
        return self.nodes[host.name].log.read_text(errors="replace")

    def sotto(self, *words: str) -> str:
        """Runs a subcommand of `sotto fleet` outside. Returns what it prints."""
        command = (sys.executable, "-m", "sotto.cli", "fleet", *words)
        return self.hosts.outside.run(*command, env=self.env, timeout=_START)

    def provision(self, replicas: int, **config: Any) -> None:
        """Makes the workload `smith` run with some replicas, and waits until it is ready."""
        script = """
import json, sys
import sotto.fleet as fleet
told = json.loads(sys.argv[1])
mgmt = fleet.ManagementClient.from_env(project="acme")
spec = fleet.WorkloadSpec(
    name="Smith", slug="smith", model="sotto/house", backend=fleet.Backend.LLAMACPP,
    config=told["config"], execution_policy_config={"replicas": told["replicas"]},
)
mgmt.ensure(spec)
mgmt.wait_until_ready("smith", timeout=180, silent=True)
"""
        told = json.dumps({"config": config, "replicas": replicas})
        self.hosts.outside.run(sys.executable, "-c", script, told, env=self.env, timeout=2 * _START)

    def replicas(self) -> dict[str, int]:
        """Returns the number of replicas that answer, by host."""
        script = """
import asyncio, json, os, urllib.request
from sotto.fleet.ingress.following import follow_store
def answers(one):
    try:
        return urllib.request.urlopen(f"http://{one.address}:{one.port}/ready", timeout=2).status == 200
    except OSError:
        return False  # it was killed, and the store does not know it yet
async def main():
    found = follow_store(os.environ["SOTTO_FLEET_DATABASE"])
    routes = await anext(found)
    await found.aclose()
    print(json.dumps([one.address for route in routes for one in route.replicas if answers(one)]))
asyncio.run(main())
"""
        found = json.loads(self.hosts.outside.run(sys.executable, "-c", script, env=self.env))
        return {host.name: found.count(host.address) for host in self.hosts}

    def _start_postgres(self) -> None:
        """Starts PostgreSQL outside, as its own user, with a store that is empty."""
        outside = self.hosts.outside
        data = f"{FOLDER}/pg"
        as_user = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        outside.run("install", "-d", "-o", "postgres", data)
        outside.run(*as_user, BINARIES[-1] / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N")
        with outside.file("pg/pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.77.0.0/24 trust\n")
        words = [
            "-D",
            data,
            "-k",
            data,
            "-h",
            outside.address,
            "-c",
            "fsync=off",
            "-c",
            "max_connections=200",
        ]
        process = outside.start(*as_user, BINARIES[-1] / "postgres", *words, log="postgres")
        until(lambda: "ready to accept" in process.log.read_text(), "PostgreSQL starts", 60)
