"""Figures of four real replicas behind the ingress, for the simulator to be checked against.

`python tests/bench/fleet_hosts.py [--out FILE] [--seconds 120] [--sessions 60] [--json]`

Four processes of one compute thread each serve the house model behind HAProxy, with the ingress' consistent
hashing and with power of two choices. Players talk as the simulator's do (fleetsim/traffic.py): exponential
think times, answers at a pace, the oldest turns dropped at a limit. First, one replica alone gives the
service times. Prints the file that `fleet_sim.py --measured FILE` reads, and how far the simulator is from
it. Exit status 1 if a figure is off by more than 15 %.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cpu_time import CpuMeter
from fleet_affinity import HASHING, NAME, POWER_OF_TWO, balanced
from fleet_road import replica
from fleetsim import measured
from fleetsim.scenarios import WARM_UP_S
from fleetsim.stats import quantiles
from fleetsim.traffic import SHORT
from llama_server import free_port
from models import model as named

from sotto.fleet.ingress import Replica

HOSTS, SESSIONS, SECONDS = 4, 60, 120.0
THINK_S, PACE_TPS = 10.0, 12.0
SYSTEM, CHARACTER = 300, 30  # words: of all characters, and of each
CONTEXT, LIMIT = 2048, 1600  # tokens: of a slot, and above which turns are dropped
REPEATS = 9  # of each calibration
STREAMS = 8


@dataclass
class Turn:
    """An answer, as its client saw it. Times in seconds; `cached`, `prompt` and `answer` in tokens."""

    at: float
    first: float
    took: float
    prompt: int
    cached: int
    answer: int
    kind: str = "line"  # or "new": first of a session; "cut": turns were dropped
    novel: int = 0


class Client:
    """A session, with a connection for each answer: the ingress closes those that are idle for long."""

    def __init__(self, port: int, session: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"content-type": "application/json", "x-session-id": session}

    def ask(self, messages: list[dict[str, str]], tokens: int, pace: float = 0.0) -> tuple[str, Turn]:
        """Returns the text of an answer and its figures."""
        body = {"model": NAME, "messages": messages, "max_tokens": tokens, "ignore_eos": True,
                "temperature": 0, "stream": True, "stream_options": {"include_usage": True},
                "target_tps": pace}  # fmt: skip
        began, first, text, usage = time.monotonic(), 0.0, "", {}
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        if answer.status != 200:
            sys.exit(f"a client was answered {answer.status}: {answer.read()[:500]!r}")
        for line in answer:
            if line.startswith(b"data: {"):
                chunk = json.loads(line[6:])
                for choice in chunk["choices"]:
                    text += choice["delta"].get("content") or ""
                    first = first or time.monotonic()
                usage = chunk.get("usage") or usage
        end = time.monotonic()
        self.close()
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        took = end - first
        return text, Turn(
            began, first - began, took, usage["prompt_tokens"], cached, usage["completion_tokens"]
        )

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


@dataclass
class Talk:
    """What all players do."""

    port: int
    name: str
    words: Sequence[str]
    sessions: int
    ends_at: float
    think_s: float = THINK_S
    turns: list[Turn] = field(default_factory=list)

    def say(self, chance: random.Random, count: int) -> str:
        """Returns some words."""
        return " ".join(chance.choices(self.words, k=count))


class Player:
    """A player, whose dialogues follow each other. Contexts are counted by the server."""

    def __init__(self, talk: Talk, number: int) -> None:
        self._talk, self._chance = talk, random.Random(f"{talk.name}-{number}")
        self._client = Client(talk.port, f"{talk.name}-{number}")
        self._context, self._shared = 0, 0
        self._messages: list[dict[str, str]] = []
        self._begin()

    def play(self) -> None:
        """Talks until the end. The first turns fill the caches, and are long before the figures begin."""
        self._turn(self._chance.randint(0, LIMIT // 2), 1, 0.0)
        while True:
            left = self._talk.ends_at - time.monotonic()
            think = self._chance.expovariate(1 / self._talk.think_s)
            time.sleep(max(min(think, left), 0.0))
            if think >= left:
                break
            kind = "line"
            if self._chance.random() * SHORT.turns < 1:
                self._begin()
                kind = "new"
            elif self._context > LIMIT - SHORT.answer[1] - SHORT.line[1]:
                self._drop()
                kind = "cut"
            turn = self._turn(
                self._chance.randint(*SHORT.line), self._chance.randint(*SHORT.answer), PACE_TPS
            )
            turn.kind = kind
            self._talk.turns.append(turn)
        self._client.close()

    def _begin(self) -> None:
        """A new character: the same rules, and words of its own."""
        rules = self._talk.say(random.Random("rules"), SYSTEM)
        self._messages = [{"role": "system", "content": f"{rules} {self._talk.say(self._chance, CHARACTER)}"}]
        self._context = 0

    def _drop(self) -> None:
        """Drops the oldest turns, to about half of the limit."""
        system, *turns = self._messages
        keep = max(2, 2 * round(len(turns) / 2 * SHORT.kept))
        self._messages = [system, *turns[-keep:]]

    def _turn(self, words: int, tokens: int, pace: float) -> Turn:
        self._messages.append({"role": "user", "content": self._talk.say(self._chance, words)})
        text, turn = self._client.ask(self._messages, tokens, pace)
        turn.novel = turn.prompt - self._context
        self._messages.append({"role": "assistant", "content": text})
        self._context = turn.prompt + turn.answer
        return turn


def together(work: Sequence[Callable[[], object]]) -> None:
    """Runs functions in threads; raises the first error."""
    errors: list[BaseException] = []

    def run(one: Callable[[], object]) -> None:
        try:
            one()
        except BaseException as error:  # is raised below, in the thread of the bench
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def service_times(port: int, words: Sequence[str]) -> dict[str, float]:
    """Measures one replica alone. Returns the fields of `ServiceTimes`."""
    rows, waits = [], []
    for number in range(REPEATS):
        chance = random.Random(f"calibration {number}")
        for start in (100, 450, 1000):  # words that no slot knows; then 20 more on them
            client = Client(port, f"calibration-{number}-{start}")
            said = [{"role": "system", "content": " ".join(chance.choices(words, k=start))}]
            for _ in range(2):
                said.append({"role": "user", "content": " ".join(chance.choices(words, k=20))})
                text, turn = client.ask(said, 2)
                said.append({"role": "assistant", "content": text})
                known = turn.prompt**2 - turn.cached**2
                rows.append((1.0, turn.prompt - turn.cached, known / 2))
                waits.append(turn.first)
            client.close()
    kinds = np.array(rows).reshape(REPEATS, -1, 3).mean(axis=0)
    base, token, depth = np.linalg.lstsq(
        kinds, np.median(np.array(waits).reshape(REPEATS, -1), axis=0), rcond=None
    )[0]
    one, many = (step_s(port, words, streams) for streams in (1, STREAMS))
    stream = max((many - one) / (STREAMS - 1), 0.0)
    return {
        "prefill_base_s": max(float(base), 0.0),
        "prefill_token_s": max(float(token), 0.0),
        "prefill_depth_s": max(float(depth), 0.0),
        "step_base_s": one - stream,
        "step_stream_s": stream,
        "restore_token_s": 0.0,
    }


def step_s(port: int, words: Sequence[str], streams: int) -> float:
    """Returns the median time of a step that decodes a token of each stream, as fast as it can."""
    tokens, steps = 64, []
    for number in range(REPEATS):

        def ask(place: int, number: int = number) -> None:
            client = Client(port, f"steps-{streams}-{number}-{place}")
            said = [{"role": "user", "content": " ".join(words[:20])}]
            steps.append(client.ask(said, tokens)[1].took / (tokens - 1))
            client.close()

        together([lambda place=place: ask(place) for place in range(streams)])  # type: ignore[misc]
    return statistics.median(steps)


def run_of(policy: str, talk: Talk, seconds: float) -> dict[str, Any]:
    """Returns a run as `fleetsim.measured` reads it: its traffic, and its figures."""
    turns = [one for one in talk.turns if one.at >= talk.ends_at - seconds]
    lines = [one.novel for one in turns if one.kind == "line"]
    new = [one for one in turns if one.kind == "new"]
    if not lines or not new:
        sys.exit(f"{len(turns)} turns are too few: raise --seconds or --sessions")
    low, high = (int(value) for value in np.quantile(lines, (0.01, 0.99)))
    first, shared = (round(statistics.median(values)) for values in zip(
        *((one.prompt, one.cached) for one in new), strict=True))  # fmt: skip
    prompt = sum(one.prompt for one in turns)
    prefilled = sum(one.prompt - one.cached for one in turns)
    novel = 0
    for one in turns:
        known = {"line": one.novel, "new": one.prompt - shared, "cut": (low + high) // 2}[one.kind]
        novel += min(known, one.prompt - one.cached)
    return {
        "policy": policy,
        "sessions": talk.sessions,
        "seconds": seconds,
        "think_s": talk.think_s,
        "pace_tps": PACE_TPS,
        "line": [low, high],
        "answer": list(SHORT.answer),
        "shared": shared,
        "first": first,
        "limit": LIMIT,
        "kept": SHORT.kept,
        "turns": SHORT.turns,
        "figures": {
            **{name: value for name, value in quantiles(np.array([one.first for one in turns])).items()
               if name in ("p50_ms", "p95_ms")},
            "tokens_per_s": round(sum(one.answer for one in turns) / seconds, 1),
            "answers": len(turns),
            "repeated_prefill": round((prefilled - novel) / prompt, 4),
        },
    }  # fmt: skip


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Runs the replicas and the players. Returns the file, and how busy the processors were."""
    model = named("house")
    slots = 2 * arguments.sessions // HOSTS
    options = json.dumps({"context": CONTEXT, "parallel": slots})
    busy: dict[str, float] = {}
    with ExitStack() as stack:
        made, pids = [], []
        for number in range(1, HOSTS + 1):
            port = free_port()
            words = ["--options", options, "--threads", "1"]
            pids.append(stack.enter_context(replica(f"{NAME}={model.path}", port, *words)))
            made.append(Replica(f"node-{number}", "127.0.0.1", port))
        service = service_times(made[0].port, model.words)
        runs = []
        for policy in (HASHING, POWER_OF_TWO):
            one = stack.enter_context(balanced(folder, made, policy))
            ends_at = time.monotonic() + WARM_UP_S + arguments.seconds
            talk = Talk(one.port, policy, model.words, arguments.sessions, ends_at, arguments.think)
            meter, began = CpuMeter({"all": [*pids, one.pid, os.getpid()]}), time.monotonic()
            together([Player(talk, number).play for number in range(talk.sessions)])
            spent = meter.seconds()["all"] / (time.monotonic() - began)
            busy[policy] = round(100 * spent / (os.cpu_count() or 1), 1)
            runs.append(run_of(policy, talk, arguments.seconds))
    return {"hosts": HOSTS, "slots": slots, "road_s": 0.0, "service": service, "runs": runs, "busy_pct": busy}


def main() -> int:
    """Measures, compares and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=Path("build/check/release"))
    parser.add_argument("--out", type=Path, help="where the file for fleet_sim.py is written")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each run (%(default)g)")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="of players (%(default)s)")
    parser.add_argument("--think", type=float, default=THINK_S, help="mean think time, in s (%(default)g)")
    parser.add_argument("--json", action="store_true", help="on one line")
    arguments = parser.parse_args()
    os.environ.setdefault("SOTTO_LIBRARY", str(arguments.build.resolve() / "out" / "libsotto.so"))
    with tempfile.TemporaryDirectory() as made:
        found = measure(arguments, Path(made))
        written = arguments.out or Path(made) / "hosts.json"
        written.write_text(json.dumps(found, indent=1) + "\n")
        compared = measured.compare(measured.read(written))
    told = {"bench": "fleet_hosts", **found, "compared": compared["rows"], "ok": compared["ok"]}
    print(json.dumps(told, indent=None if arguments.json else 2))
    return 0 if compared["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
