"""Statistics of an engine, for overlays, dashboards and tests."""

from __future__ import annotations

from typing import NamedTuple

from ._call import struct
from ._handle import Handle
from ._lib import lib
from .mode import MODE_NAMES


class Stats(NamedTuple):
    """Statistics of an engine. Figures of the last second cover the slices and frames that ended in it."""

    mode: str  # scheduling mode of the engine
    live: int  # requests that have not ended
    waiting: int  # answers that wait for a slot of their model
    prefilling: int  # answers whose prompt is being prefilled
    decoding: int  # answers that are generating tokens
    parked: int  # started answers whose slot was preempted
    threads: int  # threads per step
    share: float  # duty cycle: share of time that models may compute now, 0 to 1
    busy: float  # share of the last second in which models computed, 0 to 1
    tokens_per_s: float  # tokens generated in the last second, by all streams
    prompt_per_s: float  # prompt tokens prefilled in the last second
    queue_wait_max_ms: float  # longest time that a waiting answer has queued so far
    ttft_mean_ms: float  # time to first token: mean of the last 32 answers
    step_p99_ms: float  # p99 step time over the last 256 steps
    frame_p50_ms: float  # median of the game's work per frame over the last 128 frames. 0: no frames
    frame_p95_ms: float  # p95 of the same
    frame_p99_ms: float  # p99 of the same
    frames: int  # frames that the game reported
    frames_missed: int  # frames whose work took longer than their period
    finished: int  # requests that ended with success
    failed: int  # requests that ended with another status, cancelled ones excepted
    cancelled: int  # requests that ended with `CancelledError`
    completion_tokens: int  # tokens generated since the engine was created
    prompt_tokens: int  # prompt tokens prefilled since then
    cached_prompt_tokens: int  # prompt tokens reused from the prefix cache since then
    slices: int  # slices (scheduled backend steps) since then
    slice_ns: int  # total time of those slices
    gated_ns: int  # part of slice_ns spent waiting at gates for the game
    bytes_in_use: int  # bytes in use by all models
    vram_budget: int  # budget for bytes_in_use. 0: no limit
    bytes_peak: int  # highest value that bytes_in_use has had
    bytes_weights: int  # bytes of weights
    bytes_kv: int  # bytes of KV caches
    bytes_compute: int  # bytes of scratch buffers
    bytes_parked: int  # bytes of spilled KV caches that are in memory
    models_evicted: int  # models that were evicted; the next request for one reloads it
    slice_streams: int  # streams in all slices; divided by `slices`, the mean batch
    draft_tokens: int  # draft tokens that speculation proposed
    draft_accepted: int  # draft tokens that the model accepted
    draft_steps: int  # steps that checked draft tokens, one for each stream in a slice


def read_stats(handle: Handle) -> Stats:
    """Reads an engine's statistics."""
    told = struct("sotto_stats")
    handle.call(lib.sotto_engine_stats, told)
    mode, *figures = (getattr(told, name) for name in Stats._fields)
    return Stats(MODE_NAMES.get(mode, f"mode {mode}"), *figures)
