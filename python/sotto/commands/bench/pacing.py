"""Measures how precisely paced streams keep their target pace."""

from __future__ import annotations

import statistics
import time
from typing import Any

from ..._handle import raise_failure
from ...engine import Engine
from .speed import silence, story

TARGET_TPS = 20.0


def measure(engine: Engine, model: str, streams: int, seconds: float) -> dict[str, Any]:
    """Measures the gaps between the tokens of paced streams, in ms, and their error against the target gap.

    Returns the mean pace in tokens per second, and the mean and p95 of the absolute error.
    """
    engine.set_target_tps(TARGET_TPS)
    gaps = _gaps(engine, model, streams, seconds)
    engine.set_target_tps(0)
    errors = sorted(abs(gap - 1000 / TARGET_TPS) for gap in gaps)
    return {
        "streams": streams,
        "target_tps": TARGET_TPS,
        "tps": round(1000 / statistics.mean(gaps), 2) if gaps else 0.0,
        "gap_error_ms": {
            "mean": round(statistics.mean(errors), 2) if gaps else None,
            "p95": round(errors[int(0.95 * len(errors))], 2) if gaps else None,
        },
        "gaps": len(gaps),
    }


def _gaps(engine: Engine, model: str, streams: int, seconds: float) -> list[float]:
    asked = streams
    heard: dict[int, tuple[float, int]] = {  # by request: time of its last token, and tokens so far
        engine.submit("completion", story(model, number)): (0.0, 0) for number in range(streams)
    }
    gaps: list[float] = []
    began = now = time.perf_counter()
    while now < began + seconds:
        engine.wait(0.25)
        now = time.perf_counter()
        for event in engine.events():
            if event.request not in heard:
                continue
            last, tokens = heard[event.request]
            if event.kind == "text" and event.tokens > tokens:
                if tokens:
                    gaps.append((now - last) * 1000 / (event.tokens - tokens))
                heard[event.request] = (now, event.tokens)
            elif event.kind == "request_done":
                raise_failure(event, refused=False)
                del heard[event.request]
                heard[engine.submit("completion", story(model, asked))] = (0.0, 0)
                asked += 1
    silence(engine, list(heard))
    return gaps
