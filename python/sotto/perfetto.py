"""Writes traces in the trace event format, for https://ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from .trace import Slice

Event = dict[str, Any]

TRACKS = {  # track title by kind of slice, from top to bottom
    "frame": "game: frames",
    "gate": "waits for the game",
    "open": "prompts opened",
    "prompt": "prompts read",
    "decode": "words written",
}
WORK = ("open", "prompt", "decode")  # kinds of slices in which the engine computes
_LANES = 1000  # track numbers per kind; overlapping slices need several tracks
_PROCESS = 1


def write_trace(slices: Iterable[Slice], path: str | os.PathLike[str]) -> None:
    """Writes the slices of one or more `Engine.trace()` calls into a JSON file for Perfetto.

    The file has a track for each kind of slice, and counters for the duty cycle and the tokens so far. Times
    are microseconds on the clock of `time.monotonic()`, so that the game's own events can be merged.
    """
    import json

    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [')
        for number, event in enumerate(trace_events(slices)):
            file.write((",\n" if number else "\n") + json.dumps(event))
        file.write("\n]}\n")


def trace_events(slices: Iterable[Slice]) -> Iterator[Event]:
    """Yields the trace events: first the names of the tracks, then slices and counters by time."""
    tracks, counters = _Tracks(), _Counters()
    happened: list[Event] = []
    for one in sorted(slices, key=lambda one: (one.begin_ns, one.end_ns)):
        took = max(0, one.end_ns - one.begin_ns) / 1000
        happened.append(_at(one.begin_ns, "X", one.kind, dur=took, tid=tracks.take(one), args=_figures(one)))
        happened += counters.take(one)
    yield from tracks.names()
    yield from sorted(happened, key=lambda event: float(event["ts"]))


class _Tracks:
    """Assigns slices to tracks, so that slices on the same track do not overlap."""

    def __init__(self) -> None:
        self.kinds = list(TRACKS)
        self.ends: dict[int, int] = {}  # end of the last slice by track, in ns

    def take(self, one: Slice) -> int:
        """Returns the first track of the slice's kind that is free when the slice begins."""
        if one.kind not in self.kinds:
            self.kinds.append(one.kind)
        track = (self.kinds.index(one.kind) + 1) * _LANES
        while self.ends.get(track, 0) > one.begin_ns:
            track += 1
        self.ends[track] = one.end_ns
        return track

    def names(self) -> Iterator[Event]:
        yield _about("process_name", 0, name="sotto")
        for track in sorted(self.ends):
            kind, lane = self.kinds[track // _LANES - 1], track % _LANES
            yield _about("thread_name", track, name=TRACKS.get(kind, kind) + (f" {lane + 1}" if lane else ""))
            yield _about("thread_sort_index", track, sort_index=track)


class _Counters:
    """Counters, which Perfetto draws as curves: one event per change of value."""

    def __init__(self) -> None:
        self.share = -1.0
        self.read = self.written = 0

    def take(self, one: Slice) -> Iterator[Event]:
        """Yields an event for each counter that the slice changed, and one for lost slices."""
        if one.lost:
            yield _at(one.begin_ns, "i", f"{one.lost} slices found no room", s="p")
        if one.kind in WORK and one.share != self.share:
            self.share = one.share
            yield _at(one.begin_ns, "C", "share", args={"of the time": round(one.share, 4)})
        if one.prompt_tokens or one.generated_tokens:
            self.read += one.prompt_tokens
            self.written += one.generated_tokens
            yield _at(one.end_ns, "C", "tokens", args={"read": self.read, "written": self.written})


def _figures(one: Slice) -> dict[str, Any]:
    """Returns the details that Perfetto shows for a slice, without unknown values."""
    figures: dict[str, Any] = {}
    if one.kind in WORK:
        figures = {
            "streams": one.streams,
            "prompt_tokens": one.prompt_tokens,
            "generated_tokens": one.generated_tokens,
            "decoded_tokens": one.decoded_tokens,
            "threads": one.threads,
            "share": round(one.share, 4),
            "mode": one.mode,
        }
    known = {"predicted_ms": one.predicted_ms, "limit_ms": one.limit_ms}
    figures |= {name: round(ms, 4) for name, ms in known.items() if ms > 0}
    if one.frame_phase >= 0:
        figures["frame_phase"] = round(one.frame_phase, 4)
    return figures


def _about(what: str, track: int, **said: Any) -> Event:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": track, "args": said}


def _at(ns: int, phase: str, name: str, *, tid: int = 0, **more: Any) -> Event:
    return {"ph": phase, "name": name, "pid": _PROCESS, "tid": tid, "ts": ns / 1000, **more}
