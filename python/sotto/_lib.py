"""Finds the native library and opens it. The only module that knows where it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from . import _cdef

VERSION: str = _cdef.VERSION
_NAME = {"win32": "sotto.dll", "darwin": "libsotto.dylib"}.get(sys.platform, "libsotto.so")


def _find() -> Path:
    override = os.environ.get("SOTTO_LIBRARY")
    if override:
        return Path(override)
    folders = [Path(folder) / "_bin" for folder in sys.modules["sotto"].__path__]
    for folder in folders:
        if (folder / _NAME).exists():
            return folder / _NAME
    places = " or ".join(str(folder) for folder in folders)
    raise ImportError(f"there is no {_NAME} in {places}; install the package, or set SOTTO_LIBRARY to one")


def _open(path: Path) -> Any:
    try:
        library: Any = _cdef.ffi.dlopen(str(path))
        found = library.sotto_version()
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} is no library of Sotto's: {error}") from error
    version = bytes(_cdef.ffi.buffer(found.data, found.size)).decode()
    if version != VERSION:
        raise ImportError(f"{path} is version {version}, and this package is {VERSION}")
    return library


_path = _find()
ffi: Any = _cdef.ffi
lib: Any = _open(_path)


def library_folder() -> Path:
    """Where the library, its modules and the house model are."""
    return _path.resolve().parent
