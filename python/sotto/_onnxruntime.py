"""Finds the library of ONNX Runtime that the Python package `onnxruntime` brings, for the backend "onnx"."""

from __future__ import annotations

import os
from typing import Any

from ._desc import Json, json_text
from ._json import load

BACKEND = "onnx"  # name of the native backend
MATTING = "sotto/matting"  # id of the model for it that comes with the library
VARIABLE = "SOTTO_ONNXRUNTIME"  # which the backend reads itself
_PATTERNS = ("libonnxruntime.so*", "onnxruntime.dll", "libonnxruntime*.dylib")


def library() -> str | None:
    """Returns the path of the library in an installed `onnxruntime`; None: it is not installed.

    Imports nothing: the package's own module would take half a second and is not needed.
    """
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for pattern in _PATTERNS:
            for path in sorted(Path(folder, "capi").glob(pattern)):
                return str(path)
    return None


def with_library(options: Json | None) -> Any:
    """Returns load options of the backend "onnx" with `library`, unless the user has named one."""
    if os.environ.get(VARIABLE):
        return options
    given = {} if options is None else load(json_text("options", options))
    if not isinstance(given, dict) or given.get("library"):
        return options  # what is wrong with it, the engine says
    path = library()
    return options if path is None else {**given, "library": path}
