"""Child process of `sotto models info`: measures the memory of a model file."""

from __future__ import annotations

from typing import Any

from ...engine import Engine
from .. import machine, progress
from . import memory

_KINDS = ("f16", "q8_0")


def run(path: str, title: str, engine: dict[str, Any]) -> dict[str, Any]:
    """Loads the model with several contexts and KV types.

    Returns its entry in the model list ("entry"), and the KV cache memory by KV type ("kv").
    """
    with Engine(**engine) as opened, progress.fractions(title) as told:
        meter = memory.Meter(opened, path, told)
        entry = meter.load()
        trained = int(entry["details"].get("trained_context") or entry["context"])
        system = opened.memory()["system"]  # includes the memory limit of a container
        available = system["available"] // 4 if system else room()
        kinds = {kind: memory.measure(meter, kind, trained, min(available, room())) for kind in _KINDS}
    return {"entry": entry, "kv": {name: _kind(kind) for name, kind in kinds.items()}}


def room() -> int:
    """Returns the maximum KV cache size for measuring, in bytes: a quarter of the available memory."""
    return machine.available_bytes() // 4


def _kind(kind: memory.Kind) -> dict[str, Any]:
    if kind.refused:
        return {"refused": kind.refused}
    return {"per_token": kind.per_token, "fixed": kind.fixed, "table": kind.rows()}
