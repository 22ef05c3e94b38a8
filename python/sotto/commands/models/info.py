"""`sotto models info`: prints facts of a model and its memory use."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ..._hub import HOUSE, built_in, locate
from .. import arguments as types
from .. import confined, progress, screen
from . import measure_file, sheet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models info` to `parser`."""
    parser.add_argument(
        "model", nargs="?", default=HOUSE, help="a GGUF file or a Hugging Face id (sotto/house)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    types.add_limit_arguments(parser)
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the report of a model. Returns the exit status."""
    report = examine(arguments)
    if arguments.json:
        screen.say(screen.dump(report))
    else:
        sheet.show(report)
    return 0


def examine(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the report of a model: id, path, file size in bytes, backend, details and memory use.

    Downloads the model's file if necessary. Loads the model in a child process with limits.
    """
    with progress.fractions(arguments.model) as told:
        path = _path(arguments.model, told)
    limits = types.limits(path, arguments.timeout, arguments.memory, measure_file.room())
    asked = {"path": path, "title": arguments.model, "engine": types.engine_options(arguments)}
    found = confined.value("info", asked, limits, path)
    entry = found["entry"]
    return {
        "id": arguments.model,
        "path": path,
        "file_bytes": os.path.getsize(path),
        "backend": entry["backend"],
        **entry["details"],
        "memory": {
            "default": {"context": entry["context"], "streams": entry["streams"], **entry["bytes"]},
            "kv": found["kv"],
        },
    }


def _path(model: str, told: progress.Told) -> str:
    path = built_in(model) or locate(model, told) or model
    return str(Path(path).expanduser())
