"""What `sotto image generate` and `matte` share: the engine with its model, and the names of files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
    from ...engine import Engine

    options = None if arguments.options is None else types.json_object("--options", arguments.options)
    with Engine(mode="prioritize_compute", **types.engine_options(arguments)) as engine:
        load(engine, MODEL, arguments.model, arguments.backend, options)
        yield engine


def load(
    engine: Engine, model: str, path: str, backend: str | None = None, options: dict[str, Any] | None = None
) -> str:
    """Loads a model and returns its id.

    Args:
        engine: Where it is loaded.
        model: Id of a model from a file.
        path: File or folder of the model, or an id of its backend, which it keeps.
        backend: Name of the backend; None: found from the model.
        options: Load options.
    """
    from ...backends._named import backend_named, backend_of
    from .. import progress

    name = backend or backend_of(path)
    made = None if name is None else backend_named(name)
    here = made is not None or os.path.exists(path)
    if made is not None:
        engine.add_backend(made)
        name = made.name
    found = model if here else path
    progress.load(engine, found, path=path if here else None, backend=name, options=options)
    return found
