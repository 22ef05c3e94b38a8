"""Reads the model architecture from the metadata of a GGUF file. Fast for any file size."""

from __future__ import annotations

from pathlib import Path

from ..._gguf import read_values

_NAME = "general.architecture"


def architecture(path: Path) -> str | None:
    """Returns the model's architecture.

    Returns None if the file cannot be read, is not a GGUF file of version 2 or 3, or has no architecture
    before its vocabulary.
    """
    found = read_values(path, (_NAME,)).get(_NAME)
    return found if isinstance(found, str) else None
