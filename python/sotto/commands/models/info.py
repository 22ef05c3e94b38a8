"""`sotto models info`: what a model is, and the memory that it takes."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from ..._hub import HOUSE, locate
from ..._lib import library_folder
from ...engine import Engine
from .. import arguments as types
from .. import machine, progress
from . import memory, sheet

_KINDS = ("f16", "q8_0")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `sotto models info` understands."""
    parser.add_argument(
        "model", nargs="?", default=HOUSE, help="a GGUF file or a Hugging Face id (sotto/house)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Looks at a model. Returns the exit status."""
    report = examine(arguments)
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        sheet.show(report)
    return 0


def examine(arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything that is known of a model."""
    with Engine(**types.engine_options(arguments)) as engine, progress.fractions(arguments.model) as told:
        path = _path(arguments.model, told)
        meter = memory.Meter(engine, path, told)
        entry = meter.load()
        details = entry["details"]
        trained = int(details.get("trained_context") or entry["context"])
        available = machine.available_bytes() // 4  # others want some, too
        kinds = {kind: memory.measure(meter, kind, trained, available) for kind in _KINDS}
    return {
        "id": arguments.model,
        "path": path,
        "file_bytes": os.path.getsize(path),
        "backend": entry["backend"],
        **details,
        "memory": {
            "default": {"context": entry["context"], "streams": entry["streams"], **entry["bytes"]},
            "kv": {name: _kind(kind) for name, kind in kinds.items()},
        },
    }


def _path(model: str, told: progress.Told) -> str:
    if model == HOUSE:
        return str(library_folder() / "house.gguf")
    path = locate(model, told) or model
    return str(Path(path).expanduser())


def _kind(kind: memory.Kind) -> dict[str, Any]:
    if kind.refused:
        return {"refused": kind.refused}
    return {"per_token": kind.per_token, "fixed": kind.fixed, "table": kind.rows()}
