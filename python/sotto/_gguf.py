"""Reads single values of the metadata of GGUF files, without loading them."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection
from typing import BinaryIO

_STRING, _ARRAY = 8, 9
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_LONGEST = 4096  # maximum bytes of a key or of a string that is read
_MOST = 256  # maximum number of metadata values to look at
_MOST_ITEMS = 4096  # maximum number of strings of an array to skip; a vocabulary ends the search

Value = str | int | float | bool


def read_values(path: str | os.PathLike[str], names: Collection[str]) -> dict[str, Value]:
    """Returns those of the named values that the file has before its vocabulary. Fast for any file size.

    Returns what was found if the file is damaged, and nothing if it cannot be read or is not a GGUF file of
    version 2 or 3.

    Args:
        path: The file.
        names: Keys of scalars and of strings of at most 4,096 bytes. "*" in a key stands for the
            architecture, which precedes the key in the file: "*.context_length".
    """
    found: dict[str, Value] = {}
    try:
        with open(path, "rb") as file:
            _read(file, names, found)
    except (OSError, ValueError, struct.error):
        pass
    return found


def _read(file: BinaryIO, names: Collection[str], found: dict[str, Value]) -> None:
    magic, version, _, count = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version not in (2, 3):
        return
    architecture = ""
    for _ in range(min(count, _MOST)):
        if len(found) == len(names):
            return
        key = _text(file)
        kind = _number(file, "I")
        if kind == _ARRAY:
            _skip_array(file)
            continue
        if kind == _STRING:
            value: Value | None = _string(file)
        else:
            value = _number(file, _format(kind))
        if key == "general.architecture":
            architecture = str(value)
        named = key if key in names else key.replace(f"{architecture}.", "*.", 1)
        if named in names and value is not None:
            found[named] = value


def _skip_array(file: BinaryIO) -> None:
    kind, count = _number(file, "I"), int(_number(file, "Q"))
    if kind != _STRING:
        file.seek(struct.calcsize(_format(kind)) * count, 1)
        return
    if count > _MOST_ITEMS:
        raise ValueError("the vocabulary begins")
    for _ in range(count):
        file.seek(int(_number(file, "Q")), 1)


def _format(kind: float) -> str:
    if kind not in _FORMATS:
        raise ValueError(f"unknown type {kind}")
    return _FORMATS[int(kind)]


def _number(file: BinaryIO, form: str) -> float:
    value: float = struct.unpack(f"<{form}", file.read(struct.calcsize(form)))[0]
    return value


def _string(file: BinaryIO) -> str | None:
    """Reads a string; None if it is longer than 4,096 bytes, which are skipped."""
    size = int(_number(file, "Q"))
    if size > _LONGEST:
        file.seek(size, 1)
        return None
    return _decoded(file, size)


def _text(file: BinaryIO) -> str:
    size = int(_number(file, "Q"))
    if size > _LONGEST:
        raise ValueError(size)
    return _decoded(file, size)


def _decoded(file: BinaryIO, size: int) -> str:
    text = file.read(size)
    if len(text) != size:
        raise ValueError("the file ends")
    return text.decode()
