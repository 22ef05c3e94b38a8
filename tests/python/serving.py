"""A server in a process of its own, for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

READY = "sotto serve: ready at "


@dataclass
class Served:
    """A running server: its address and its process. `log`: what it has logged, once it has ended."""

    url: str
    process: subprocess.Popen[str]
    log: str = ""

    def ask(
        self, path: str, body: Any = None, method: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Sends a request. Returns the status, the headers and the body, parsed if it is JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = urllib.request.Request(self.url + path, data, given, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, dict(answer.headers), _read(answer)
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, dict(answer.headers), _read(answer)

    def events(self, path: str, body: dict[str, Any], **headers: str) -> list[str]:
        """Sends a request for a stream. Returns the data of its events."""
        data = json.dumps({**body, "stream": True}).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, given), timeout=60) as told:
            lines = told.read().decode().splitlines()
        return [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal, waits for the end, and returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)


def _read(answer: Any) -> Any:
    text = answer.read().decode()
    return json.loads(text) if "json" in answer.headers.get("content-type", "") else text


@contextmanager
def served(*arguments: str, model: str = "sotto/house") -> Iterator[Served]:
    """Starts `sotto serve` on a free port, and waits until its model is loaded."""
    command = [sys.executable, "-m", "sotto.cli", "serve", *([model] if model else []), *arguments]
    if not {"--uds", "--port"} & set(arguments):
        command += ["--port", "0"]
    with started(command) as running:
        yield running


@contextmanager
def fleet(folder: Path, environment: pytest.MonkeyPatch) -> Iterator[None]:
    """Starts `sotto fleet serve`; sets the variables that its clients read, for the workload `smith`."""
    environment.setenv("SOTTO_FLEET_DATABASE", str(folder / "fleet.db"))
    keys = [sys.executable, "-m", "sotto.cli", "fleet", "keys", "create", "acme"]
    for name, words in (
        ("SDK_TOKEN", ("--kind", "sdk", "--new-project")),
        ("API_KEY", ("--workload", "smith")),
    ):
        made = subprocess.run([*keys, *words], check=True, capture_output=True, text=True).stdout
        environment.setenv(f"INFERENCEKEY_{name}", made.strip())
    command = [sys.executable, "-m", "sotto.cli", "fleet", "serve", "--port", "0"]
    with started(command, "sotto fleet: ready at ") as running:
        environment.setenv("INFERENCEKEY_BASE_URL", running.url)
        yield


@contextmanager
def started(command: list[str], expected: str = READY) -> Iterator[Served]:
    """Starts a server that prints where it is ready, and waits for that."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, text=True, env=env, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        if not line.startswith(expected):
            raise AssertionError(f"the server did not start: {line}{process.communicate()[1]}")
        running = Served(line.removeprefix(expected).strip(), process)
        lines: list[str] = []
        reading = threading.Thread(target=lambda: lines.extend(process.stderr or ()))
        reading.start()  # a full pipe would stop the server
        try:
            yield running
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            finally:
                reading.join()
                running.log = "".join(lines)
