"""Entry point of `sotto bench`: parses the arguments, runs the measurements and writes the report."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...engine import Engine
from ...errors import ArgumentError
from .. import arguments as types
from .. import progress, screen
from . import games, pacing, report, speed

Told = Callable[[float], None]
_MANY = 4


class Plan(NamedTuple):
    """Number of runs and duration of each measurement, in seconds."""

    runs: int = 5
    seconds: float = 3.0  # per run with several streams
    pacing_seconds: float = 10.0
    game_runs: int = 3
    game_seconds: float = 6.0


QUICK = Plan(runs=3, seconds=1.0, pacing_seconds=4.0, game_runs=1, game_seconds=3.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto bench` to `parser`."""
    parser.add_argument(
        "model", nargs="?", default="sotto/house", help="a GGUF file or a Hugging Face id (sotto/house)"
    )
    parser.add_argument(
        "--report", nargs="?", const=".", metavar="DIR", help="write a JSON and a Markdown file (here)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs, less to rely on")
    parser.add_argument("--json", action="store_true", help="print one JSON object, and nothing else")
    parser.add_argument("--options", metavar="JSON", help='how to load the model, like {"context": 4096}')
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the benchmark, prints the report and writes its files. Returns the exit status."""
    folder = None if arguments.report is None else _folder(arguments.report)
    found = measure(arguments)
    text = report.markdown(found)
    whole = screen.dump(found)
    screen.say(whole if arguments.json else text, end="\n" if arguments.json else "")
    if folder is not None:
        for path in _write(folder, found, {"json": whole + "\n", "md": text}):
            screen.complain(f"written: {path}")
    return 0


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Runs all measurements. Returns the report."""
    plan = QUICK if arguments.quick else Plan()
    model = arguments.model
    options = None if arguments.options is None else types.json_object("--options", arguments.options)
    with Engine(**types.engine_options(arguments), mode="prioritize_compute") as engine:
        began = time.perf_counter()
        progress.load(engine, model, options=options)
        entry = json.loads(engine.model_list())[0]
        found = report.about(engine.describe(), entry, model, time.perf_counter() - began)
        found |= {"quick": arguments.quick, "runs": {"speed": plan.runs, "game": plan.game_runs}}
        with _steps(quiet=arguments.json) as step:
            room = entry["context"] or max(speed.LENGTHS) * 2
            found["prefill"] = speed.prefill(engine, model, room, plan.runs, step("prompts"))
            one = speed.decode_one(engine, model, plan.runs, step("one stream"))
            told = step(f"{_MANY} streams")
            many = speed.decode_many(engine, model, _MANY, plan.runs, plan.seconds, told)
            found["decode"] = [one, many]
            engine.set_scheduling_mode("balance")
            found["pacing"] = []
            for streams in (1, _MANY):
                told = step(f"{streams} paced")
                found["pacing"].append(pacing.measure(engine, model, streams, plan.pacing_seconds))
                told(1.0)
            told = step("a game's frames")
            found["frames"] = games.measure(engine, model, plan.game_runs, plan.game_seconds, told)
    return found


@contextmanager
def _steps(*, quiet: bool) -> Iterator[Callable[[str], Told]]:
    """Reports the current measurement: with progress bars on a terminal, else with lines on stderr.

    `quiet`: prints no lines. Yields a function that starts a measurement and returns its progress callback.
    """
    with progress.fractions("") as told:

        def step(name: str) -> Told:
            if not quiet and not progress.shown():
                screen.complain(f"measuring {name} ...")
            told(name, 0.0)
            return lambda done: told(name, done)

        yield step


def _folder(name: str) -> Path:
    folder = Path(name).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"--report {name} cannot be created: {error.strerror}") from None
    return folder


def _write(folder: Path, found: dict[str, Any], texts: dict[str, str]) -> list[Path]:
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", found["model"]["id"]).strip("-.")
    paths = []
    for ending, text in texts.items():
        path = folder / f"sotto-bench-{model}-{found['date']}.{ending}"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ArgumentError(f"{path} cannot be written: {error.strerror}") from None
        paths.append(path)
    return paths
