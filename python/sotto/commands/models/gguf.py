"""Reads the model architecture from the first metadata values of a GGUF file. Fast for any file size."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

_STRING = 8
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # scalar bytes by type
_LONGEST = 4096  # maximum bytes of a key or a string
_MOST = 64  # maximum number of metadata values to read


def architecture(path: Path) -> str | None:
    """Returns the model's architecture from the first 64 metadata values of the file.

    Returns None if the file cannot be read, is not a GGUF file of version 2 or 3, or has no architecture
    before the first array.
    """
    try:
        with path.open("rb") as file:
            return _find(file, "general.architecture")
    except (OSError, ValueError, struct.error):
        return None


def _find(file: BinaryIO, wanted: str) -> str | None:
    magic, version, _, count = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version not in (2, 3):
        return None
    for _ in range(min(count, _MOST)):
        key = _text(file)
        (kind,) = struct.unpack("<I", file.read(4))
        if kind == _STRING:
            value = _text(file)
            if key == wanted:
                return value
        elif kind in _SIZES:
            file.seek(_SIZES[kind], 1)
        else:
            return None  # the architecture comes before all arrays
    return None


def _text(file: BinaryIO) -> str:
    (size,) = struct.unpack("<Q", file.read(8))
    if size > _LONGEST:
        raise ValueError(size)
    text = file.read(size)
    if len(text) != size:
        raise ValueError("the file ends")
    return text.decode()
