"""Clients of an HTTP server, in a process of their own: `python http_clients.py JSON` prints what they saw.

Each stream asks for a completion, reads it, and asks again until the time is over; with `once`, it asks once.
"""

from __future__ import annotations

import json
import random
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_CHUNK = b"data: {"


@dataclass
class Load:
    """What clients ask for. Prompts are `prompt` words, of which the first `shared` are the same in all.

    A server may keep the prompts of an earlier run: take another `seed` for each run.
    """

    port: int
    words: str
    model: str = ""
    streams: int = 8
    prompt: int = 64
    shared: int = 0
    tokens: int = 32
    seconds: float = 10.0
    target_tps: float = 0.0
    once: bool = False
    seed: int = 0


@dataclass
class Seen:
    """What clients saw, times in seconds."""

    tokens: int = 0
    took: float = 0.0
    first: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)


class Stream:
    """One client."""

    def __init__(self, load: Load, words: list[str], chance: random.Random) -> None:
        self._load, self._words, self._chance = load, words, chance
        self._beginning = " ".join(words[number % len(words)] for number in range(load.shared))
        self.socket: socket.socket | None = None
        self._asked = self._last = 0.0

    def ask(self) -> socket.socket:
        """Sends a request on a new connection."""
        load = self._load
        rest = " ".join(self._chance.choices(self._words, k=load.prompt - load.shared))
        body: dict[str, Any] = {"prompt": f"{self._beginning} {rest}".strip(), "max_tokens": load.tokens}
        body |= {"stream": True, "ignore_eos": True, "temperature": 0}
        body |= {"model": load.model} if load.model else {}
        body |= {"target_tps": load.target_tps} if load.target_tps else {}
        data = json.dumps(body).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n"
        head += "Content-Type: application/json\r\nConnection: close\r\n\r\n"
        self.socket = socket.create_connection(("127.0.0.1", load.port))
        self._asked, self._last = time.monotonic(), 0.0
        self.socket.sendall(head.encode() + data)
        return self.socket

    def read(self, seen: Seen) -> bool:
        """Reads what is there. Returns False at the end of the answer."""
        assert self.socket is not None
        part, now = self.socket.recv(1 << 16), time.monotonic()
        if count := part.count(_CHUNK):
            seen.tokens += count
            if self._last:
                seen.gaps += [now - self._last] + [0.0] * (count - 1)
            else:
                seen.first.append(now - self._asked)
            self._last = now
        return bool(part)


def run(load: Load) -> Seen:
    """Runs the clients."""
    words = Path(load.words).read_text().split()
    seen, began = Seen(), time.monotonic()
    with selectors.DefaultSelector() as ready:
        for number in range(load.streams):
            stream = Stream(load, words, random.Random(f"{load.seed} {number}"))
            ready.register(stream.ask(), selectors.EVENT_READ, stream)
        while ready.get_map() and (load.once or time.monotonic() - began < load.seconds):
            for key, _ in ready.select(1):
                if key.data.read(seen):
                    continue
                ready.unregister(key.fileobj)
                key.data.socket.close()
                if not load.once:
                    ready.register(key.data.ask(), selectors.EVENT_READ, key.data)
        seen.took = time.monotonic() - began
        for key in list(ready.get_map().values()):
            key.data.socket.close()
    return seen


@contextmanager
def clients(load: Load) -> Iterator[subprocess.Popen[str]]:
    """Starts the clients in another process."""
    command = [sys.executable, __file__, json.dumps(asdict(load))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def result(process: subprocess.Popen[str]) -> Seen:
    """Waits for clients of another process. Returns what they saw."""
    told, _ = process.communicate()
    if process.returncode:
        sys.exit("the clients of the server did not go on")
    return Seen(**json.loads(told))


if __name__ == "__main__":
    print(json.dumps(asdict(run(Load(**json.loads(sys.argv[1]))))))
