"""What a model takes, measured: loaded in several ways, and asked for its figures each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...engine import Engine
from ...errors import SottoError

CELLS = 256  # a stream's memory is made in steps of so many tokens
_ROWS = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
_STREAMS = (1, 4, 8)


@dataclass
class Kind:
    """Keys and values of one type, in bytes."""

    fixed: int = 0  # of each stream
    per_token: float | None = None  # None: it does not grow evenly
    bytes: dict[int, int] = field(default_factory=dict)  # one stream, by its context
    refused: str = ""  # why this model cannot keep them so

    def rows(self) -> list[dict[str, int]]:
        """The table: streams do not share anything."""
        return [
            {"context": context, "streams": streams, "bytes": one * streams}
            for context, one in self.bytes.items()
            for streams in _STREAMS
        ]


class Meter:
    """Loads a model again and again, never two at once."""

    def __init__(self, engine: Engine, path: str, told: Callable[[str, float], None]) -> None:
        self._engine, self._path, self._told = engine, path, told
        self._loads = 0

    def load(self, **options: Any) -> dict[str, Any]:
        """The entry of the model list, loaded so. It is gone by then."""
        self._loads += 1
        name = f"measured {self._loads}"
        self._engine.load_model(name, path=self._path, options=options)
        entry: dict[str, Any] = next(
            one for one in json.loads(self._engine.model_list()) if one["id"] == name
        )
        self._engine.unload_model(name)
        self._told("measure", 1 - 1 / (1 + self._loads / 4))  # how many there will be, it does not know
        return entry

    def kv(self, context: int, kv_type: str, streams: int = 1) -> int:
        """Bytes of keys and values."""
        options = {"context": context, "parallel": streams, "kv_type": kv_type}
        return int(self.load(**options)["bytes"]["kv"])


def measure(meter: Meter, kv_type: str, trained: int, available: int) -> Kind:
    """Keys and values at every context of the table that this machine has `available` bytes for.

    Where the smallest contexts and the largest lie on one line, so does what is between them. Where they do
    not (a sliding window, say), each row is loaded for itself.
    """
    kind = Kind()
    contexts = [*(row for row in _ROWS if row < trained), trained]
    small = min(CELLS, trained)
    try:
        first = meter.kv(small, kv_type)
    except SottoError as error:
        kind.refused = getattr(error, "reason", "") or str(error)
        return kind
    step = meter.kv(2 * CELLS, kv_type) - first if trained >= 2 * CELLS else first
    fits = [row for row in contexts if first + step * (row // CELLS) < available]
    if not fits:
        return kind
    last = meter.kv(fits[-1], kv_type)
    straight = last == first + step * (_cells(fits[-1]) - 1) and step >= 0
    kind.per_token = step / CELLS if straight else None
    kind.fixed = first - step if straight else 0
    for row in fits:
        kind.bytes[row] = first + step * (_cells(row) - 1) if straight else meter.kv(row, kv_type)
    return kind


def _cells(context: int) -> int:
    return -(-context // CELLS)
