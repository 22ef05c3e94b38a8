"""Finds backends in Python by their names, or by module and class."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from .._values import invalid
from ..errors import ArgumentError
from .base import Backend

_OURS = {"ctranslate2": "CTranslate2", "diffusers": "Diffusers"}  # classes in modules of this package
_FILES = {"model.bin": "ctranslate2", "model_index.json": "diffusers"}  # of a folder that a backend opens


def backend_named(name: str) -> Backend | None:
    """Returns a new backend.

    Args:
        name: "ctranslate2", "diffusers", or MODULE:CLASS of a subclass of `Backend`, which is imported from
            Python's path or from the current folder.

    Returns:
        None if no backend in Python has the name: then a native module may have it.

    Raises:
        ArgumentError: The module or the class does not exist, or a package that it needs is missing.
    """
    module, colon, kind = name.partition(":")
    if not colon:
        if name not in _OURS:
            return None
        module, kind = f"{__package__}.{name}", _OURS[name]
    elif str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    expected = "a backend's name, or MODULE:CLASS of a subclass of sotto.backends.Backend"
    try:
        found = getattr(import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentError(f"{invalid('backend', name, expected)}; {error}") from None
    if not (isinstance(found, type) and issubclass(found, Backend)):
        raise ArgumentError(invalid("backend", name, expected))
    return found()


def backend_of(path: str) -> str | None:
    """Returns the name of the backend in Python that opens a folder; None: it is no folder of such a one."""
    return next((name for file, name in _FILES.items() if (Path(path) / file).is_file()), None)
