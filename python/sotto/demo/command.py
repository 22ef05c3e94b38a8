"""Entry point of `sotto demo`: runs the game alone, with characters, alone again, and prints a summary."""

from __future__ import annotations

import argparse
import math
import os
import sys
from contextlib import suppress
from typing import Any

from .. import __version__
from .._hub import default_model, locate
from ..commands import arguments as types
from ..commands import screen
from ..engine import Engine
from ..memory import Memory
from . import frames
from .listen import Source, listen
from .load import OtherLoad
from .personas import tavern
from .record import File, Record, Trace
from .scene import Scene
from .talk import COMMANDS, Talk
from .view import Headless, View

TRACE = 4096  # trace capacity in slices between two frames, if a trace is recorded
_SECONDS = 20.0
_TOGETHER = 8  # maximum number of characters that generate at once; the other ones queue
_REMEMBERED = 1024  # minimum context in tokens: enough for the character sheet and a conversation
_ALONE = 1.5  # seconds of the game alone, before the user can type


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto demo` to `parser`."""
    parser.add_argument(
        "--seconds", type=types.seconds, help="how long characters speak (20; with --talk: until you leave)"
    )
    parser.add_argument(
        "--talk", action="store_true", help="type to the characters yourself, or pipe lines in"
    )
    parser.add_argument(
        "--characters", type=types.count(1, 64), default=4, help="how many of them, 1 to 64 (4)"
    )
    parser.add_argument(
        "--target-tps", type=types.pace, default=24.0, help="tokens per second each; 0: no pacing (24)"
    )
    parser.add_argument(
        "--mode",
        choices=("balance", "prioritize_compute", "prioritize_graphics"),
        default="balance",
        help="who comes first when the machine is short (balance)",
    )
    parser.add_argument(
        "--model",
        help="a GGUF file or a Hugging Face id (sotto/tavern if it is on this machine, else sotto/house)",
    )
    parser.add_argument(
        "--vram-budget",
        type=types.count(0, types.MOST_MB),
        default=0,
        metavar="MB",
        help="the most memory that models may take together, in megabytes; 0: no limit (0)",
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw frames and the engine's work into a PNG, SVG or PDF file"
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="write every slice of the engine's work into a JSON file for Perfetto"
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="record decisions, and what they follow from, in a new file for `sotto replay`",
    )
    parser.add_argument("--headless", action="store_true", help="print lines as they are whole, draw nothing")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object at the end, and nothing else"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo. Returns the exit status."""
    arguments.model = arguments.model or default_model()
    files = _files(arguments)
    live = (
        not (arguments.headless or arguments.json)
        and sys.stdout.isatty()
        and os.environ.get("TERM") != "dumb"
    )
    source = listen(_words(arguments.characters), keys=live) if arguments.talk else None
    view = _live() if live else Headless(quiet=arguments.json)
    record, kept = (Record(), TRACE) if files else (None, 0)
    told = {"mode": arguments.mode, "target_tps": arguments.target_tps, "record_path": arguments.record}
    with Engine(trace_capacity=kept, vram_budget_mb=arguments.vram_budget, **told) as engine:
        with view:
            report = _evening(arguments, engine, view, source, record)
        if arguments.json:
            screen.say(screen.dump(report))
        else:
            view.summary(report)
    if record is not None:
        for file in files:
            file.write(record, report)
            view.say(f"written: {file.path}")
    return 0


def play(
    engine: Engine,
    scene: Scene,
    rounds: int,
    seconds: float,
    view: View,
    *,
    talk: Talk | None = None,
    record: Record | None = None,
    stats: frames.FrameStats | None = None,
) -> frames.FrameStats:
    """Runs the game with its characters for `seconds`. Returns the frame statistics.

    Args:
        engine: engine with the model loaded.
        scene: the characters.
        rounds: work per frame, from `frames.calibrate()`.
        seconds: duration.
        view: output.
        talk: input of the user; the game ends when it ends.
        record: collects the engine's trace after each frame.
        stats: statistics to add the frames to. None: new ones.
    """
    counted = frames.FrameStats() if stats is None else stats

    def begin() -> None:
        engine.frame_begin(busy_cores=1, period=frames.PERIOD)
        if talk is not None:
            talk.frame()
        scene.begin_frame()

    def end(slack: float) -> None:
        engine.frame_end()
        if record is not None:
            record.take(engine)
        view.show(scene, counted, slack)

    going = (lambda: True) if talk is None else (lambda: talk.going)
    return frames.run(rounds, seconds, begin=begin, end=end, going=going, stats=counted)


def _evening(
    arguments: argparse.Namespace, engine: Engine, view: View, source: Source | None, record: Record | None
) -> dict[str, Any]:
    """Loads the model and runs all measurements. Returns the report."""
    view.note(f"loading {arguments.model}")
    engine.load_model(arguments.model, options=_options(engine, arguments))
    view.note("measuring the machine")
    load = OtherLoad()
    rounds = frames.calibrate()
    seconds = arguments.seconds or (_SECONDS if source is None else math.inf)
    around = max(1.0, seconds / 4) if source is None else _ALONE
    view.note("the game alone")
    alone = frames.run(rounds, around)
    scene = Scene(engine, arguments.model, arguments.characters, scripted=source is None)
    if source is not None:
        together = _talk(engine, scene, rounds, seconds, view, source, record)
        scene.hush()
    else:
        together = play(engine, scene, rounds, seconds, view, record=record)
        view.note("the game alone, once more")
        scene.hush()
        alone.add(frames.run(rounds, around))
    view.flush(scene)
    if record is not None:
        record.take(engine)
        record.keep(alone, together)
    report = summarize(arguments, engine, scene, together, alone)
    return {**report, "other_cpu_pct": load.percent()}


def _options(engine: Engine, arguments: argparse.Namespace) -> dict[str, int]:
    """Returns the load options: the number of parallel streams.

    Without a budget, all characters speak at once, up to 8. With a budget, returns the largest number of
    streams whose plan fits with a context of at least 1024 tokens.
    """
    most = min(arguments.characters, _TOGETHER)
    if not arguments.vram_budget:
        return {"parallel": most}
    path = locate(arguments.model)  # downloads the model if necessary
    for streams in range(most, 0, -1):
        asked = {"parallel": streams}
        plan = engine.plan_model(arguments.model, path=path, options=asked)
        if plan["fits"] and plan["rungs"][-1]["context"] >= _REMEMBERED:
            return asked
    return {}  # the engine chooses a plan, or reports the required budget


def _talk(
    engine: Engine,
    scene: Scene,
    rounds: int,
    seconds: float,
    view: View,
    source: Source,
    record: Record | None,
) -> frames.FrameStats:
    """Runs the game while the user types. Ctrl-C ends it in the same way as Ctrl-D."""
    stats = frames.FrameStats()
    with source, suppress(KeyboardInterrupt):
        talk = Talk(scene, view, source)
        view.listen(talk)
        talk.greet()
        play(engine, scene, rounds, seconds, view, talk=talk, record=record, stats=stats)
    return stats


def summarize(
    arguments: argparse.Namespace,
    engine: Engine,
    scene: Scene,
    together: frames.FrameStats,
    alone: frames.FrameStats,
) -> dict[str, Any]:
    """Returns the summary of the demo, which `--json` prints."""
    characters = [character.report() for character in scene.characters]
    total = sum(character["tokens"] for character in characters)
    return {
        "frames": together.frames,
        "missed": together.missed,
        "missed_pct": together.missed_pct,
        "frame_ms": together.percentiles(),
        "baseline": {"missed_pct": alone.missed_pct, "frame_ms": alone.percentiles()},
        "memory": _memory(engine.memory()),
        "speech": _speech([line for character in characters for line in character["lines"]]),
        "characters": characters,
        "tokens_total": total,
        "tps_total": round(total / together.seconds, 2) if together.frames else 0.0,
        "model": arguments.model,
        "device": engine.describe()["device"],
        "sotto_version": __version__,
    }


def _memory(told: Memory) -> dict[str, Any]:
    return {
        "budget": told["budget"],
        "peak": told["peak"],
        "used": {name: use["used"] for name, use in told["uses"].items()},
        "evicted": sum(model["state"] == "evicted" for model in told["models"]),
        "parked": told["parked"],
    }


def _speech(lines: list[dict[str, Any]]) -> dict[str, int]:
    asked = [line for line in lines if line["facts"]]
    return {
        "lines": len(lines),
        "in_character": sum(line["in_character"] for line in lines),
        "asked_for_facts": len(asked),
        "with_facts": sum(line["uses_facts"] for line in asked),
    }


def _words(count: int) -> list[str]:
    called = [one.called for one in tavern().personas[:count]]
    return [*(f"{name}, " for name in called), *(f"{name} " for name in COMMANDS)]


def _live() -> View:
    from .live import Live  # imported late: `rich` is slow to import

    return Live()


def _files(arguments: argparse.Namespace) -> list[File]:
    files: list[File] = []
    if arguments.plot is not None:
        from .plot import Plot

        files.append(Plot(arguments.plot))
    if arguments.trace is not None:
        files.append(Trace(arguments.trace))
    return files
