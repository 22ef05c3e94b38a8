"""How an engine does: for overlays, dashboards and tests."""

from __future__ import annotations

from typing import NamedTuple

from ._call import struct
from ._handle import Handle
from ._lib import lib
from .mode import MODE_NAMES


class Stats(NamedTuple):
    """An engine's figures. Those of the last second cover whole slices and frames that ended in it."""

    mode: str  # who comes first
    live: int  # requests that are not over
    waiting: int  # answers that wait for a model to have room
    prompting: int  # answers whose prompt is being worked through
    speaking: int  # answers under way
    parked: int  # answers that were begun, and gave up their place to others
    threads: int  # on how many threads steps are taken
    share: float  # of the time that models may use at present, 0 to 1
    busy: float  # of the last second, in which they computed, 0 to 1
    tokens_per_s: float  # spoken in the last second, by all together
    prompt_per_s: float  # tokens of prompts that were worked through in the last second
    longest_ms: float  # how long the first of those that wait has waited
    first_ms: float  # from submission to first token: the mean of the last 32 answers
    slice_ms: float  # what a step takes: the 99th of 100, of the last 256
    frame_p50_ms: float  # the game's work on a frame, median of the last 256; 0: no frames
    frame_p95_ms: float  # the 95th of 100
    frame_p99_ms: float  # the 99th of 100
    frames: int  # that were reported
    frames_missed: int  # those whose work took longer than their period
    finished: int  # requests that ended well
    failed: int  # those that ended otherwise, but for the next
    cancelled: int  # those that were cancelled
    generated: int  # tokens spoken
    prompt: int  # tokens of prompts that were worked through
    cached: int  # tokens of prompts that were remembered
    slices: int  # pieces of work done
    slice_ns: int  # what they took
    gated_ns: int  # how much of that they waited for the game
    bytes_in_use: int  # of all models together
    vram_budget: int  # what they may take together; 0: no limit
    bytes_peak: int  # the most that they took together, so far
    bytes_weights: int  # of what is in use
    bytes_kv: int  # the same: what streams remember
    bytes_compute: int  # the same: what steps are computed in
    bytes_parked: int  # the same: what those remember who gave up their place
    asleep: int  # models that gave way to others; they come back when they are asked for


def read_stats(handle: Handle) -> Stats:
    """Asks an engine for its figures."""
    told = struct("sotto_stats")
    handle.call(lib.sotto_engine_stats, told)
    mode, *figures = (getattr(told, name) for name in Stats._fields)
    return Stats(MODE_NAMES.get(mode, f"mode {mode}"), *figures)
