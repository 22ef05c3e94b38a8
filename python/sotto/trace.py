"""What the engine computed, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ._call import new, structs
from ._handle import Handle
from ._lib import lib

_KINDS = {
    lib.SOTTO_SLICE_OPEN: "open",
    lib.SOTTO_SLICE_PROMPT: "prompt",
    lib.SOTTO_SLICE_DECODE: "decode",
}
MODES: Mapping[str, int] = {
    "balance": lib.SOTTO_MODE_BALANCE,
    "prioritize_compute": lib.SOTTO_MODE_PRIORITIZE_COMPUTE,
    "prioritize_graphics": lib.SOTTO_MODE_PRIORITIZE_GRAPHICS,
}
_MODE_NAMES = {value: name for name, value in MODES.items()}
_AT_ONCE = 256


class Slice(NamedTuple):
    """One piece of the engine's work.

    `kind` is "open" (a request was made ready), "prompt" (a step that worked through prompts) or "decode"
    (one in which each stream spoke a token). Times are those of `time.monotonic_ns()`. `lost` slices before
    it found no room in the trace.
    """

    kind: str
    begin_ns: int
    end_ns: int
    streams: int
    prompt_tokens: int
    generated_tokens: int
    threads: int
    mode: str
    lost: int


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
                _MODE_NAMES.get(told.mode, f"mode {told.mode}"),
                told.lost,
            )
        if count[0] < _AT_ONCE:
            return
