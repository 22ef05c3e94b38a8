"""Looks at a converted model before the library does: what it is, and whether it is whole."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

from ...errors import ModelLoadError

_VERSIONS = range(2, 16)  # of the file's format, that name the kind of the model
_LONGEST = 64  # bytes of such a name
_SIZED = 4  # first version that states the bytes of each weight
_MOST_RANK = 8
_KV_BYTES = 4  # of a value in the KV cache, float32


def kind_of(folder: Path) -> str:
    """Returns the kind of model in a folder, such as "WhisperSpec".

    Raises `ModelLoadError` if the folder holds no converted model, or a damaged one.
    """
    file = folder / "model.bin"
    if not folder.is_dir():
        raise ModelLoadError(f"'{folder}' is no folder: expected one that `sotto convert` wrote")
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
        raise _damaged(file)
    return name


def _damaged(file: Path) -> ModelLoadError:
    return ModelLoadError(f"'{file}' is no model of CTranslate2, or it is damaged: convert the model again")


Json = TypeVar("Json", dict[str, Any], list[Any])
Shapes = Mapping[str, tuple[int, ...]]


def shapes_in(folder: Path) -> Shapes:
    """Returns the shapes of all weights, by name. Raises `ModelLoadError` if the file is damaged."""
    file = folder / "model.bin"
    try:
        with file.open("rb") as opened:
            return dict(_shapes(opened, file.stat().st_size))
    except (struct.error, UnicodeDecodeError):
        raise _damaged(file) from None


def positions_in(shapes: Shapes) -> int:
    """Returns the maximum tokens of a text; 0: the model computes positions, and has no such limit."""
    found = [shape[0] for name, shape in shapes.items() if name.endswith("position_encodings/encodings")]
    return min(found, default=0)


def kv_bytes_in(shapes: Shapes) -> int:
    """Returns the bytes that a token takes in the KV cache of a decoder, which holds all heads as float32."""
    return sum(
        2 * _KV_BYTES * shape[1]  # the width of the attention's output, for keys and for values
        for name, shape in shapes.items()
        if name.endswith("self_attention/linear_1/weight")
    )


def _shapes(file: IO[bytes], size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields each weight's name and shape."""

    def take(form: str) -> tuple[int, ...]:
        return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))

    def text() -> str:
        return file.read(take("H")[0]).rstrip(b"\0").decode()

    (version,) = take("I")
    text()
    _, count = take("II")
    for _ in range(count if version >= _SIZED else 0):
        name, (rank,) = text(), take("B")
        if rank > _MOST_RANK:
            raise struct.error
        shape = take(f"{rank}I")
        _, length = take("BI")
        if file.seek(length, 1) > size:
            raise struct.error
        yield name, shape


def need(folder: Path, *names: str) -> None:
    """Raises `ModelLoadError` if the folder lacks one of these files."""
    for name in names:
        if not (folder / name).is_file():
            raise ModelLoadError(f"'{folder}' has no {name}: convert the model again with `sotto convert`")


def read_json(file: Path, kind: type[Json], default: Json) -> Json:
    """Returns the JSON value of a file; the default if the file does not exist.

    Raises `ModelLoadError` if the file is damaged, or holds a value of another kind than dict or list.
    """
    if not file.is_file():
        return default
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelLoadError(f"'{file}' is damaged: {error}; convert the model again") from None
    if not isinstance(found, kind):
        expected = "an object" if kind is dict else "a list"
        raise ModelLoadError(f"'{file}' is damaged: expected {expected}; convert the model again")
    return found


def weights_in(folder: Path) -> int:
    """Returns the bytes of the weights' file."""
    return (folder / "model.bin").stat().st_size
