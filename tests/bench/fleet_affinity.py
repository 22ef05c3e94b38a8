"""Sessions that stay on their replica: prompt tokens prefilled again, and time to the first word.

Dialogues of many turns are held with replicas of a real model, through HAProxy with two policies in turns:
the consistent hashing of the ingress, and power of two choices (the less loaded of two replicas at random),
the policy of Ray Serve's default router. In the middle third of the turns one replica takes no requests.
With Ray, the same dialogues go through Ray Serve's proxy and router as well, to replicas of its own.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpu_time import CpuMeter
from fleet_road import Road, in_turns, percentile, ray_apps, replica, server
from llama_server import free_port
from models import model as named

from sotto.fleet.ingress import IngressSettings, Replica, Route, configuration

NAME = "npc"
HASHING, POWER_OF_TWO, RAY = "consistent_hash", "power_of_two", "ray"
ROUTE = Route("")
_AFFINITY_LINES = ("    balance hdr(x-sotto-affinity)", "    hash-type consistent")
_HEADER = "x-replica"


@dataclass(frozen=True)
class Traffic:
    """Dialogues with a model. Slots of a replica: twice its mean share of the sessions.

    Attributes:
        model: Name of the model, as for `models.model()`.
        sessions: Sessions at once.
        think_s: Mean seconds between an answer and the next line.
        turns: Turns of a session; the first one, which no replica knows, is not counted.
        system: Words of the system message, of each session its own.
        line: Words that a player says.
        answer: Tokens of an answer.
        replicas: Processes, of one compute thread each.
    """

    model: str
    sessions: int
    think_s: float
    turns: int
    system: int = 400
    line: int = 20
    answer: int = 12
    replicas: int = 4

    @property
    def options(self) -> dict[str, int]:
        """How a replica loads the model."""
        longest = self.system + self.turns * (self.line + self.answer + 16) + 64
        return {"context": longest, "parallel": 2 * self.sessions // self.replicas}


TRAFFIC = {"house": Traffic("house", 16, 3.0, 16), "110m": Traffic("110m", 8, 10.0, 12)}
QUICK = {"house": Traffic("house", 8, 0.7, 8)}


@dataclass(frozen=True)
class Turn:
    """A turn of a session, as its client saw it; `first` in seconds."""

    session: int
    number: int
    replica: str
    prompt: int
    cached: int
    answer: int
    first: float


def repeated(turns: Sequence[Turn]) -> tuple[int, int]:
    """Returns the prompt tokens that were prefilled although a replica had known them, and all prompt tokens.

    A prompt begins with the session's former prompt and answer; what lies beyond these is new. First turns,
    which are new as a whole, do not count.
    """
    again = whole = 0
    known: dict[int, int] = {}
    for turn in sorted(turns, key=lambda one: (one.session, one.number)):
        if turn.number > 0:
            new = max(turn.prompt - known[turn.session], 0)
            again += max(turn.prompt - turn.cached - new, 0)
            whole += turn.prompt
        known[turn.session] = turn.prompt + turn.answer
    return again, whole


def moved(turns: Sequence[Turn], leaving: str) -> tuple[int, int]:
    """Returns how many sessions moved because `leaving` went or came back, and how many for no reason."""
    seen: dict[int, set[str]] = {}
    for turn in turns:
        seen.setdefault(turn.session, set()).add(turn.replica)
    several = [names for names in seen.values() if len(names) > 1]
    caused = sum(leaving in names and len(names) == 2 for names in several)
    return caused, len(several) - caused


def with_policy(text: str, policy: str) -> str:
    """Returns a configuration of the ingress with a policy, and with a header that names the replica."""
    hashing = "\n".join(_AFFINITY_LINES)
    lines = [line.split("#")[0].rstrip() for line in text.splitlines()]
    text = "\n".join(lines) + "\n"
    if text.count(hashing) != 1:
        sys.exit(f"the configuration of the ingress has no lines {_AFFINITY_LINES}")
    chosen = hashing if policy == HASHING else "    balance random(2)"
    return text.replace(hashing, f"{chosen}\n    http-response set-header {_HEADER} %s")


class Balancer:
    """HAProxy before the replicas.

    Attributes:
        port: Where clients ask.
        pid: Its process.
    """

    def __init__(self, port: int, pid: int, admin: Path) -> None:
        self.port, self.pid, self._admin = port, pid, admin

    def set_state(self, name: str, state: str) -> None:
        """Sets a replica `drain` or `ready`."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._admin))
            connection.sendall(f"set server {ROUTE.backend}/{name} state {state}\n".encode())
            if said := connection.recv(4096).strip():
                sys.exit(f"HAProxy refuses to set {name} {state}: {said.decode()}")


@contextmanager
def balanced(folder: Path, replicas: Sequence[Replica], policy: str) -> Iterator[Balancer]:
    """Starts HAProxy with the configuration of the ingress, but for its policy."""
    own, port = folder / policy, free_port()
    own.mkdir()
    text = configuration([Route("", tuple(replicas))], IngressSettings(port=port), own)
    (own / "haproxy.cfg").write_text(with_policy(text, policy))
    with server(["haproxy", "-db", "-f", str(own / "haproxy.cfg")], port) as pid:
        yield Balancer(port, pid, own / "admin.sock")


class Session:
    """A player's dialogue. Its lines follow from the seed."""

    def __init__(self, traffic: Traffic, words: Sequence[str], port: int, number: int, seed: str) -> None:
        self._traffic, self._words, self._number = traffic, words, number
        self._id, self._chance = f"{seed}-{number}", random.Random(f"{seed}-{number}")
        self._messages = [{"role": "system", "content": self._say(traffic.system)}]
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def play(self, after_turn: Callable[[], None]) -> Iterator[Turn]:
        """Holds the dialogue."""
        traffic = self._traffic
        time.sleep(self._number / traffic.sessions * traffic.think_s)
        for number in range(traffic.turns):
            yield self._turn(number)
            after_turn()
            time.sleep(traffic.think_s * self._chance.uniform(0.5, 1.5))
        self._connection.close()

    def _say(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, k=count))

    def _turn(self, number: int) -> Turn:
        self._messages.append({"role": "user", "content": self._say(self._traffic.line)})
        body = {
            "model": NAME,
            "messages": self._messages,
            "max_tokens": self._traffic.answer,
            "ignore_eos": True,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        headers = {"content-type": "application/json", "x-session-id": self._id}
        began, first, text, usage = time.monotonic(), 0.0, "", {}
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = self._connection.getresponse()
        if answer.status != 200:
            sys.exit(f"a client was answered {answer.status}: {answer.read()[:500]!r}")
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            for choice in chunk["choices"]:
                text += choice["delta"].get("content") or ""
                first = first or time.monotonic() - began
            usage = chunk.get("usage") or usage
        self._messages.append({"role": "assistant", "content": text})
        return Turn(
            self._number,
            number,
            answer.headers.get(_HEADER, ""),
            usage["prompt_tokens"],
            usage["prompt_tokens_details"]["cached_tokens"],
            usage["completion_tokens"],
            first,
        )


def played(
    traffic: Traffic, words: Sequence[str], port: int, seed: str, at: dict[int, Callable[[], None]]
) -> list[Turn]:
    """Holds the dialogues of all sessions. Calls the functions of `at` after as many turns."""
    turns: list[Turn] = []
    errors: list[BaseException] = []
    lock = threading.Lock()
    count = 0

    def after_turn() -> None:
        nonlocal count
        with lock:
            count += 1
            action = at.get(count)
        if action is not None:
            action()

    def play(number: int) -> None:
        try:
            turns.extend(Session(traffic, words, port, number, seed).play(after_turn))
        except BaseException as error:  # is raised below, in the thread of the bench
            errors.append(error)

    threads = [threading.Thread(target=play, args=(number,)) for number in range(traffic.sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return turns


def side_figures(turns: Sequence[Turn], leaving: str, busy_pct: float) -> dict[str, float]:
    """Returns the figures of one policy in one run."""
    again, whole = repeated(turns)
    caused, needless = moved(turns, leaving)
    first = [1e3 * turn.first for turn in turns if turn.number > 0]
    return {
        "repeated_prefill": again / whole,
        "first_word_p50_ms": statistics.median(first),
        "first_word_p95_ms": percentile(first, 95),
        "busy_pct": busy_pct,
        "sessions_moved": caused,
        "sessions_moved_without_cause": needless,
    }


class Fleet:
    """Replicas of a model and the ways to them."""

    def __init__(self, traffic: Traffic, folder: Path, *, ray: bool) -> None:
        self._traffic, self._folder, self._ray = traffic, folder, ray
        self._model = named(traffic.model)
        self._left = ExitStack()
        self._roads: dict[str, Road] = {}
        self._balancers: dict[str, Balancer] = {}

    def __enter__(self) -> Fleet:
        traffic, made, pids = self._traffic, [], []
        with ExitStack() as stack:
            options = json.dumps(traffic.options)
            for number in range(1, traffic.replicas + 1):
                port = free_port()
                arguments = ["--options", options, "--threads", "1"]
                own = replica(f"{NAME}={self._model.path}", port, *arguments)
                pids.append(stack.enter_context(own))
                made.append(Replica(f"node-{number}", "127.0.0.1", port))
            for policy in (HASHING, POWER_OF_TWO):
                one = stack.enter_context(balanced(self._folder, made, policy))
                self._balancers[policy] = one
                self._roads[policy] = Road(one.port, [one.pid], pids)
            if self._ray:
                order = {"name": NAME, "path": str(self._model.path), "replicas": traffic.replicas}
                order |= {"options": traffic.options, "engine": {"threads": 1}}
                self._roads[RAY] = stack.enter_context(ray_apps(self._folder, **order))
            self._left = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._left.close()

    def runs(self, count: int, patience: float) -> tuple[list[dict[str, dict[str, float]]], float]:
        """Holds the dialogues with all policies in each run, in random order.

        Returns the runs, and the greatest part of the processors' time that others used, in percent.
        """
        end = time.monotonic() + patience
        return in_turns(list(self._roads), count, self._run, self._roads, end)

    def _run(self, side: str, number: int) -> dict[str, float]:
        traffic, road, leaving = self._traffic, self._roads[side], "node-1"
        at: dict[int, Callable[[], None]] = {}
        if side in self._balancers:
            whole = traffic.sessions * traffic.turns
            balancer = self._balancers[side]
            at[whole // 3] = lambda: balancer.set_state(leaving, "drain")
            at[2 * whole // 3] = lambda: balancer.set_state(leaving, "ready")
        meter, began = CpuMeter({"replicas": road.replica}), time.monotonic()
        turns = played(traffic, self._model.words, road.port, f"{number}-{side}", at)
        spent = meter.seconds()["replicas"] / (time.monotonic() - began)
        return side_figures(turns, leaving, 100 * spent / (os.cpu_count() or 1))


def figures(traffic: Traffic, runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Returns medians of the runs; ratios are those of sides of the same run."""
    sides = {
        side: {name: round(statistics.median(run[side][name] for run in runs), 4) for name in runs[0][side]}
        for side in runs[0]
    }
    told = {"model": traffic.model, **vars(traffic), **traffic.options, "runs": len(runs)}
    told["repeated_prefill"] = sides[HASHING]["repeated_prefill"]
    told["sessions_moved_without_cause"] = sum(run[HASHING]["sessions_moved_without_cause"] for run in runs)
    for side, name in ((POWER_OF_TWO, "first_word_p95_ratio"), (RAY, "first_word_p95_over_ray")):
        if side in sides:
            ratios = [run[HASHING]["first_word_p95_ms"] / run[side]["first_word_p95_ms"] for run in runs]
            told[name] = round(statistics.median(ratios), 3)
            told[f"{name}_spread"] = [round(min(ratios), 3), round(max(ratios), 3)]
    return {**told, "sides": sides}
