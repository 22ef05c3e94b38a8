"""Measures how speaking characters affect a game's frame times, in each scheduling mode."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from ...demo import frames
from ...demo.command import play
from ...demo.scene import Scene
from ...demo.view import View
from ...engine import Engine
from ...mode import Mode

MODES: tuple[Mode, ...] = ("balance", "prioritize_graphics", "prioritize_compute")
CHARACTERS = 4
SPEECH_TPS = 24.0
_NAMES = ("p50", "p95", "p99")


def measure(
    engine: Engine, model: str, runs: int, seconds: float, done: Callable[[float], None]
) -> list[dict[str, Any]]:
    """Measures frame times of the game alone and with 4 speaking characters in each scheduling mode.

    Interleaves the measurements: each run measures the game alone, then each mode.

    Args:
        engine: an engine with the model loaded. This function changes its pace and its scheduling mode.
        model: id of the model.
        runs: number of runs.
        seconds: duration of each measurement.
        done: is called with the progress, from 0 to 1.

    Returns:
        One row for the game alone, then one row per mode; each figure except `frames` is the median of the
        runs. `frames` is the sum.
    """
    rounds = frames.calibrate()
    engine.set_target_tps(SPEECH_TPS)
    _speak(engine, model, rounds, seconds / 3)  # warm-up: the first run is slow
    alone: list[frames.FrameStats] = []
    spoken: dict[str, list[tuple[frames.FrameStats, float]]] = {mode: [] for mode in MODES}
    steps = runs * (1 + len(MODES))
    for run in range(runs):
        alone.append(frames.run(rounds, seconds))
        done((run * (1 + len(MODES)) + 1) / steps)
        for place, mode in enumerate(MODES):
            engine.set_scheduling_mode(mode)
            spoken[mode].append(_speak(engine, model, rounds, seconds))
            done((run * (1 + len(MODES)) + 2 + place) / steps)
    rows = [{"game": "alone", **_middle(alone), "tps": 0.0}]
    for name, measured in spoken.items():
        tps = round(statistics.median(rate for _, rate in measured), 1)
        rows.append({"game": name, **_middle([stats for stats, _ in measured]), "tps": tps})
    return rows


def _speak(engine: Engine, model: str, rounds: int, seconds: float) -> tuple[frames.FrameStats, float]:
    scene = Scene(engine, model, CHARACTERS)
    stats = play(engine, scene, rounds, seconds, View())
    scene.hush()
    return stats, sum(one.tokens for one in scene.characters) / seconds


def _middle(runs: list[frames.FrameStats]) -> dict[str, Any]:
    times = [stats.percentiles() for stats in runs]
    return {
        "frames": sum(stats.frames for stats in runs),
        "missed_pct": round(statistics.median(stats.missed_pct for stats in runs), 2),
        "frame_ms": {name: round(statistics.median(one[name] for one in times), 2) for name in _NAMES},
    }
