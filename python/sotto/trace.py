"""The trace: one record per slice of work."""

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
    """One finished slice of the engine's work.

    `kind` is "open" (a stream was opened: template, tokens or a restored state), "prompt" (a step that
    prefilled prompts), "decode" (a step in which each stream decoded a token), "gate" (a wait for the game
    inside a step; precedes that step), "rest" (no step ran, so that models keep their duty cycle) or "frame"
    (the game's work on a frame, as the game reported it). Ignore unknown kinds. Times are those of
    `time.monotonic_ns()`. `lost` counts the slices before this one that a full trace dropped.

    `predicted_ms` is the predicted duration (0: no prediction), `limit_ms` the time limit (0: none), `share`
    the duty cycle in effect, from 0 to 1, and `frame_phase` the position of the start in the game's frame,
    from 0 to 1 (below 0: no frame). `trial`: the step ran on another number of threads than usual, to compare
    the two. `gave_up`: the step stalled and was aborted; a later slice repeats its work. `decoded_tokens`
    counts decoded answer tokens, draft tokens included: with speculative decoding it exceeds
    `generated_tokens`, or is 0 if an earlier step had verified them.
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
    """Reads the slices that an engine has kept since the last call."""
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
