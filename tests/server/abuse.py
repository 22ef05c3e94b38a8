"""Clients that stall, send garbage or vanish amid a stream; the server is afterwards as it was before.

`python tests/server/abuse.py [--full] [--json]`: 100 clients for 10 seconds, or 500 for 2 minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

import serving
from raw_http import asked, connect, post
from scripted_server import scripted

SCRIPT = {"tokens": [" on"], "loop": True, "streams": 32, "parkable": True}
STREAM = {"max_tokens": 100_000, "stream": True}
CHAT, CLOSE = "/v1/chat/completions", "Connection: close"
GAP = 3.0  # longest silence in a stream of 20 tokens per second that has done nothing wrong
GROWTH = 24 << 20  # bytes by which the process may grow: pools of allocators


def stall(connection: socket.socket, chance: random.Random) -> None:
    """Sends half a request, or nothing."""
    connection.sendall(post(asked(**STREAM))[: chance.randrange(200)])
    time.sleep(chance.uniform(0.5, 4))


def garble(connection: socket.socket, chance: random.Random) -> None:
    """Sends bytes that are no HTTP, or HTTP that is no request of this server."""
    body = chance.randbytes(chance.randrange(1, 5000))
    connection.sendall(body if chance.random() < 0.5 else post(body))
    connection.recv(4096)


def vanish(connection: socket.socket, chance: random.Random) -> None:
    """Asks for an answer without an end and closes the connection amid it, with a reset or without."""
    connection.sendall(post(asked(**STREAM, target_tps=50)))
    for _ in range(chance.randrange(5)):
        connection.recv(4096)
    if chance.random() < 0.5:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def neglect(connection: socket.socket, chance: random.Random) -> None:
    """Asks for an answer and reads nothing of it."""
    connection.sendall(post(asked(**STREAM)))
    time.sleep(chance.uniform(1, 4))


KINDS: tuple[Callable[[socket.socket, random.Random], None], ...] = (stall, garble, vanish, neglect)


def abuse(server: serving.Served, seed: int, until: float) -> None:
    """One client after another, each of a random kind."""
    chance = random.Random(seed)
    while time.monotonic() < until:
        try:
            with connect(server, 5) as connection:
                chance.choice(KINDS)(connection, chance)
        except OSError:
            time.sleep(0.05)


class Listener:
    """A client that does nothing wrong: reads paced streams and notes its longest wait."""

    def __init__(self, server: serving.Served) -> None:
        self.silence = 0.0
        self.chunks = 0
        self._server = server
        self._over = False
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._over:
            with connect(self._server, 30) as connection:
                connection.sendall(post(asked(**STREAM, target_tps=20, priority="foreground"), CHAT, CLOSE))
                self._listen(connection)

    def _listen(self, connection: socket.socket) -> None:
        before = time.monotonic()
        while not self._over and (part := connection.recv(1 << 16)):
            now = time.monotonic()
            self.silence, before = max(self.silence, now - before), now
            self.chunks += part.count(b'"content"')

    def end(self) -> None:
        """Closes the stream."""
        self._over = True
        self._thread.join()


def open_files(process: Path) -> int:
    """The least of several counts: the server may still be closing the connection of `ask()`."""
    counts = []
    for _ in range(5):
        time.sleep(0.05)
        counts.append(len(list((process / "fd").iterdir())))
    return min(counts)


def size(server: serving.Served) -> dict[str, int]:
    """What the server's process has, and what its answers are."""
    process = Path(f"/proc/{server.process.pid}")
    pages = int((process / "statm").read_text().split()[1])
    told = server.ask("/metrics")[2]
    live = sum(float(line.split()[-1]) for line in told.splitlines() if line.startswith("sotto_answers{"))
    return {
        "rss": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": open_files(process),
        "threads": len(list((process / "task").iterdir())),
        "live": int(live),
    }


def run(clients: int, seconds: float) -> dict[str, object]:
    """Returns what was measured, with `faults`, which should be empty."""
    faults = []
    with scripted("--timeout", "5", "--target-tps", "50", "--max-requests", "1000", **SCRIPT) as server:
        crowd(server, clients, 3.0)  # what a process allocates once
        settle(server)
        before, listener = size(server), Listener(server)
        health = crowd(server, clients, seconds)
        listener.end()
        after = settle(server)
    if health:
        faults.append(f"health was not green {health} times")
    if listener.silence > GAP:
        faults.append(f"a stream was silent for {listener.silence:.2f} s")
    for name in ("files", "threads", "live"):
        if after[name] > before[name]:
            faults.append(f"{name}: {before[name]} before, {after[name]} after")
    if after["rss"] > before["rss"] + GROWTH:
        faults.append(f"the process grew by {(after['rss'] - before['rss']) >> 20} MB")
    if "Traceback" in server.log:
        faults.append("the log has a traceback")
    told = {"clients": clients, "seconds": seconds, "silence_s": round(listener.silence, 3)}
    return {**told, "chunks": listener.chunks, "before": before, "after": after, "faults": faults}


def crowd(server: serving.Served, clients: int, seconds: float) -> int:
    """Lets clients abuse the server. Returns how often its health was not green."""
    until, bad = time.monotonic() + seconds, 0
    threads = [threading.Thread(target=abuse, args=(server, seed, until)) for seed in range(clients)]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        bad += server.ask("/health")[0] != 200
        time.sleep(0.25)
    for thread in threads:
        thread.join()
    return bad


def settle(server: serving.Served) -> dict[str, int]:
    """Waits until connections and answers have gone, 20 seconds at most. Returns the size then."""
    end, found = time.monotonic() + 20, size(server)
    while time.monotonic() < end:
        time.sleep(0.5)
        now = size(server)
        if now["live"] == 0 and now["files"] >= found["files"]:
            return now
        found = now
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="500 clients for 2 minutes")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    told = run(500, 120) if given.full else run(100, 10)
    print(json.dumps(told, indent=None if given.json else 2))
    return 1 if told["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
