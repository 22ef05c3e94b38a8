"""What tests/bench/fleet.py computes: CPU of processes and roads, percentiles, repeated prefill, limits."""

from __future__ import annotations

import json
import math
import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import cpu_time
import fleet_affinity
import fleet_clients
import fleet_road
from cpu_time import CpuMeter, ProcessesChanged
from fleet_affinity import HASHING, POWER_OF_TWO, Traffic, Turn
from fleet_road import Measured

import fleet as bench
from ingress_upstreams import upstreams
from sotto.fleet.ingress import IngressSettings, Replica, Route, configuration

BENCH = Path(bench.__file__)
BUSY = """
import os, signal, sys, threading, time
def work(seconds):
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass
(begin, beginning), (end, ending) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.read(begin, 1)
    work(0.3)
    os.write(ending, b"x")
    signal.pause()
print("ready", flush=True)
if sys.stdin.readline() == "work\\n":
    os.write(beginning, b"x")
    thread = threading.Thread(target=work, args=(0.2,))  # has ended when the meter looks
    thread.start()
    thread.join()
    os.read(end, 1)
    print("done", flush=True)
    sys.stdin.readline()
os.kill(child, signal.SIGKILL)
os.wait()
print("alone", flush=True)
sys.stdin.readline()
"""


@contextmanager
def busy() -> Iterator[subprocess.Popen[str]]:
    """Starts a process with a child, of which both can be told to work."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert heard(process) == "ready"
            yield process
        finally:
            for pid in cpu_time.tree(process.pid)[::-1]:
                os.kill(pid, signal.SIGKILL)


def heard(process: subprocess.Popen[str], words: str = "") -> str:
    """Returns the next line of a process, which is told a line before."""
    assert process.stdin is not None and process.stdout is not None
    if words:
        process.stdin.write(words + "\n")
        process.stdin.flush()
    return process.stdout.readline().strip()


def test_cpu_is_that_of_a_process_its_children_and_their_threads_alone() -> None:
    with busy() as one, busy() as other:
        meter = CpuMeter({"one": [one.pid], "other": [other.pid], "none": []})
        assert heard(one, "work") == "done"
        seconds = meter.seconds()
        assert len(cpu_time.tree(one.pid)) == 2
    assert 0.5 - 4 * cpu_time.TICK <= seconds["one"] <= 0.6
    assert seconds["other"] <= 2 * cpu_time.TICK and seconds["none"] == 0


def test_cpu_of_processes_that_ended_meanwhile_is_refused() -> None:
    with busy() as one:
        meter = CpuMeter({"one": [one.pid]})
        assert heard(one, "end") == "alone"
        with pytest.raises(ProcessesChanged, match="one: processes"):
            meter.seconds()
        again = CpuMeter({"one": [one.pid]})
    with pytest.raises(ProcessesChanged, match=f"process {one.pid} has ended"):
        again.seconds()


def test_processes_are_found_by_their_command_line() -> None:
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    assert cpu_time.running_with(mark) == []
    with subprocess.Popen([sys.executable, "-c", "input()", mark], stdin=subprocess.PIPE) as process:
        end = time.monotonic() + 30
        while cpu_time.running_with(mark) != [process.pid]:  # until it has executed its program
            assert time.monotonic() < end
        assert mark in cpu_time.command_of(process.pid)
        process.kill()


DIRECT = Measured(1000, 0.0, 0.1, [0.010, 0.020, 0.030])


def test_a_road_is_the_router_and_what_the_replica_needs_more() -> None:
    through = Measured(2000, 0.08, 0.24, [0.021, 0.022, 0.500])
    assert through.router_us == pytest.approx(40)
    assert through.replica_us == pytest.approx(120)
    assert through.road_us(DIRECT) == pytest.approx(40 + 120 - 100)
    assert through.ttfb_over_ms(DIRECT) == pytest.approx(2)


def test_figures_are_medians_and_ratios_of_the_same_run() -> None:
    def run(ours: float, theirs: float) -> dict[str, Measured]:
        first = DIRECT.first
        return {
            "direct": DIRECT,
            "ingress": Measured(1000, 1e-3 * ours, 0.1, first),
            "vllm_router": Measured(1000, 1e-3 * theirs, 0.1, first),
        }

    told = fleet_road.figures([run(10, 40), run(30, 20), run(20, 25)])
    assert told["road_us_per_token"] == 20 and told["spread"]["road_us_per_token"] == [10, 30]
    assert told["road_over_vllm_router"] == 0.8  # 0.25, 1.5, 0.8; not 20 / 25 by chance
    assert told["sides"]["direct"]["road_us_per_token"] == 0
    assert told["sides"]["vllm_router"]["road_us_per_token"] == 25
    assert told["ttfb_over_direct_ms"] == 0 and told["sides"]["direct"]["ttfb_p50_ms"] == 20
    assert "road_over_vllm_router" not in fleet_road.figures([{"direct": DIRECT, "ingress": DIRECT}])


@pytest.mark.parametrize("count", [2, 5, 64, 1001])
@pytest.mark.parametrize("percent", [1, 50, 95, 99])
def test_percentiles_are_those_of_numpy(count: int, percent: int) -> None:
    values = np.random.default_rng(count).exponential(size=count).tolist()
    assert fleet_road.percentile(values, percent) == pytest.approx(np.percentile(values, percent))
    assert fleet_road.percentile([7.0], percent) == 7


def turn(session: int, number: int, prompt: int, cached: int, replica: str = "a") -> Turn:
    """A turn with an answer of 10 tokens."""
    return Turn(session, number, replica, prompt, cached, 10, 0.0)


def test_repeated_prefill_is_what_a_replica_has_known() -> None:
    stayed = [turn(0, 0, 100, 0), turn(0, 1, 130, 110), turn(0, 2, 160, 140)]
    assert fleet_affinity.repeated(stayed) == (0, 290)
    lost = [turn(0, 0, 100, 0), turn(0, 1, 130, 0), turn(0, 2, 160, 100)]
    assert fleet_affinity.repeated(lost) == (110 + 40, 290)
    assert fleet_affinity.repeated([*lost[::-1], turn(1, 0, 50, 0), turn(1, 1, 70, 65)]) == (150, 360)


def test_moves_with_and_without_a_cause_are_told_apart() -> None:
    def session(number: int, replicas: str) -> list[Turn]:
        return [turn(number, at, 100, 0, replica) for at, replica in enumerate(replicas)]

    turns = [*session(0, "aaa"), *session(1, "aba"), *session(2, "bbb"), *session(3, "bcb")]
    assert fleet_affinity.moved(turns, "a") == (1, 1)
    assert fleet_affinity.moved([*turns, *session(4, "abc")], "a") == (1, 2)


def test_slots_are_twice_the_mean_share_and_dialogues_fit_the_context() -> None:
    for traffic in [*fleet_affinity.TRAFFIC.values(), *fleet_affinity.QUICK.values()]:
        assert traffic.options["parallel"] * traffic.replicas == 2 * traffic.sessions
    assert Traffic("house", 8, 1.0, 10, system=100).options["context"] > 100 + 10 * 32


def test_the_policies_differ_in_nothing_else(tmp_path: Path) -> None:
    text = configuration([Route("", (Replica("a", "127.0.0.1", 9),))], IngressSettings(), tmp_path)
    hashing, choices = (fleet_affinity.with_policy(text, one).splitlines() for one in (HASHING, POWER_OF_TWO))
    assert [line for line in hashing if line not in choices] == [
        "    balance hdr(x-sotto-affinity)",
        "    hash-type consistent",
    ]
    assert [line for line in choices if line not in hashing] == ["    balance random(2)"]
    with pytest.raises(SystemExit, match="has no lines"):
        fleet_affinity.with_policy(text.replace("hash-type", "hash"), HASHING)


def visited(port: int, session: str) -> set[str]:
    """Returns the replicas that answer 20 requests of a session, by HAProxy's header and by themselves."""
    found = set()
    for _ in range(20):
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/x", headers={"x-session-id": session})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            found.add((answer.headers["x-replica"], answer.read().decode()))
    assert all(named == answered for named, answered in found)
    return {name for name, _ in found}


@pytest.mark.parametrize("policy", [HASHING, POWER_OF_TWO])
def test_balancers_name_replicas_and_spare_one_that_drains(policy: str) -> None:
    short = tempfile.TemporaryDirectory(prefix="bench-")  # for a socket, whose path has at most 107 bytes
    with upstreams("a", "b", "c") as made, short as folder:
        replicas = [one.replica for one in made]
        with fleet_affinity.balanced(Path(folder), replicas, policy) as balancer:
            before = visited(balancer.port, "ann")
            assert len(before) == (1 if policy == HASHING else 3)
            home = min(before)
            balancer.set_state(home, "drain")
            away = visited(balancer.port, "ann")
            assert home not in away and len(away) == (1 if policy == HASHING else 2)
            balancer.set_state(home, "ready")
            assert visited(balancer.port, "ann") == before
            with pytest.raises(SystemExit, match="refuses to set nobody"):
                balancer.set_state("nobody", "drain")


class Pieces(socketserver.StreamRequestHandler):
    """Answers each request with `server.answer`, a few bytes at a time."""

    def handle(self) -> None:
        """Answers until the client leaves."""
        while line := self.rfile.readline():
            length = 0
            while line not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                line = self.rfile.readline()
            asked = json.loads(self.rfile.read(length))
            answer: bytes = self.server.answer(asked["max_tokens"])  # type: ignore[attr-defined]
            for start in range(0, len(answer), 7):
                try:
                    self.wfile.write(answer[start : start + 7])
                except ConnectionError:  # the client has refused the answer
                    return
                time.sleep(0.0005)
            if not answer.endswith(b"0\r\n\r\n"):
                return


def in_chunks(tokens: int, said: int) -> bytes:
    """Returns an answer of some tokens whose usage says another number."""
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":" 0\\r\\n"}}]}\n\n'
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":%d}}\n\n' % said
    parts = [chunk] * tokens + [usage, b"data: [DONE]\n\n", b""]
    body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + body


@contextmanager
def answering(answer: Callable[[int], bytes]) -> Iterator[fleet_clients.Load]:
    """Starts a server. Returns a load for it."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Pieces) as server:
        server.daemon_threads, server.answer = True, answer  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield fleet_clients.Load(server.server_address[1], "npc", 4, 2, 5, 100.0)
        server.shutdown()


def test_clients_count_tokens_of_answers_that_come_in_pieces() -> None:
    with answering(lambda tokens: in_chunks(tokens, tokens)) as load:
        seen = fleet_clients.run(load)
    assert seen.tokens == load.total == 40 and len(seen.first) == 8
    assert 0 < min(seen.first) <= seen.took


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (in_chunks(5, 5)[:200], "broke off"),
        (in_chunks(5, 5).replace(b"200 OK", b"503 No"), "was answered .*503 No"),
        (b"HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "broke off"),
    ],
)
def test_clients_refuse_answers_that_are_none(answer: bytes, said: str) -> None:
    with answering(lambda _: answer) as load, pytest.raises(SystemExit, match=said):
        fleet_clients.run(load)


def test_a_limit_is_broken_by_the_worst_model() -> None:
    road = {"road_us_per_token": 79.0, "ttfb_over_direct_ms": 3.0, "road_over_vllm_router": 1.2}
    models = [{"repeated_prefill": 0.01, "first_word_p95_ratio": 0.1}, {"repeated_prefill": 0.11}]
    told = bench.report({"road": road, "affinity": models}, quick=False)
    assert told["broken"] == [
        "road_over_vllm_router 1.2, limit <= 1.1",
        "repeated_prefill 0.11, limit <= 0.1",
    ]
    assert not told["ok"] and told["first_word_p95_ratio"] == 0.1 and "first_word_p95_over_ray" not in told
    assert bench.report({"road": {**road, "road_over_vllm_router": 1.1}}, quick=False)["ok"]
    assert not bench.report({"road": {"road_us_per_token": math.nan}}, quick=True)["ok"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--parts", "road,rail"], "invalid --parts 'rail': expected some of road, affinity"),
        (["--quick", "--ray"], "invalid --ray with --quick"),
        (["--quick", "--models", "1b"], "invalid --models '1b': expected some of house"),
        (["--runs", "0"], "invalid --runs '0': expected >= 1"),
    ],
)
def test_bad_arguments_are_refused(words: list[str], said: str) -> None:
    command = [sys.executable, str(BENCH), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr


def test_the_road_is_measured_from_end_to_end() -> None:
    build = Path(os.environ["SOTTO_LIBRARY"]).parents[1]
    words = ["--quick", "--json", "--runs", "1", "--parts", "road", "--build", str(build)]
    command = [sys.executable, str(BENCH), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr  # 1: the machine may be busy
    told: dict[str, Any] = json.loads(done.stdout)
    assert set(told["road"]["sides"]) == {"direct", "ingress"}
    assert told["road"]["sides"]["ingress"]["router_us_per_token"] > 0
    assert told["road"]["sides"]["direct"]["router_us_per_token"] == 0
    assert told["ok"] == (not told["broken"]) == (done.returncode == 0)
    assert told["setting"]["haproxy"] and told["setting"]["processor"]
