"""Looks at a converted model before the library does: what it is, and whether it is whole."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from ...errors import ModelLoadError

_VERSIONS = range(2, 16)  # of the file's format, that name the kind of the model
_LONGEST = 64  # bytes of such a name
_SIZED = 4  # first version that states the bytes of each weight
_MOST_RANK = 8
_FLOAT = 4  # bytes
_SIZES = {  # bytes of a value in a matrix, by compute type
    **dict.fromkeys(("int8", "int8_float32", "int8_float16", "int8_bfloat16"), 1),
    **dict.fromkeys(("int16", "float16", "bfloat16"), 2),
    "float32": _FLOAT,
}


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


class Weight(NamedTuple):
    """A variable of a model: its shape, its bytes in the file, and its value if it is a whole number."""

    shape: tuple[int, ...]
    bytes: int
    value: int = 0


Weights = Mapping[str, Weight]  # by name


def weights_in(folder: Path) -> Weights:
    """Returns the list of a model's weights. Raises `ModelLoadError` if the file is damaged."""
    file = folder / "model.bin"
    try:
        with file.open("rb") as opened:
            return dict(_listed(opened, file.stat().st_size))
    except (struct.error, UnicodeDecodeError):
        raise _damaged(file) from None


def bytes_as(weights: Weights, compute_type: str) -> int:
    """Returns the bytes that weights take with a compute type, which is that of the matrices."""
    size = _SIZES.get(compute_type)
    if size is None:  # "default", "auto": as the file has them
        return sum(weight.bytes for weight in weights.values())
    return sum(
        math.prod(weight.shape) * (size if len(weight.shape) > 1 else _FLOAT) for weight in weights.values()
    )


def positions_in(weights: Weights) -> int:
    """Returns the maximum tokens of a text; 0: the model computes positions, and has no such limit."""
    found = [one.shape[0] for name, one in weights.items() if name.endswith("position_encodings/encodings")]
    return min(found, default=0)


def _listed(file: IO[bytes], size: int) -> Iterator[tuple[str, Weight]]:
    def take(form: str) -> tuple[int, ...]:
        return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))

    def text() -> str:
        (length,) = take("H")
        (name,) = struct.unpack(f"{length}s", file.read(length))
        return str(name.rstrip(b"\0"), "utf-8")

    (version,) = take("I")
    text()
    _, count = take("II")
    if version < _SIZED:
        return
    for _ in range(count):
        name, (rank,) = text(), take("B")
        if rank > _MOST_RANK:
            raise struct.error
        shape = take(f"{rank}I")
        _, length = take("BI")
        if file.tell() + length > size:
            raise struct.error
        value = int.from_bytes(file.read(length), "little", signed=True) if rank == 0 else 0
        if rank:
            file.seek(length, 1)
        yield name, Weight(shape, length, value)
    for _ in range(2 * take("I")[0]):  # aliases, and the names that they stand for
        text()


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
    except (ValueError, RecursionError) as error:
        raise ModelLoadError(f"'{file}' is damaged: {error}; convert the model again") from None
    if not isinstance(found, kind):
        expected = "an object" if kind is dict else "a list"
        raise ModelLoadError(f"'{file}' is damaged: expected {expected}; convert the model again")
    return found
