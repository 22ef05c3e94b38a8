"""`sotto image generate`: images from a prompt."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from ..._image_files import numbered
from ..._onnxruntime import MATTING
from ..._transparent import TRANSPARENT
from ..._values import invalid
from ...errors import ArgumentError
from .. import arguments as types
from .. import screen
from .opening import add_model_arguments, check_files, load, opened

_CUTTER = "background"  # id of the model that removes backgrounds
_MOST_IMAGES, _MOST_STEPS, _MOST_SEED = 16, 1000, (1 << 32) - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto image generate` to `parser`."""
    parser.epilog = (
        "Several images get -2, -3 before the ending of the file's name, and the seed plus 1, 2. A file is "
        "written whole or not at all. Ctrl-C cancels within a denoise step, and writes nothing. Exit status: "
        "0 if all images were written, 1 if the model failed, 2 if an argument is invalid."
    )
    parser.add_argument("prompt", metavar="PROMPT", help="what the image shows")
    parser.add_argument(
        "-o", "--output", default="image.png", metavar="FILE", help="PNG or WebP by its ending (%(default)s)"
    )
    parser.add_argument("--size", metavar="WxH", help="pixels, such as 512x768 (the model's own)")
    parser.add_argument(
        "--steps", type=types.count(1, _MOST_STEPS), metavar="N", help="denoise steps (the model's own)"
    )
    parser.add_argument(
        "--seed", type=types.count(0, _MOST_SEED), metavar="N", help="the same seed, the same image (random)"
    )
    parser.add_argument(
        "-n", type=types.count(1, _MOST_IMAGES), default=1, metavar="N", help="number of images (%(default)s)"
    )
    parser.add_argument("--negative", metavar="TEXT", help="what the image does not show")
    parser.add_argument("--guidance", type=types.number, metavar="X", help="scale of guidance, 0 to 100")
    parser.add_argument("--image", metavar="FILE", help="PNG, JPEG or WebP to start from")
    parser.add_argument(
        "--mask", metavar="FILE", help="where it is transparent, or white if it is opaque, --image changes"
    )
    parser.add_argument(
        "--strength", type=types.number, metavar="X", help="departure from --image, 0 to 1 (0.75)"
    )
    parser.add_argument(
        "--background", choices=("auto", "opaque", TRANSPARENT), help=f"{TRANSPARENT}: removes the background"
    )
    parser.add_argument(
        "--background-model", metavar="PATH", help=f"model that removes the background ({MATTING})"
    )
    add_model_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Generates the images. Returns 0."""
    from .. import progress

    paths = [numbered(arguments.output, at) for at in range(arguments.n)]
    kind = check_files(paths, force=arguments.force)
    if arguments.background_model and arguments.background != TRANSPARENT:
        expected = f"--background {TRANSPARENT} beside it"
        raise ArgumentError(invalid("--background-model", arguments.background_model, expected))
    if arguments.backend is None and arguments.model.lower().endswith(".gguf"):
        arguments.backend = "diffusion"  # a GGUF file is else taken for a language model
    with opened(arguments) as engine, progress.fractions(os.path.basename(arguments.output)) as report:
        cutter = None
        if arguments.background == TRANSPARENT:
            cutter = load(engine, _CUTTER, arguments.background_model or MATTING)
        began = time.monotonic()
        made = engine.generate_images(
            arguments.prompt,
            n=arguments.n,
            on_progress=lambda done: report("generating", done),
            output_format=kind,
            background_model=cutter,
            **_fields(arguments),
        )
        seconds = time.monotonic() - began
        paths = list(made.save(arguments.output))
    if arguments.json:
        images = [
            {"path": path, "seed": one.seed, "width": one.width, "height": one.height}
            for path, one in zip(paths, made.images, strict=True)
        ]
        screen.say(screen.dump({"prompt": made.prompt, "seconds": round(seconds, 3), "images": images}))
    else:
        for path, one in zip(paths, made.images, strict=True):
            screen.say(f"{path}: {one.width}x{one.height}, seed {one.seed}")
    return 0


def _fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the fields of the request that were given."""
    given = {
        "size": arguments.size,
        "steps": arguments.steps,
        "seed": arguments.seed,
        "negative_prompt": arguments.negative,
        "guidance_scale": arguments.guidance,
        "image": arguments.image,
        "mask": arguments.mask,
        "strength": arguments.strength,
        "background": arguments.background,
    }
    return {name: value for name, value in given.items() if value is not None}
