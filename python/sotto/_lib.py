"""Finds and opens the native library. No other module knows its path."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from . import _cdef

if TYPE_CHECKING:
    from pathlib import Path

VERSION: str = _cdef.VERSION
_NAME = {"win32": "sotto.dll", "darwin": "libsotto.dylib"}.get(sys.platform, "libsotto.so")


def _find() -> str:
    override = os.environ.get("SOTTO_LIBRARY")
    if override:
        return override
    folders = [os.path.join(folder, "_bin") for folder in sys.modules["sotto"].__path__]
    for folder in folders:
        path = os.path.join(folder, _NAME)
        if os.path.exists(path):
            return path
    places = " or ".join(folders)
    raise ImportError(f"{_NAME} was not found in {places}; install the package, or set SOTTO_LIBRARY")


def _open(path: str) -> Any:
    try:
        library: Any = _cdef.ffi.dlopen(path)
        found = library.sotto_version()
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} is not a Sotto library: {error}") from error
    version = bytes(_cdef.ffi.buffer(found.data, found.size)).decode()
    if version != VERSION:
        raise ImportError(f"{path} is version {version}, but this package is version {VERSION}")
    return library


_path = _find()
ffi: Any = _cdef.ffi
lib: Any = _open(_path)


def library_folder() -> Path:
    """Returns the folder of the native library, its backend modules and the house model."""
    from pathlib import Path

    return Path(_path).resolve().parent
