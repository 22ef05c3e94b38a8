"""What `sotto image generate` and `matte` share: the engine with its model, and the names of files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..._image_files import check_folder, format_of
from ...errors import ArgumentError
from .. import arguments as types

if TYPE_CHECKING:
    from ...engine import Engine

MODEL = "image"


def add_model_arguments(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Adds the arguments that choose the model, required without `default`, and those of the output."""
    parser.add_argument(
        "--model",
        required=default is None,
        default=default,
        metavar="PATH",
        help="file or folder of the model, or an id of its backend" + (f" ({default})" if default else ""),
    )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="diffusers, a native backend, or MODULE:CLASS of one in Python (found from the model)",
    )
    parser.add_argument("--options", metavar="JSON", help="how to load the model, see its backend")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    types.add_engine_arguments(parser)


def check_files(paths: Sequence[str], *, force: bool) -> str:
    """Returns the file format of new files.

    Raises:
        ArgumentError: A name has no known ending, a file exists, or the folder cannot be written.
    """
    found = format_of(paths[0], None)
    for path in paths:
        if os.path.lexists(path) and not force:
            raise ArgumentError(f"{path} exists; --force replaces it, or choose another name")
    check_folder(paths[0])
    return found


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Engine]:
    """Yields an engine with the loaded model `MODEL`."""
    from ...backends._named import backend_named, backend_of
    from ...engine import Engine
    from .. import progress

    options = None if arguments.options is None else types.json_object("--options", arguments.options)
    name = arguments.backend or backend_of(arguments.model)
    backend = None if name is None else backend_named(name)
    here = backend is not None or os.path.exists(arguments.model)
    with Engine(mode="prioritize_compute", **types.engine_options(arguments)) as engine:
        if backend is not None:
            engine.add_backend(backend)
            name = backend.name
        model = MODEL if here else arguments.model
        progress.load(engine, model, path=arguments.model if here else None, backend=name, options=options)
        yield engine
