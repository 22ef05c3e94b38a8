"""Entry point of `sotto models`: `list`, `pull`, `check`, `info`, `convert`, `quantize` and `compare`."""

from __future__ import annotations

import argparse

from . import check, compare, convert, info, listing, pull, quantize


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto models` to `parser`."""
    commands = parser.add_subparsers(dest="models_command", metavar="COMMAND", required=True)
    for name, module, what in (
        ("list", listing, "the models on this machine: the built-in one, and Hugging Face's cache"),
        ("pull", pull, "download a model's file from Hugging Face, or what is left of it"),
        ("check", check, "open untrusted files in a process of their own"),
        ("info", info, "what a model is, and the memory that it takes"),
        ("convert", convert, "write a folder of safetensors as a GGUF file"),
        ("quantize", quantize, "write a model's file in a smaller type"),
        ("compare", compare, "how much of a model another file of it has kept"),
    ):
        command = commands.add_parser(name, help=what, description=what)
        command.set_defaults(run=module.run)
        module.add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    """Raises `AssertionError`. Never called: each subcommand sets its own `run`."""
    raise AssertionError(arguments.models_command)
