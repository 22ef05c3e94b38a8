"""Looks at a converted model before the library does: what it is, and whether it is whole."""

from __future__ import annotations

import struct
from pathlib import Path

from ...errors import ModelLoadError

_VERSIONS = range(2, 16)  # of the file's format, that name the kind of the model
_LONGEST = 64  # bytes of such a name


def kind_of(folder: Path) -> str:
    """Returns the kind of model in a folder, such as "WhisperSpec".

    Raises `ModelLoadError` if the folder holds no converted model, or a damaged one.
    """
    file = folder / "model.bin"
    if not folder.is_dir():
        raise ModelLoadError(f"'{folder}' is no folder: expected one that ct2-transformers-converter wrote")
    if not file.is_file():
        raise ModelLoadError(f"'{folder}' has no model.bin: expected a folder of a converted model")
    with file.open("rb") as opened:
        head = opened.read(6 + _LONGEST)
    try:
        version, length = struct.unpack_from("<IH", head)
        name = head[6 : 6 + length].rstrip(b"\0").decode("ascii")
    except (struct.error, UnicodeDecodeError):
        version, name = 0, ""
    if version not in _VERSIONS or not name.isalnum():
        raise ModelLoadError(
            f"'{file}' is no model of CTranslate2, or it is damaged: convert the model again"
        )
    return name


def need(folder: Path, *names: str) -> None:
    """Raises `ModelLoadError` if the folder lacks one of these files."""
    for name in names:
        if not (folder / name).is_file():
            raise ModelLoadError(f"'{folder}' has no {name}: convert the model again with `sotto convert`")


def weights_in(folder: Path) -> int:
    """Returns the bytes of the weights' file."""
    return (folder / "model.bin").stat().st_size
