"""What the engine computed, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ._call import new, structs
from ._handle import Handle
from ._lib import lib
from .mode import MODE_NAMES

_KINDS = {
    lib.SOTTO_SLICE_OPEN: "open",
    lib.SOTTO_SLICE_PROMPT: "prompt",
    lib.SOTTO_SLICE_DECODE: "decode",
    lib.SOTTO_SLICE_GATE: "gate",
    lib.SOTTO_SLICE_FRAME: "frame",
    lib.SOTTO_SLICE_REST: "rest",
}
_AT_ONCE = 256


class Slice(NamedTuple):
    """One piece of the engine's work.

    `kind` is "open" (a request was made ready), "prompt" (a step that worked through prompts), "decode" (one
    in which each stream spoke a token), "gate" (a wait inside a step for the game, told before that step),
    "rest" (no step ran, so that models keep to their share of the time) or "frame" (not the engine's: the
    game's work on a frame, as it was reported); skip what you do not know.
    Times are those of `time.monotonic_ns()`. `lost` slices before it found no room in the trace.

    `predicted_ms` is what it was thought to take (0: nothing was known), `limit_ms` what it was to keep
    within (0: nothing), `share` the part of the time that models might use, from 0 to 1, and `frame_phase`
    where in the game's frame it began, from 0 to 1 (below 0: in none). `trial` says that a step ran on
    another number of threads than most, to compare the two, and `gave_up` that it stood still, was given up,
    and its work is done again. `decoded_tokens` counts answer tokens that were decoded, draft tokens
    included: with speculative decoding it is more than `generated_tokens`, or 0 where an earlier step had
    verified them.
    """

    kind: str
    begin_ns: int
    end_ns: int
    streams: int
    prompt_tokens: int
    generated_tokens: int
    threads: int
    mode: str
    lost: int = 0
    predicted_ms: float = 0.0
    limit_ms: float = 0.0
    share: float = 1.0
    frame_phase: float = -1.0
    trial: bool = False
    gave_up: bool = False
    decoded_tokens: int = 0


def read_trace(handle: Handle) -> Iterator[Slice]:
    """Takes the slices that an engine still keeps."""
    slices, count = structs("sotto_slice", _AT_ONCE), new("uint32_t *")
    while True:
        handle.call(lib.sotto_engine_read_trace, slices, _AT_ONCE, count)
        for told in slices[0 : count[0]]:
            yield Slice(
                _KINDS.get(told.kind, f"kind {told.kind}"),
                told.begin_ns,
                told.end_ns,
                told.streams,
                told.prompt_tokens,
                told.generated_tokens,
                told.threads,
                MODE_NAMES.get(told.mode, f"mode {told.mode}"),
                told.lost,
                told.predicted_ms,
                told.limit_ms,
                told.share,
                told.frame_phase,
                bool(told.flags & lib.SOTTO_SLICE_TRIAL),
                bool(told.flags & lib.SOTTO_SLICE_GAVE_UP),
                told.decoded_tokens,
            )
        if count[0] < _AT_ONCE:
            return
