"""`sotto image matte`: an image without its background."""

from __future__ import annotations

import argparse

from ..._onnxruntime import MATTING
from .. import screen
from .opening import add_model_arguments, check_files, opened


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto image matte` to `parser`."""
    parser.epilog = (
        "The result has the size of IN and its colours, with alpha. It is written whole or not at all. Exit "
        "status: 0 if OUT was written, 1 if the model failed, 2 if an argument is invalid."
    )
    parser.add_argument("input", metavar="IN", help="PNG, JPEG or WebP file")
    parser.add_argument("output", metavar="OUT", help="PNG or WebP file, by its ending")
    parser.add_argument("--mask", action="store_true", help="write alpha alone, as a grey image")
    parser.add_argument("--no-refine", action="store_true", help="leave the model's mask as it is")
    add_model_arguments(parser, MATTING)


def run(arguments: argparse.Namespace) -> int:
    """Removes the background. Returns 0."""
    kind = check_files([arguments.output], force=arguments.force)
    with opened(arguments) as engine:
        made = engine.remove_background(
            arguments.input,
            output_format=kind,
            mask_only=arguments.mask,
            refine_edges=not arguments.no_refine,
        )
        made.save(arguments.output)
    if arguments.json:
        screen.say(screen.dump({"path": arguments.output, "width": made.width, "height": made.height}))
    else:
        screen.say(f"{arguments.output}: {made.width}x{made.height}")
    return 0
