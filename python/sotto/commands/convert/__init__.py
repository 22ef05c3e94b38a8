"""`sotto convert`: writes a model in the form that another runtime reads."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from ...errors import ArgumentError
from .. import screen

QUANTIZATIONS = ("int8", "int8_float32", "bfloat16", "float16", "float32")
_PACKAGES = ("ctranslate2", "filelock", "gguf", "safetensors", "sentencepiece", "torch", "transformers")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto convert` to `parser`."""
    parser.epilog = (
        "Needs pip install 'sotto-runtime[convert]'. DIR is written whole or not at all; a converted model "
        "that exists is kept. Exit status: 0 if DIR holds a converted model, else 1."
    )
    parser.add_argument("source", metavar="SOURCE", help="Hugging Face model folder, or GGUF file")
    parser.add_argument("folder", metavar="DIR", help="folder of the converted model")
    parser.add_argument(
        "--to", required=True, choices=("ctranslate2",), metavar="RUNTIME", help="form: ctranslate2"
    )
    parser.add_argument(
        "--quantization",
        choices=QUANTIZATIONS,
        metavar="TYPE",
        help=f"type of the weights: {', '.join(QUANTIZATIONS)} (as the source has them)",
    )
    parser.add_argument("--force", action="store_true", help="replace a converted model that exists")


def run(arguments: argparse.Namespace) -> int:
    """Converts the model. Returns 0."""
    from .. import progress
    from . import source, target

    check_packages("sotto convert", _PACKAGES)
    out = Path(arguments.folder).absolute()
    if target.holds_model(out) and not arguments.force:
        screen.complain(f"{out} holds a converted model; --force replaces it")
        return 0
    given = Path(arguments.source).absolute()
    source.check(given)
    target.check(out)
    from .weights import convert

    needed = source.bytes_to_write(given, arguments.quantization)
    with (
        target.staged(out, needed, force=arguments.force) as stage,
        progress.fractions(given.name) as report,
    ):
        convert(given, stage, arguments.quantization, lambda done: report("converting", done))
    screen.say(f"{out}: {target.bytes_of(out) / 2**20:,.0f} MB")
    return 0


def check_packages(command: str, packages: tuple[str, ...]) -> None:
    """Raises `ArgumentError` if a package of the extra `convert` is missing."""
    for name in packages:
        if find_spec(name) is None:
            raise ArgumentError(f"{command} needs {name}: pip install 'sotto-runtime[convert]'")
