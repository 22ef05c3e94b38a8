"""Clients of a fleet, in a process of their own: `python fleet_clients.py JSON` prints what they saw.

Each stream is a session with a connection of its own. It asks for a chat completion, reads it to its end and
asks again, a number of times; the streams begin one after another, over the time of one answer.
"""

from __future__ import annotations

import contextlib
import json
import re
import selectors
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

_END = b"0\r\n\r\n"  # last chunk of a body
_DONE = b"data: [DONE]"
_TOKEN = b'"content":"'
_TOKENS = re.compile(rb'"completion_tokens":(\d+)')


@dataclass(frozen=True)
class Load:
    """What clients ask for: `streams` x `answers` x `tokens` tokens, each stream's at `target_tps`."""

    port: int
    model: str
    streams: int
    answers: int
    tokens: int
    target_tps: float
    prompt: int = 300  # words
    path: str = "/v1/chat/completions"
    seed: int = 0
    key: str = ""

    @property
    def total(self) -> int:
        """Tokens of all answers."""
        return self.streams * self.answers * self.tokens

    @property
    def answer_s(self) -> float:
        """Seconds of one answer."""
        return self.tokens / self.target_tps


@dataclass
class Seen:
    """What clients saw, times in seconds."""

    tokens: int = 0
    took: float = 0.0
    first: list[float] = field(default_factory=list)


class Stream:
    """One session."""

    def __init__(self, load: Load, number: int) -> None:
        self.left = load.answers
        self.starts = number / load.streams * load.answer_s
        words = [f"word{(number * 7919 + place) % 1000}" for place in range(load.prompt)]
        messages = [
            {"role": "system", "content": " ".join(words[:-20])},
            {"role": "user", "content": " ".join(words[-20:])},
        ]
        body = {
            "model": load.model,
            "messages": messages,
            "max_tokens": load.tokens,
            "target_tps": load.target_tps,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        data = json.dumps(body).encode()
        self._request = (
            f"POST {load.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {load.key}\r\n"
            f"x-session-id: stream-{load.seed}-{number}\r\nContent-Length: {len(data)}\r\n\r\n"
        ).encode() + data
        self._answer = bytearray()
        self._asked = 0.0
        self._began = False
        self._port = load.port
        self.socket: socket.socket

    def connect(self) -> socket.socket:
        """Connects; servers close idle connections."""
        self.socket = socket.create_connection(("127.0.0.1", self._port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.socket

    def ask(self) -> None:
        """Sends a request."""
        self.left -= 1
        self._answer.clear()
        self._began = False
        self._asked = time.monotonic()
        self.socket.sendall(self._request)

    def read(self, seen: Seen) -> bool:
        """Reads what is there. Returns True at the end of the answer."""
        part = self.socket.recv(1 << 16)
        now = time.monotonic()
        self._answer += part
        if not self._began and _TOKEN in self._answer:
            if not self._answer.startswith(b"HTTP/1.1 200"):
                sys.exit(f"a client was answered {bytes(self._answer[:400])!r}")
            self._began = True
            seen.first.append(now - self._asked)
        if not part or (self._answer.endswith(_END) and _DONE not in self._answer):
            sys.exit(f"an answer broke off: {bytes(self._answer[-400:])!r}")
        if not self._answer.endswith(_END):
            return False
        seen.tokens += int(_TOKENS.findall(self._answer)[-1])
        return True


def run(load: Load) -> Seen:
    """Runs the clients."""
    seen = Seen()
    with contextlib.ExitStack() as stack:
        ready = stack.enter_context(selectors.DefaultSelector())
        waiting = [Stream(load, number) for number in range(load.streams)]
        began = time.monotonic()
        while waiting or ready.get_map():
            while waiting and time.monotonic() - began >= waiting[0].starts:
                stream = waiting.pop(0)
                connection = stack.enter_context(stream.connect())
                ready.register(connection, selectors.EVENT_READ, stream)
                stream.ask()
            until = began + waiting[0].starts - time.monotonic() if waiting else 1.0
            for key, _ in ready.select(max(until, 0.0)):
                stream = key.data
                if not stream.read(seen):
                    continue
                if stream.left:
                    stream.ask()
                else:
                    ready.unregister(stream.socket)
        seen.took = time.monotonic() - began
    return seen


def asked(load: Load) -> Seen:
    """Returns what clients of another process saw.

    Raises:
        SystemExit: an answer was refused or broke off.
    """
    command = [sys.executable, __file__, json.dumps(asdict(load))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the clients at port {load.port} ended: {done.stderr.strip()[-2000:]}")
    return Seen(**json.loads(done.stdout))


if __name__ == "__main__":
    print(json.dumps(asdict(run(Load(**json.loads(sys.argv[1]))))))
