"""`sotto models quantize`: writes a model's file in a smaller type."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...engine import Engine
from .. import progress, screen
from ..text import size
from . import interrupted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models quantize` to `parser`."""
    parser.add_argument("source", metavar="IN", help="a GGUF file in F32, F16 or BF16")
    parser.add_argument("to", metavar="OUT", help="the new file")
    parser.add_argument("--type", default="Q4_K_M", metavar="T", help="Q4_K_M (default), Q8_0, Q6_K, ...")
    parser.add_argument(
        "--imatrix",
        metavar="F",
        help="a text to measure an importance matrix on, or a matrix of llama-imatrix",
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="one per core by default")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Quantizes the file. Returns the exit status; 130 if Ctrl-C stopped it."""
    to = Path(arguments.to)
    before = interrupted.version(to)
    try:
        with progress.fractions(arguments.to) as told, Engine("cpu") as engine:
            made = engine.quantize(
                arguments.source,
                arguments.to,
                type=arguments.type,
                imatrix=arguments.imatrix,
                threads=arguments.threads,
                progress=lambda done: told("quantize", done),
            )
    except KeyboardInterrupt:
        return interrupted.report(to, before)
    if arguments.json:
        screen.say(screen.dump(made._asdict()))
    else:
        screen.say(f"{made.path} ({size(made.source_bytes)} -> {size(made.bytes)}, {made.type})")
    return 0
