"""The demo itself: the game alone, the game with characters, the game alone again, and a summary."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .. import __version__
from ..commands.arguments import count, pace, seconds
from ..engine import Engine
from . import frames
from .scene import Scene
from .view import Headless, Live, View


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `sotto demo` understands."""
    parser.add_argument("--seconds", type=seconds, default=20.0, help="how long characters speak (20)")
    parser.add_argument("--characters", type=count(1, 64), default=4, help="how many of them, 1 to 64 (4)")
    parser.add_argument(
        "--target-tps", type=pace, default=24.0, help="tokens per second each; 0: no pacing (24)"
    )
    parser.add_argument(
        "--mode",
        choices=("balance", "prioritize_compute", "prioritize_graphics"),
        default="balance",
        help="who comes first when the machine is short (balance)",
    )
    parser.add_argument(
        "--model", default="sotto/house", help="a GGUF file or a Hugging Face id (sotto/house)"
    )
    parser.add_argument("--headless", action="store_true", help="print lines as they are whole, draw nothing")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object at the end, and nothing else"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo. Returns the exit status."""
    live = not (arguments.headless or arguments.json) and sys.stdout.isatty()
    view: View = Live() if live else Headless(quiet=arguments.json)
    with Engine(mode=arguments.mode, target_tps=arguments.target_tps) as engine, view:
        view.note(f"loading {arguments.model}")
        engine.load_model(arguments.model)
        view.note("measuring the machine")
        rounds = frames.calibrate()
        around = max(1.0, arguments.seconds / 4)
        view.note("the game alone")
        alone = frames.run(rounds, around)
        scene = Scene(engine, arguments.model, arguments.characters)
        together = play(engine, scene, rounds, arguments.seconds, view)
        view.note("the game alone, once more")
        scene.hush()
        view.flush(scene)
        alone.add(frames.run(rounds, around))
        report = summarize(arguments, engine, scene, together, alone)
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        view.summary(report)
    return 0


def play(engine: Engine, scene: Scene, rounds: int, seconds: float, view: View) -> frames.FrameStats:
    """The game with its characters."""

    def begin() -> None:
        engine.frame_begin(busy_cores=1, period=frames.PERIOD)
        scene.begin_frame()

    def end(slack: float) -> None:
        engine.frame_end()
        view.show(scene, slack)

    return frames.run(rounds, seconds, begin=begin, end=end)


def summarize(
    arguments: argparse.Namespace,
    engine: Engine,
    scene: Scene,
    together: frames.FrameStats,
    alone: frames.FrameStats,
) -> dict[str, Any]:
    """The demo's JSON object."""
    characters = [character.report() for character in scene.characters]
    total = sum(character["tokens"] for character in characters)
    return {
        "frames": together.frames,
        "missed": together.missed,
        "missed_pct": together.missed_pct,
        "frame_ms": together.percentiles(),
        "baseline": {"missed_pct": alone.missed_pct, "frame_ms": alone.percentiles()},
        "characters": characters,
        "tokens_total": total,
        "tps_total": round(total / arguments.seconds, 2),
        "model": arguments.model,
        "device": engine.describe()["device"],
        "sotto_version": __version__,
    }
