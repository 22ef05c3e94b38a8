"""A llama-server and clients that ask it without a pause."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from commands import given
from models import Model

PATIENCE = 120.0  # seconds until it answers, at the most
SPARE = 16  # tokens that each stream's context has too many, as ours


@dataclass
class Talk:
    """What clients ask for: each stream again and again, every prompt another one."""

    streams: int
    prompt: int
    tokens: int


class Clients:
    """Closed loop, in a process of their own."""

    def __init__(self, bench: Path, port: int, words: Path, talk: Talk) -> None:
        command = [str(bench), *given(port=port, words=words, **vars(talk))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.arrived: list[tuple[int, int]] = []  # when, on the monotonic clock in ns, and how many tokens

    def end(self) -> None:
        """Hears what they have seen."""
        printed, _ = self.process.communicate()
        if self.process.returncode != 0:
            sys.exit("the clients of llama-server did not go on")
        told = json.loads(printed)
        self.arrived = list(zip(told["at_ns"], told["tokens"], strict=True))

    def tokens(self, began_ns: int, ended_ns: int) -> int:
        """How many came in between."""
        return sum(tokens for at_ns, tokens in self.arrived if began_ns <= at_ns < ended_ns)


@contextmanager
def served(server: Path, model: Model, talk: Talk, threads: int, before: Sequence[str] = ()) -> Iterator[int]:
    """A server with a prompt cache for nobody, and the port that it listens at.

    `before`: the command that starts it, as nice.
    """
    port = free_port()
    context = talk.streams * (talk.prompt + talk.tokens + SPARE)
    sizes = ["-c", context, "-np", talk.streams, "-t", threads, "-cram", 0]
    where = ["--host", "127.0.0.1", "--port", port, "--log-disable"]
    command = [*before, server, "-m", model.path, *sizes, *where]
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until_ready(process, port)
        yield port
    finally:
        process.kill()  # told to end, it does not always
        process.wait()


@contextmanager
def asked(
    server: Path, bench: Path, model: Model, words: Path, talk: Talk, threads: int, before: Sequence[str] = ()
) -> Iterator[Clients]:
    """A server under load."""
    with served(server, model, talk, threads, before) as port:
        clients = Clients(bench, port, words, talk)
        try:
            yield clients
            clients.end()
        finally:
            if clients.process.poll() is None:
                clients.process.kill()
                clients.process.wait()


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    """Until it has loaded its model."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    sys.exit(f"llama-server does not answer on port {port}")
