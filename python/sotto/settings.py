"""What a host sets while requests run, mode, memory budget and pace, and the figures it sets them by."""

from __future__ import annotations

from ._desc import megabytes
from ._handle import Handle
from ._lib import lib
from ._values import choice, number
from .mode import MODES, Mode
from .stats import Stats, read_stats
from .trace import Slice, read_trace


class Settings:
    """Part of `Engine` and of `aio.Engine`: settings and figures. Its methods never wait."""

    _handle: Handle

    def set_scheduling_mode(self, mode: Mode) -> None:
        """Sets the mode: "balance" (the default), "prioritize_compute" or "prioritize_graphics"."""
        self._handle.call(lib.sotto_engine_set_mode, choice("mode", mode, MODES))

    def set_vram_budget_mb(self, mb: int) -> None:
        """Sets the memory budget of all models together, in MB; 0: no limit. On a CPU, limits main memory.

        If more is in use, the engine evicts idle models, which reload at their next request, and parks some
        streams of busy models, which continue later with the same text. See `memory()` for current use.
        """
        self._handle.call(lib.sotto_engine_set_vram_budget, megabytes("mb", mb))

    def set_target_tps(self, tps: float) -> None:
        """Sets the pace of all streams, running ones included, in tokens per second; 0: no pacing."""
        self._handle.call(lib.sotto_engine_set_target_tps, number("tps", tps))

    def trace(self) -> list[Slice]:
        """Returns the slices since the last call, oldest first; the engine keeps `trace_capacity` of them."""
        return list(read_trace(self._handle))

    def stats(self) -> Stats:
        """Returns statistics: requests, throughput, latency, frame times and memory. Never waits."""
        return read_stats(self._handle)
