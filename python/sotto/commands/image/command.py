"""Entry point of `sotto image`: `generate` and `matte`."""

from __future__ import annotations

import argparse

from . import generate, matte


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto image` to `parser`."""
    commands = parser.add_subparsers(dest="image_command", metavar="COMMAND", required=True)
    for name, module, what in (
        ("generate", generate, "images from a prompt, with a diffusion model"),
        ("matte", matte, "an image without its background, with a segmentation model"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.set_defaults(run=module.run)
        module.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    """Raises `AssertionError`. Never called: each subcommand sets its own `run`."""
    raise AssertionError(arguments.image_command)
