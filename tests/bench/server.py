"""The server beside stock llama-server, beside the engine in process, with paced streams, and beside a game.

`python tests/bench/server.py [--models 110m,1b] [--runs 5] [--seconds 10] [--parts NAMES] [--json]`
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from http_clients import Load, Seen, clients, result
from llama_server import free_port, wait_until_ready
from models import model
from peers import ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "server")]

import stock  # noqa: E402  # needs the path above

import sotto  # noqa: E402  # needs the path above

OUT = Path(os.environ.get("SOTTO_TEST_LIBRARY") or ROOT / "build" / "check" / "release" / "out")
CONTEXT = 1024
STREAMS = 8
PACE, PACED = 20.0, 300  # tokens per second of each stream, and streams
GAME = Path(__file__).with_name("server_game.py")
PARTS = ("peer", "cost", "paced", "game")


class Server(NamedTuple):
    """A server that runs."""

    port: int
    pid: int


@contextmanager
def started(command: list[str], port: int) -> Iterator[Server]:
    """Starts a server and waits until it answers."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:  # type: ignore[call-overload]
        try:
            wait_until_ready(process, port)
            yield Server(port, process.pid)
        finally:
            process.kill()


@contextmanager
def ours(*arguments: str) -> Iterator[Server]:
    """Starts `sotto serve`."""
    port = free_port()
    command = [sys.executable, "-m", "sotto.cli", "serve", *arguments, "--port", str(port)]
    with started(command, port) as server:
        yield server


@contextmanager
def scripted(folder: Path, streams: int) -> Iterator[Server]:
    """Starts `sotto serve` with a model that answers from a script."""
    with ours(f"npc={script(folder, streams)}", "--module-dir", str(OUT / "scripted")) as server:
        yield server


def script(folder: Path, streams: int) -> Path:
    """A script of endless words."""
    file = folder / "script.json"
    file.write_text(json.dumps({"tokens": [" word"], "loop": True, "streams": streams}))
    return file


def peer(name: str, runs: int, seconds: float, folder: Path) -> dict[str, Any]:
    """Both servers in turns: throughput and time to first token, also with a shared beginning."""
    one, threads = model(name), os.cpu_count() or 1
    words = str(one.write_words(folder))
    options = json.dumps({"context": CONTEXT, "parallel": STREAMS})
    port = free_port()
    sizes = ["-c", str(CONTEXT * STREAMS), "-np", str(STREAMS), "-t", str(threads)]
    where = ["--host", "127.0.0.1", "--port", str(port), "--log-disable"]
    theirs = [str(stock.llama_server()), "-m", str(one.path), *sizes, *where]
    with ExitStack() as open_:
        servers = {
            "ours": open_.enter_context(ours(f"{name}={one.path}", "--options", options)),
            "theirs": open_.enter_context(started(theirs, port)),
        }
        seen: dict[tuple[str, int], list[Seen]] = {}
        for turn in range(runs):
            for shared in (0, 384):
                sizes_of = {"prompt": 96 + shared, "shared": shared, "seconds": seconds, "seed": turn}
                for who, server in servers.items():
                    load = Load(server.port, words, **sizes_of)
                    seen.setdefault((who, shared), []).append(asked(load))
    return {
        "model": name,
        "aggregate_ratio": ratio(seen, 0, lambda one: one.tokens / one.took),
        "ttft_ratio": ratio(seen, 0, lambda one: statistics.median(one.first)),
        "shared_ttft_ratio": ratio(seen, 384, lambda one: statistics.median(one.first)),
        "shared_aggregate_ratio": ratio(seen, 384, lambda one: one.tokens / one.took),
    }


def asked(load: Load) -> Seen:
    """What clients of another process saw."""
    with clients(load) as process:
        seen = result(process)
    if not seen.first:
        sys.exit(f"no answer began within {load.seconds:g} s; take more --seconds")
    return seen


def ratio(seen: dict[tuple[str, int], list[Seen]], shared: int, figure: Callable[[Seen], float]) -> float:
    """Median of the ratios of runs that followed each other, ours to theirs."""
    pairs = zip(seen["ours", shared], seen["theirs", shared], strict=True)
    return round(statistics.median(figure(a) / figure(b) for a, b in pairs), 3)


def cost(runs: int, seconds: float, folder: Path) -> dict[str, float]:
    """What HTTP adds to a token and to the first token, on the scripted backend."""
    words = folder / "words"
    words.write_text("word " * 10)
    per_token, first = [], []
    with scripted(folder, 32) as server, sotto.Engine(module_dir=OUT / "scripted") as engine:
        engine.set_scheduling_mode("prioritize_compute")
        engine.load_model("npc", path=script(folder, 32))
        load = Load(server.port, str(words), prompt=4, tokens=100, target_tps=100, seconds=seconds)
        for _ in range(runs):
            used, seen = spent(server.pid, lambda: asked(load))
            own, tokens = in_process(engine, seconds)
            per_token.append(1e6 * (used / seen.tokens - own / tokens))
            alone = Load(server.port, str(words), prompt=4, tokens=2, streams=1, seconds=2)
            first.append(1e3 * (statistics.median(asked(alone).first) - first_token(engine)))
    return {
        "http_us_per_token": round(statistics.median(per_token), 1),
        "ttft_over_engine_ms": round(statistics.median(first), 2),
    }


def in_process(engine: sotto.Engine, seconds: float) -> tuple[float, int]:
    """CPU seconds and tokens of as many streams through the library's own iterator."""
    end, counts = time.monotonic() + seconds, [0] * STREAMS

    def speak(number: int) -> None:
        while time.monotonic() < end:
            body = {"model": "npc", "prompt": "a b c d", "max_tokens": 100}
            for _ in engine.llm_text_completion_stream(body, target_tps=100):
                counts[number] += 1

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(STREAMS)]
    before = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.process_time() - before, sum(counts)


def first_token(engine: sotto.Engine) -> float:
    """Median time to first token in process, in seconds."""
    times = []
    for _ in range(200):
        began = time.monotonic()
        stream = engine.llm_text_completion_stream({"model": "npc", "prompt": "a b c d", "max_tokens": 2})
        next(stream)
        times.append(time.monotonic() - began)
        stream.close()
    return statistics.median(times)


def spent(pid: int, what: Callable[[], Seen]) -> tuple[float, Seen]:
    """CPU seconds of a process while `what` runs, and what it returns."""
    before = cpu(pid)
    seen = what()
    return cpu(pid) - before, seen


def cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def paced(runs: int, seconds: float, folder: Path) -> dict[str, float]:
    """Many paced streams at once on the scripted backend: how even they are, and what a token costs."""
    words = folder / "words"
    words.write_text("word " * 10)
    gaps, costs = [], []
    with scripted(folder, PACED) as server:
        for _ in range(runs):
            tokens = int(seconds * PACE)
            load = Load(server.port, str(words), "", PACED, 4, 0, tokens, target_tps=PACE, once=True)
            used, seen = spent(server.pid, lambda load=load: asked(load))  # type: ignore[misc]
            gaps.append(statistics.quantiles(seen.gaps, n=100)[98] * PACE)
            costs.append(1e6 * used / seen.tokens)
    return {
        "gap_p99_over_pace": round(statistics.median(gaps), 3),
        "cpu_us_per_token": round(statistics.median(costs), 1),
    }


def game(name: str, runs: int, seconds: float, folder: Path) -> dict[str, float]:
    """Share of missed frames of a game with the server in its process: alone, and with four clients."""
    words, missed = str(model(name).write_words(folder)), {False: [0.0], True: [0.0]}
    for _ in range(runs):
        for busy in (False, True):
            command = [sys.executable, str(GAME), str(model(name).path)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
                assert process.stdin is not None and process.stdout is not None
                port = int(process.stdout.readline())
                load = Load(port, words, streams=4, prompt=96, tokens=64, seconds=2 * seconds)
                with ExitStack() as open_:
                    if busy:
                        open_.enter_context(clients(load))
                    time.sleep(seconds)
                told, _ = process.communicate("end\n")
            missed[busy].append(100 * float(told))
    alone, beside = (statistics.median(missed[busy][1:]) for busy in (False, True))
    return {
        "missed_alone_pct": round(alone, 2),
        "missed_pct": round(beside, 2),
        "points": round(beside - alone, 2),
    }


def main() -> None:
    """Runs the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="110m,1b")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names, parts = given.models.split(","), given.parts.split(",")
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if "peer" in parts:
            told["peer"] = [peer(name, given.runs, given.seconds, folder) for name in names]
        if "cost" in parts:
            told |= cost(given.runs, given.seconds, folder)
        if "paced" in parts:
            told |= paced(given.runs, given.seconds, folder)
        if "game" in parts:
            told["game"] = game(names[0], given.runs, given.seconds, folder)
    print(json.dumps(told, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
