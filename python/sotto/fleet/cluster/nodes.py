"""Ray nodes of this machine: started as a process that ends with ours, listed, drained."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ArgumentError
from ..control.instance import start_child
from ..control.launch import inherited
from . import settings, start_hook
from .redis import Redis
from .redis import variables as redis_variables

_START_TIMEOUT = 120.0  # seconds until a node has to run
_LEAVE_TIMEOUT = 30.0  # seconds in which this process has to end after its node
_END_TIMEOUT = 30.0  # seconds until a drained node has to have ended
_OBJECT_STORE = 128 << 20  # bytes; answers do not go through it
_MB = 1 << 20


class Gpu(NamedTuple):
    """The GPU of a node: its id in the fleet, and its memory in MB."""

    id: str
    memory_mb: int


class NodeOptions(NamedTuple):
    """A node that is to run on this machine.

    Attributes:
        name: Its name in the fleet.
        host: Address of this machine in the private network.
        cores: Cores for replicas; None: all.
        memory_mb: Memory for replicas in MB; None: what Ray thinks is free.
        gpu: Its GPU; None: replicas run on the CPU.
    """

    name: str
    host: str
    cores: int | None = None
    memory_mb: int | None = None
    gpu: Gpu | None = None


class NodeProcess:
    """A Ray node as a child process. Used in a `with` statement, which ends the node.

    Args:
        options: The node.
        token_file: File of the cluster's token.
        folder: Folder of logs and sockets, for the head.
        head: `HOST:PORT` of the head to join; None: this node is the head.
        port: Port of the head, if this node is the head.
        drain: Seconds in which replicas start elsewhere and answers end, before the node does; 0: at once.
        database: A store of PostgreSQL, for replicas that clients ask directly; None: the gateway alone asks.
        redis: Where the head keeps its state, if this node is the head; None: it is lost with the head.
        wait: Seconds for which the node goes on without the head; None: Ray's 60.
    """

    def __init__(
        self,
        options: NodeOptions,
        token_file: Path,
        folder: Path,
        *,
        head: str | None = None,
        port: int = 0,
        drain: float = 0.0,
        database: str | None = None,
        redis: Redis | None = None,
        wait: int | None = None,
    ) -> None:
        self._environment = {
            **{name: value for name, value in inherited().items() if name != settings.DATABASE},
            **({} if database is None else {settings.DATABASE: database}),
            **settings.variables(token_file),
            "RAY_START_HOOK": start_hook.PATH,
            **({} if redis is None else redis_variables(redis, token_file)),
            **({} if wait is None else {settings.WAIT_VARIABLE: str(wait)}),
            "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": str(drain),
        }
        self._end_timeout = drain + _END_TIMEOUT
        self._command = _command(options, head, port, folder, None if redis is None else redis.wait)
        self._log = folder / "node.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> NodeProcess:
        """Starts the node; returns once it runs.

        Raises:
            ArgumentError: It ended, or did not run in time.
        """
        with self._log.open("wb") as log:
            self._process = start_child(self._command, self._environment, log)
        end = time.monotonic() + _START_TIMEOUT
        while b"Ray runtime started" not in self._log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                lines = [one for one in self._log.read_text(errors="replace").splitlines() if one.strip()]
                raise ArgumentError(
                    f"the Ray node did not start: {lines[-1][:500] if lines else 'no reason'}"
                )
            time.sleep(0.1)
        return self

    def __exit__(self, *exc: object) -> None:
        """Drains the node, then ends it with its replicas."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(self._end_timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def ended(self, seconds: float) -> bool:
        """Waits for the end of the node, at most for some seconds. Returns True if it has ended."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    @contextlib.contextmanager
    def needed(self) -> Iterator[None]:
        """Ends the `with` statement by SIGTERM to this process if the node ends.

        Raises:
            ArgumentError: The node ended.
        """
        left, lost = threading.Event(), threading.Event()

        def watch() -> None:
            while not left.is_set():
                if self.ended(0.5) and not left.is_set():
                    lost.set()
                    os.kill(os.getpid(), signal.SIGTERM)
                    if not left.wait(_LEAVE_TIMEOUT):  # without a node, calls to Ray may hang
                        os._exit(1)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except KeyboardInterrupt:
            if not lost.is_set():
                raise
        finally:
            left.set()
            thread.join()
        if lost.is_set():
            lines = self._log.read_text(errors="replace").split("\n") if self._log.exists() else []
            last = next((line.strip() for line in reversed(lines) if line.strip()), "no reason")
            raise ArgumentError(f"the Ray node of this machine ended: {last[:500]}")


def _command(
    options: NodeOptions, head: str | None, port: int, folder: Path, head_wait: int | None
) -> list[str]:
    labels = {settings.NODE: options.name, settings.VERSION: settings.version_label()}
    if head_wait is not None:
        labels |= {settings.HEAD_WAIT: str(head_wait)}
    if options.gpu is not None:
        labels |= {settings.GPU: options.gpu.id, settings.GPU_MB: str(options.gpu.memory_mb)}
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
    if head is None:
        words += ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
        words += ["--no-monitor"]  # of Ray's autoscaler
    else:
        words += [f"--address={head}"]
    words += [f"--node-ip-address={options.host}", f"--object-store-memory={_OBJECT_STORE}"]
    words += ["--dashboard-agent-listen-port=0", "--metrics-export-port=0", "--include-log-monitor=false"]
    words += [f"--labels={','.join(f'{name}={value}' for name, value in labels.items())}"]
    words += [f"--num-gpus={0 if options.gpu is None else 1}"]
    words += [] if options.cores is None else [f"--num-cpus={options.cores}"]
    words += [] if options.memory_mb is None else [f"--memory={options.memory_mb * _MB}"]
    return words


class Members(NamedTuple):
    """A cluster as its head knows it.

    Attributes:
        cluster: Ray's id of the cluster. A head that lost its state has another one.
        nodes: Ray's id of each node that answers, by name.
        head_wait: Seconds for which nodes wait for a lost head; None: it does not come back.
    """

    cluster: str
    nodes: dict[str, str]
    head_wait: int | None


def members(head: str, token_file: Path) -> Members:
    """Returns the cluster at `HOST:PORT`.

    Raises:
        ArgumentError: No head answers, or the token is another one.
    """
    client = _client(head, token_file)
    try:
        nodes, cluster = client.get_all_node_info(timeout=10), client.cluster_id.hex()
    except Exception as error:
        raise ArgumentError(f"the head at {head} does not answer: {_first_line(error)}") from None
    found: dict[str, str] = {}
    wait = None
    for id, node in nodes.items():
        labels = dict(node.labels)
        if node.state == 0 and settings.NODE in labels:  # 0: alive
            found[labels[settings.NODE]] = id.hex()
            if settings.HEAD_WAIT in labels:
                wait = int(labels[settings.HEAD_WAIT])
    return Members(cluster, found, wait)


def drain(head: str, token_file: Path, name: str, seconds: float) -> None:
    """Begins to move the replicas of a node to others; ends the node after some seconds.

    Raises:
        ArgumentError: There is no such node, or Ray refuses.
    """
    known = members(head, token_file).nodes
    if name not in known:
        raise ArgumentError(f"no node '{name}'; the nodes are: {', '.join(sorted(known))}")
    from ray.core.generated import autoscaler_pb2

    reason = autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    deadline = int((time.time() + seconds) * 1000)
    accepted, why = _client(head, token_file).drain_node(known[name], reason, "sotto fleet drain", deadline)
    if not accepted:
        raise ArgumentError(f"node '{name}' cannot be drained: {why}")


def _client(head: str, token_file: Path) -> Any:
    os.environ.update(settings.variables(token_file))
    settings.check_installed()
    settings.check_reachable(head)
    raylet: Any = importlib.import_module("ray._raylet")  # no public call reads the nodes without being one
    try:
        return raylet.GcsClient(address=head)
    except Exception as error:
        raise ArgumentError(
            f"no head of a fleet answers at {head} with the token of {token_file}: {_first_line(error)}"
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
