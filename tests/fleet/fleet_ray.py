"""A Ray cluster of two nodes on this machine, for tests, and clients of a control plane on it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sotto.fleet as fleet
from fleet_mock import spec
from fleet_process import Served, serving
from sotto.fleet.control.instance import free_port

HEAD, SECOND = "127.0.0.2", "127.0.0.3"  # Ray replaces 127.0.0.1 by another address of the machine
GPU = "gpu0"  # is not there: Ray only counts it
_SIZE = ["--cores", "2", "--node-memory", "1000"]
_LOOP = """
import json, sys
from pathlib import Path
from sotto.fleet.cluster.cluster import Cluster
cluster = Cluster(sys.argv[1], Path(sys.argv[2]), 1.0)
cluster.connect()
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
"""


class RayFleet:
    """The cluster: `sotto fleet up` as node `a`, `sotto fleet join` as node `b`, of 2 cores each.

    Args:
        folder: Folder of the store and the token.
        database: A store of PostgreSQL; both nodes then have an ingress. None: a file, without ingresses.

    Attributes:
        ingresses: Addresses of the ingresses.
    """

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self._database = database
        self._ports = [] if database is None else [str(free_port()) for _ in range(2)]
        pairs = zip((HEAD, SECOND), self._ports, strict=False)
        self.ingresses = [f"http://{host}:{port}" for host, port in pairs]
        self.head = f"{HEAD}:{free_port()}"
        self._token = ["--token-file", str(folder / "token")]
        self._folder = folder
        self._left = contextlib.ExitStack()
        self._process: subprocess.Popen[str] | None = None
        self.served: Served
        self.node_b: subprocess.Popen[str]

    def __enter__(self) -> RayFleet:
        with contextlib.ExitStack() as left:
            words = ["--name", "a", "--address", HEAD, *_SIZE, "--head-port", self.head.rpartition(":")[2]]
            words += [*self._token, "--drain", "5", *self._ingress(0)]
            self.served = left.enter_context(
                serving(self._folder, *words, name="up", database=self._database)
            )
            self.node_b = left.enter_context(self._joined())
            self._left = left.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._left.close()

    def _ingress(self, node: int) -> list[str]:
        return [] if self._database is None else ["--ingress", self._ports[node]]

    @contextlib.contextmanager
    def _joined(self) -> Iterator[subprocess.Popen[str]]:
        """Runs node `b`. Yields its process."""
        words = ["--name", "b", "--address", SECOND, *_SIZE, "--gpu", f"{GPU}=1024", "--drain", "0.5"]
        words += [] if self._database is None else ["--database", self._database, *self._ingress(1)]
        with self._start("join", self.head, *words) as process:
            try:
                assert process.stdout is not None
                joined = f"sotto fleet: node 'b' joined {self.head}\n"
                while (line := process.stdout.readline()) != joined:
                    assert line.startswith("sotto fleet: the ingress serves at"), process.communicate()
                yield process
            finally:
                process.terminate()
                assert process.wait(60) == 0

    def command(self, name: str, *words: str) -> tuple[int, str, str]:
        """Runs a subcommand of `sotto fleet`. Returns its exit status and what it prints."""
        with self._start(name, *words) as process:
            said, complained = process.communicate(timeout=60)
        return process.returncode, said, complained

    def words(self) -> list[str]:
        """Returns the arguments of `sotto fleet serve` for this cluster."""
        return ["--placement", "ray", "--head", self.head, *self._token, "--drain", "5"]

    def _start(self, name: str, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "sotto.cli", "fleet", name, *words, *self._token]
        env = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": "/tmp"}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)

    def ask(self, expression: str) -> Any:
        """Returns the value of an expression about `cluster`."""
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LOOP, self.head, self._token[1]], stdin=pipe, stdout=pipe, text=True
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(expression + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def applications(self) -> dict[str, dict[str, Any]]:
        """Returns the applications by name: process ids, and options of their actors."""
        said = "{n: {'pids': [pid for _, pid in a.running], 'options': a.options, 'state': a.status} "
        found: dict[str, dict[str, Any]] = self.ask(said + "for n, a in cluster.applications().items()}")
        return found

    def pids(self) -> list[int]:
        """Returns the process ids of all replicas."""
        return sorted(pid for one in self.applications().values() for pid in one["pids"])


class Studio:
    """Clients of one project of a control plane.

    `data_url`: where they ask workloads, if not at its gateway.
    """

    def __init__(self, served: Served, data_url: str | None = None) -> None:
        new = () if "project acme" in served.command("usage") else ("--new-project",)
        sdk = served.command("keys", "create", "acme", "--kind", "sdk", *new)
        key = served.command("keys", "create", "acme")
        self._url, self._sdk = served.url, sdk
        self.workloads = fleet.ManagementClient(base_url=served.url, sdk_token=sdk, project="acme")
        self.key = key
        self.data = fleet.DataClient(base_url=data_url or served.url, project="acme", api_key=key)

    def run(self, slug: str, **fields: Any) -> list[tuple[str, str]]:
        """Provisions a workload with the house model; returns its phases and messages once it is ready."""
        said: list[tuple[str, str]] = []
        self.workloads.ensure(spec(slug=slug, **{"model": "sotto/house", **fields}))
        self.workloads.wait_until_ready(
            slug, timeout=120, on_progress=lambda event: said.append((event.phase, event.message))
        )
        return said

    def listed(self) -> dict[str, dict[str, Any]]:
        """Returns the workloads by slug."""
        headers = {"Authorization": f"Bearer {self._sdk}"}
        asked = urllib.request.Request(self._url + "/api/projects/acme/workloads", headers=headers)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return {one["slug"]: one for one in json.load(answer)}

    def say(self, slug: str, tokens: int = 2) -> str:
        """Returns an answer of a workload."""
        answer = self.data.endpoint(slug).generate_text(prompt="Hi", temperature=0.0, max_tokens=tokens)
        assert answer.finish_reason in ("stop", "length")
        return answer.text

    @contextlib.contextmanager
    def load(self, slug: str, callers: int = 3) -> Iterator[list[str]]:
        """Asks a workload meanwhile. Yields the answers; raises the first error at the end."""
        answers: list[str] = []
        errors: list[Exception] = []
        ended = threading.Event()

        def call() -> None:
            while not ended.is_set():
                try:
                    answers.append(self.say(slug, 8))
                except Exception as error:
                    errors.append(error)
                    return

        threads = [threading.Thread(target=call) for _ in range(callers)]
        for one in threads:
            one.start()
        try:
            yield answers
        finally:
            ended.set()
            for one in threads:
                one.join()
        if errors:
            raise errors[0]


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Waits until a condition is true. Returns its value."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.1)
    return found
