"""How the process of a workload is started: program and arguments for each backend, never through a shell."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..enums import Backend
from .placement import Deployment

_PROGRAMS = {  # what a command may start
    Backend.LLAMACPP: "llama-server",
    Backend.VLLM: "vllm",
    Backend.VLLM_OMNI: "vllm",
    Backend.SGLANG: "sglang",
    Backend.OLLAMA: "ollama",
}
_RESERVED = ("--uds", "--api-key", "--api-key-file")  # arguments that would hide the program
_PRIVATE = ("SOTTO_FLEET_", "INFERENCEKEY_")  # variables that a process does not inherit


EXCLUDED = (
    "execution_policy_config leaves no node: `workers` names those it may use, and `max_hourly_cost_usd` has "
    "to pay for them"
)


class CannotLaunch(Exception):
    """The machine cannot start the process; the message says why."""


class Launch(NamedTuple):
    """A process: program and arguments, environment, and where it answers (`unix:PATH` or a URL)."""

    command: list[str]
    environment: dict[str, str]
    address: str


def check_command(backend: str, words: Sequence[str]) -> None:
    """Raises `ValueError` if a command does not start the program of its backend, or sets its address."""
    program = _PROGRAMS[Backend(backend)]
    if not words or words[0] != program:
        raise ValueError(f"expected a command that begins with '{program}', for backend '{backend}'")
    for word in words:
        if word.partition("=")[0] in _RESERVED:
            raise ValueError(f"expected no {word.partition('=')[0]}: the gateway alone reaches the program")


def launch(deployment: Deployment, folder: Path, port: int, free_mb: int | None = None) -> Launch:
    """Returns how to start the process of a workload.

    Args:
        deployment: The workload.
        folder: Folder of sockets.
        port: A free port of this machine, for programs that listen at no socket.
        free_mb: Memory for our own engine in MB, unless the config sets one; None: no limit.

    Raises:
        CannotLaunch: The program is not on this machine.
    """
    words = shlex.split(deployment.config.get("command") or "")
    if deployment.backend == Backend.LLAMACPP:
        return _sotto(deployment, words, folder, port, free_mb)
    program = _PROGRAMS[Backend(deployment.backend)]
    found = shutil.which(program)
    if found is None:
        raise CannotLaunch(f"no node has the program '{program}', which backend '{deployment.backend}' needs")
    if deployment.backend == Backend.OLLAMA:
        listening = {**inherited(), "OLLAMA_HOST": f"127.0.0.1:{port}"}
        return Launch([found, *(words[1:] or ["serve"])], listening, f"http://127.0.0.1:{port}")
    model = ["serve", deployment.model] if program == "vllm" else ["serve", "--model-path", deployment.model]
    arguments = words[1:] or model
    command = [found, *arguments, "--host", "127.0.0.1", "--port", str(port)]
    return Launch(command, inherited(), f"http://127.0.0.1:{port}")


def _sotto(deployment: Deployment, words: list[str], folder: Path, port: int, free_mb: int | None) -> Launch:
    """Returns the start of `sotto serve` with the engine inside."""
    serve = [sys.executable, "-P", "-m", "sotto.cli", "serve"]
    if words:
        command = [*serve, "--as", *words, "--host", "127.0.0.1", "--port", str(port)]
        return Launch(command, inherited(), f"http://127.0.0.1:{port}")
    socket = folder / f"{deployment.workload_id[:12]}-{deployment.generation}.sock"
    config = dict(deployment.config)
    if free_mb is not None:
        config.setdefault("budget_mb", free_mb)
    command = [*serve, "--uds", str(socket), *_options(config), "--", deployment.model]
    return Launch(command, inherited(), f"unix:{socket}")


def _options(config: Mapping[str, Any]) -> list[str]:
    words = []
    if config.get("options"):
        words += ["--options", json.dumps(config["options"])]
    for name, flag in (("budget_mb", "--budget"), ("mode", "--mode"), ("threads", "--threads")):
        if name in config:
            words += [flag, str(config[name])]
    if config.get("deterministic"):
        words.append("--deterministic")
    return words


def inherited() -> dict[str, str]:
    """Returns the environment of this process without its secrets, as child processes get it."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
