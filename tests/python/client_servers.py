"""Servers that the client is tested on: llama-server, if it is built, and `sotto serve --as llama-server`."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from client_mock import free_port
from conftest import ROOT
from sotto.client import LlamaCppClient

sys.path.append(str(ROOT / "tests" / "server"))

import stock

HOUSE = ROOT / "samples" / "house_model" / "house.gguf"
PIRATE = ROOT / "samples" / "house_model" / "pirate.gguf"
SERVERS = ("llama-server", "sotto")


@functools.cache
def command(name: str) -> list[str]:
    """Returns the command of a server; skips the test if this machine has none."""
    if name == "sotto":
        ours = [sys.executable, "-m", "sotto.cli", "serve"]
        helped = subprocess.run([*ours, "--help"], capture_output=True, text=True).stdout
        if "--as" not in helped:
            pytest.skip("this build of sotto serve cannot run as llama-server")
        return [*ours, "--as", "llama-server"]
    found = os.environ.get("SOTTO_LLAMA_SERVER") or stock.built()
    if found is None or os.environ.get("SOTTO_FULL") != "1":
        pytest.skip("llama-server: with SOTTO_FULL=1, after python tests/server/stock.py has built it")
    return [str(found)]


@contextmanager
def running(name: str, model: Path, *options: Any, log: Path) -> Iterator[LlamaCppClient]:
    """Starts a server, and lends a client of it."""
    port = free_port()
    words: Sequence[Any] = ("-m", model, "--host", "127.0.0.1", "--port", port, "-t", 1, *options)
    with log.open("wb") as said:
        process = subprocess.Popen([*command(name), *map(str, words)], stdout=said, stderr=said)
    try:
        with LlamaCppClient(f"http://127.0.0.1:{port}", timeout=60) as client:
            for _ in range(600):
                if client.wait_until_ready(0.1, 0.05):
                    break
                if process.poll() is not None:
                    pytest.fail(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
            yield client
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
