"""Replicas and ingresses in hosts, and clients outside, for the tests of the data plane."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import FOLDER, Host, HostError, Hosts, Process

ROOT = Path(__file__).resolve().parents[2]
INGRESS, REPLICA = 8080, 8081  # ports
PREFIX = "/endpoint/acme/smith"
CHAT = f"{PREFIX}/v1/chat/completions"
LOAD = Path(__file__).with_name("hosts_load.py")
GET = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=2).read().decode())"


@dataclass(frozen=True)
class Asked:
    """What came of a request: times are of `time.monotonic()`."""

    session: int
    began: float
    ended: float
    replicas: tuple[str, ...]
    ok: bool
    error: str
    ingress: str

    @property
    def replica(self) -> str:
        """The replica that answered."""
        assert len(self.replicas) == 1, self
        return self.replicas[0]


class Clients:
    """Sessions that ask until `seconds` are over."""

    def __init__(self, hosts: Hosts, seconds: float, ingresses: Iterable[Host], **order: Any) -> None:
        order = {
            "ingresses": [f"http://{one.address}:{INGRESS}" for one in ingresses],
            "sessions": 60,
            "seconds": seconds,
            "tokens": 10,
            "pace": 20,
            "pause": 0.5,
            "silence": 3.0,
            "path": CHAT,
            **order,
        }
        self._process = hosts.outside.start(
            sys.executable, LOAD, json.dumps(order), log=f"load-{time.monotonic_ns()}"
        )
        self._seconds = seconds
        until(lambda: self._process.log.read_text().startswith("ready"), "the clients start")

    def asked(self) -> list[Asked]:
        """Returns the requests that ended so far."""
        lines = self._process.log.read_text().splitlines()[1:]
        return [
            Asked(
                told["session"],
                told["began"],
                told["ended"],
                tuple(told["replicas"]),
                told["ok"],
                told["error"],
                told["ingress"],
            )
            for told in map(json.loads, [line for line in lines if line.endswith("}")])
        ]

    def finish(self) -> list[Asked]:
        """Waits for the end. Returns all requests."""
        status = self._process.wait(self._seconds + 60)
        assert status == 0, self._process.log.read_text()[-2000:]
        return self.asked()


class Fleet:
    """A replica and an ingress in each host. The model of a replica answers with the name of its host."""

    def __init__(self, hosts: Hosts, module: Path) -> None:
        self.hosts, self._module = hosts, module
        self.replicas: dict[str, Process] = {}
        self.ingresses: dict[str, Process] = {}
        self._env = {"PYTHONPATH": str(ROOT / "python")}
        for host in hosts:
            self.start_replica(host)
        self.routes(list(hosts))
        for host in hosts:
            self.start_ingress(host)
        until(self._ready, "replicas and ingresses start", 90)

    def start_replica(self, host: Host) -> None:
        """Starts `sotto serve` with a model from a script."""
        script = {"tokens": [f" {host.name}"], "loop": True, "streams": 64, "parkable": True}
        model = host.write("model.json", json.dumps(script))
        words = ["serve", f"npc={model}", "--module-dir", str(self._module), "--host", host.address]
        self.replicas[host.name] = host.start(
            sys.executable, "-m", "sotto.cli", *words, "--port", str(REPLICA), env=self._env, log="replica"
        )

    def start_ingress(self, host: Host) -> None:
        """Starts `sotto fleet ingress`."""
        words = ["fleet", "ingress", f"{FOLDER}/routes.json", "--host", host.address, "--port", str(INGRESS)]
        self.ingresses[host.name] = host.start(
            *(sys.executable, "-m", "sotto.cli", *words, "--folder", f"{FOLDER}/ingress"),
            env=self._env,
            log="ingress",
        )

    def routes(self, replicas: Iterable[Host], prefix: str = PREFIX, **more: Iterable[Host]) -> None:
        """Gives all ingresses a file of routes: a workload with replicas in some hosts, and further ones."""
        every = {prefix: replicas, **{f"/endpoint/acme/{name}": some for name, some in more.items()}}
        told = [
            {
                "prefix": where,
                "replicas": [{"name": one.name, "address": one.address, "port": REPLICA} for one in some],
            }
            for where, some in every.items()
        ]
        for host in self.hosts:
            host.write("routes.new", json.dumps({"routes": told}))
            host.file("routes.new").replace(host.file("routes.json"))

    def reloads(self, host: Host) -> int:
        """Returns how often an ingress was reloaded."""
        return self.ingresses[host.name].log.read_text().count("replicas\n")

    def replica_count(self, host: Host) -> int:
        """Returns the number of replicas that an ingress read last."""
        said = [line for line in self.ingresses[host.name].log.read_text().splitlines() if "replicas" in line]
        return int(said[-1].split()[-2]) if said else 0

    def up(self, host: Host) -> int:
        """Returns how many replicas an ingress sends requests to."""
        script = (
            "import socket; s = socket.socket(socket.AF_UNIX); "
            f"s.connect('{FOLDER}/ingress/admin.sock'); s.sendall(b'show stat\\n'); "
            "print(b''.join(iter(lambda: s.recv(65536), b'')).decode())"
        )
        rows = host.run(sys.executable, "-c", script).splitlines()
        return sum(",UP," in row for row in rows if ",host-" in row)

    def answers(self, host: Host, port: int, path: str) -> bool:
        """Whether a server answers with status 200."""
        try:
            self.hosts.outside.run(sys.executable, "-c", GET, f"http://{host.address}:{port}{path}")
        except HostError:
            return False
        return True

    def _ready(self) -> bool:
        for host in self.hosts:
            for process in (self.replicas[host.name], self.ingresses[host.name]):
                assert process.running, process.log.read_text()[-2000:]
        return all(self.answers(host, INGRESS, f"{PREFIX}/v1/models") for host in self.hosts)


def until(done: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
