"""Measures a model's KV cache memory: loads it with several options and reads its statistics each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...engine import Engine
from ...errors import SottoError

CELLS = 256  # the KV cache of a stream grows in blocks of 256 tokens
_ROWS = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
_STREAMS = (1, 4, 8)


@dataclass
class Kind:
    """KV cache memory of one KV type, in bytes."""

    fixed: int = 0  # per stream
    per_token: float | None = None  # None: memory does not grow linearly
    bytes: dict[int, int] = field(default_factory=dict)  # one stream, by its context in tokens
    refused: str = ""  # reason why this model does not support this KV type

    def rows(self) -> list[dict[str, int]]:
        """Returns the bytes for each context and stream count. Streams do not share memory."""
        return [
            {"context": context, "streams": streams, "bytes": one * streams}
            for context, one in self.bytes.items()
            for streams in _STREAMS
        ]


class Meter:
    """Loads a model repeatedly, one instance at a time."""

    def __init__(self, engine: Engine, path: str, told: Callable[[str, float], None]) -> None:
        self._engine, self._path, self._told = engine, path, told
        self._loads = 0

    def load(self, **options: Any) -> dict[str, Any]:
        """Loads the model with `options`, unloads it, and returns its entry in the model list."""
        self._loads += 1
        name = f"measured {self._loads}"
        self._engine.load_model(name, path=self._path, options=options)
        entry: dict[str, Any] = next(
            one for one in json.loads(self._engine.model_list()) if one["id"] == name
        )
        self._engine.unload_model(name)
        self._told("measure", 1 - 1 / (1 + self._loads / 4))  # the total is unknown
        return entry

    def kv(self, context: int, kv_type: str, streams: int = 1) -> int:
        """Returns the KV cache size in bytes for a context, a KV type and a number of streams."""
        options = {"context": context, "parallel": streams, "kv_type": kv_type}
        return int(self.load(**options)["bytes"]["kv"])


def measure(meter: Meter, kv_type: str, trained: int, available: int) -> Kind:
    """Measures the KV cache for each context size of `_ROWS`, and for the trained context.

    Skips contexts whose KV cache exceeds `available` bytes. If the sizes at 256 and 512 tokens and at the
    largest context lie on a line, interpolates the sizes between them. Otherwise (for example with
    sliding window attention), loads the model once per context.
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
