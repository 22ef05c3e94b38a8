"""The road from a client to a replica: CPU per token and time to first token, of the ingress and of others.

The same replica is asked directly, through the ingress and through vllm-router, in turns; its model answers
from a script, at the pace of the streams. Through the ingress, the replica checks the key and counts usage in
PostgreSQL, as in a fleet; on the other roads it does neither. CPU is that of the router's processes, and of
the replica's over what the replica needs when it is asked directly.
"""

from __future__ import annotations

import functools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

sys.path.append(str(Path(__file__).resolve().parents[1] / "fleet"))

from cpu_time import CpuMeter, running_with, tree, used
from fleet_clients import Load, asked
from llama_server import free_port
from machine import undisturbed
from peers import environment

import fleet_postgres  # needs the path above

VLLM_ROUTER = "vllm-router==0.1.17"
RAY_APPS = Path(__file__).with_name("fleet_ray_apps.py")
REPLICA = Path(__file__).with_name("fleet_replica.py")
MODEL = "npc"
Result = TypeVar("Result")
WITHIN = 300  # seconds until a server answers


class Road(NamedTuple):
    """Where clients ask, and what works for them: ids of first processes."""

    port: int
    router: Sequence[int]
    replica: Sequence[int]


@dataclass(frozen=True)
class Measured:
    """What a load cost: seconds of CPU; times to first token in seconds."""

    tokens: int
    router_s: float
    replica_s: float
    first: Sequence[float] = field(repr=False)

    @property
    def router_us(self) -> float:
        """CPU of the router per token, in microseconds."""
        return 1e6 * self.router_s / self.tokens

    @property
    def replica_us(self) -> float:
        """CPU of the replica per token, in microseconds."""
        return 1e6 * self.replica_s / self.tokens

    def road_us(self, direct: Measured) -> float:
        """CPU of the road per token: the router, and the replica over one that is asked directly."""
        return self.router_us + self.replica_us - direct.replica_us

    def ttfb_over_ms(self, direct: Measured) -> float:
        """Median time to first token over that of a replica that is asked directly, in milliseconds."""
        return 1e3 * (statistics.median(self.first) - statistics.median(direct.first))


def percentile(values: Sequence[float], percent: int) -> float:
    """Returns a percentile, 1 to 99, between the two nearest values by linear interpolation."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


@contextmanager
def server(command: Sequence[str], port: int, path: str = "/health") -> Iterator[int]:
    """Starts a server, and waits until it answers. Returns its process id."""
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            if not answers(process, port, path):
                log.seek(0)
                sys.exit(f"{command[0]} does not answer: {log.read().decode(errors='replace')[-2000:]}")
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def answers(process: subprocess.Popen[bytes], port: int, path: str) -> bool:
    """Waits until a server answers with status 200. Returns False if it ends, or not in time."""
    end = time.monotonic() + WITHIN
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                if answer.status == 200:
                    return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    return False


@contextmanager
def replica(model: str, port: int, *arguments: str) -> Iterator[int]:
    """Starts `sotto serve`. Returns its process id."""
    command = [sys.executable, "-m", "sotto.cli", "serve", model, "--port", str(port), *arguments]
    with server(command, port) as pid:
        yield pid


@contextmanager
def fleet_replica(model: str, path: Path, modules: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Starts fleet_replica.py. Returns its process id, and where it answers."""
    with fleet_postgres.running() as postgres:
        order = {"name": model, "path": str(path), "engine": {"module_dir": str(modules)}}
        with told(
            [sys.executable, str(REPLICA), json.dumps({**order, "database": postgres.database()})]
        ) as one:
            yield one


@contextmanager
def told(
    command: Sequence[str], environ: Mapping[str, str] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Starts a program that says where it answers, and ends with stdin. Returns its id and what it says."""
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, env=environ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        line = next((line for line in process.stdout if line.startswith('{"port"')), "")
        if not line:
            log.seek(0)
            sys.exit(f"{command[1]} did not start: {log.read().decode(errors='replace')[-2000:]}")
        try:
            yield process.pid, json.loads(line)
        finally:
            process.stdin.close()
            process.wait(WITHIN)


@contextmanager
def ingress(folder: Path, port_of_replica: int) -> Iterator[tuple[int, list[int]]]:
    """Starts `sotto fleet ingress`. Returns its port, and its processes: HAProxy's and the one beside it."""
    routes = folder / "routes.json"
    one = {"name": "node-1", "address": "127.0.0.1", "port": port_of_replica}
    routes.write_text(json.dumps({"routes": [{"prefix": "", "replicas": [one]}]}))
    port, own = free_port(), folder / "ingress"
    command = [sys.executable, "-m", "sotto.cli", "fleet", "ingress", str(routes), "--port", str(port)]
    with server([*command, "--folder", str(own), "--drain", "1"], port) as pid:
        haproxy = running_with(f"{own}/haproxy.cfg")  # belongs to init
        children = {child for one in haproxy for child in tree(one)[1:]}
        yield port, [pid, *(one for one in haproxy if one not in children)]


@contextmanager
def vllm_router(port_of_replica: int) -> Iterator[tuple[int, list[int]]]:
    """Starts vllm-router, which hashes sessions as the ingress does. Returns its port and its process."""
    program = environment("vllm_router", VLLM_ROUTER).with_name("vllm-router")
    port = free_port()
    command = [str(program), "--worker-urls", f"http://127.0.0.1:{port_of_replica}", "--port", str(port)]
    command += ["--policy", "consistent_hash", "--log-level", "error", "--prometheus-port", str(free_port())]
    with server(command, port) as pid:
        yield port, [pid]


@contextmanager
def ray_apps(folder: Path, **order: Any) -> Iterator[Road]:
    """Starts Ray Serve with the server's application, in a cluster of its own like `sotto fleet up`'s."""
    from sotto.fleet.cluster.settings import make_token, variables

    token = folder / "token"
    make_token(token)
    environ = {**os.environ, **variables(token), "RAY_raylet_start_wait_time_s": str(WITHIN)}
    command = [sys.executable, str(RAY_APPS), json.dumps({**order, "folder": str(folder / "ray")})]
    with told(command, environ) as (_, where):
        yield Road(**where)


class Roads:
    """The roads to one scripted model. Ray Serve, if wanted, runs a replica of its own of the same app."""

    def __init__(self, folder: Path, module_dir: Path, load: Load, *, peer: bool, ray: bool) -> None:
        self._folder, self._modules, self._load = folder, module_dir, load
        self._peer, self._ray = peer, ray
        self._left, self._key = ExitStack(), ""
        self.roads: dict[str, Road] = {}

    def __enter__(self) -> Roads:
        with ExitStack() as stack:
            script = self._folder / "script.json"
            script.write_text(json.dumps({"tokens": [" word"], "loop": True, "streams": self._load.streams}))
            pid, where = stack.enter_context(fleet_replica(MODEL, script, self._modules))
            port, apps, self._key = where["port"], [pid], where["key"]
            self.roads["direct"] = Road(port, (), apps)
            self.roads["ingress"] = Road(
                *stack.enter_context(ingress(self._folder, where["admitting"])), apps
            )
            if self._peer:
                self.roads["vllm_router"] = Road(*stack.enter_context(vllm_router(port)), apps)
            if self._ray:
                engine = {"module_dir": str(self._modules)}
                order = {"name": MODEL, "path": str(script), "replicas": 1, "options": {}, "engine": engine}
                self.roads["ray_proxy"] = stack.enter_context(ray_apps(self._folder, **order))
            self._left = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._left.close()

    def measure(self, side: str, seed: int, answers: int | None = None) -> Measured:
        """Asks on a road. Returns what it cost.

        Raises:
            ProcessesChanged: a process of the road began or ended meanwhile.
            SystemExit: the clients saw another number of tokens than they asked for.
        """
        road = self.roads[side]
        asking = {"port": road.port, "key": self._key, "seed": seed}
        load = replace(self._load, answers=answers or self._load.answers, **asking)
        meter = CpuMeter({"router": road.router, "replica": road.replica})
        seen = asked(load)
        spent = meter.seconds()
        if seen.tokens != load.total:
            sys.exit(f"{side}: clients saw {seen.tokens} tokens, expected {load.total}")
        return Measured(seen.tokens, spent["router"], spent["replica"], seen.first)


def worked(roads: Mapping[str, Road]) -> float:
    """Returns the CPU seconds that all processes of all roads have worked so far."""
    roots = {pid for road in roads.values() for pid in [*road.router, *road.replica]}
    return sum(used(pid).seconds for pid in {one for root in roots for one in tree(root)})


def figures(runs: Sequence[Mapping[str, Measured]]) -> dict[str, Any]:
    """Returns medians of the runs, and the least and the greatest of each figure as `spread`."""
    series: dict[str, list[float]] = {}
    sides: dict[str, dict[str, list[float]]] = {}
    for run in runs:
        direct = run["direct"]
        for side, one in run.items():
            told = sides.setdefault(side, {})
            for name, value in (
                ("router_us_per_token", one.router_us),
                ("replica_us_per_token", one.replica_us),
                ("road_us_per_token", one.road_us(direct)),
                ("ttfb_p50_ms", 1e3 * statistics.median(one.first)),
                ("ttfb_p95_ms", 1e3 * percentile(one.first, 95)),
                ("ttfb_over_direct_ms", one.ttfb_over_ms(direct)),
            ):
                told.setdefault(name, []).append(value)
        ours = run["ingress"].road_us(direct)
        series.setdefault("road_us_per_token", []).append(ours)
        series.setdefault("ttfb_over_direct_ms", []).append(run["ingress"].ttfb_over_ms(direct))
        if "vllm_router" in run:
            ratio = ours / run["vllm_router"].road_us(direct)
            series.setdefault("road_over_vllm_router", []).append(ratio)
    return {
        **{name: _median(values) for name, values in series.items()},
        "spread": {name: [round(min(values), 2), round(max(values), 2)] for name, values in series.items()},
        "sides": {
            side: {name: _median(values) for name, values in told.items()} for side, told in sides.items()
        },
    }


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 2)


def measured(roads: Roads, runs: int, patience: float) -> tuple[list[dict[str, Measured]], float]:
    """Asks on all roads in each run, in random order, after one answer of each stream as warm-up.

    Returns the runs, and the greatest part of the processors' time that others used meanwhile, in percent.
    """
    for side in roads.roads:
        roads.measure(side, -1, 1)
    end = time.monotonic() + patience
    return in_turns(list(roads.roads), runs, lambda side, run: roads.measure(side, run), roads.roads, end)


def in_turns(
    sides: Sequence[str], runs: int, run: Callable[[str, int], Result], roads: Mapping[str, Road], end: float
) -> tuple[list[dict[str, Result]], float]:
    """Runs all sides in each run, in random order; again, until `end`, what others disturbed.

    Returns the runs, and the greatest part of the processors' time that others used meanwhile, in percent.
    """
    made: list[dict[str, Result]] = []
    most = 0.0
    for number in range(runs):
        made.append({})
        for side in random.Random(number).sample(sides, len(sides)):
            once = functools.partial(run, side, number)
            made[-1][side], others = undisturbed(
                lambda _, once=once: once(),  # type: ignore[misc]
                end - time.monotonic(),
                running=lambda: worked(roads),
            )
            most = max(most, others)
    return made, most
