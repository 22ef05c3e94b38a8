"""Vectors and labels of a vector index: lists are copied; buffers such as numpy arrays are passed as is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ._call import array, buffer
from ._desc import MOST_U64
from ._values import invalid, whole, wrong_type
from .errors import ArgumentError


class Array(Protocol):
    """A numpy array, or another object with a buffer."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: Any, /) -> Any: ...


Vector = Sequence[float] | Array
Vectors = Sequence[Sequence[float]] | Array
Labels = Sequence[int] | Array

_FLOATS = ("f", "<f", "=f", "@f")
_UNSIGNED = ("Q", "L", "<Q", "<L", "=Q")
_SIGNED = ("q", "l", "<q", "<l", "=q")


def vector(name: str, values: Vector, dim: int) -> Any:
    """Returns the floats of one vector. Raises `ArgumentError` if their number is not `dim`."""
    view = _view(values)
    if view is not None:
        return _floats(name, view, (dim,))
    _require_sequence(name, values)
    if len(values) != dim:
        raise ArgumentError(_wrong_length(name, len(values), dim))
    return _copy(name, values)


def vectors(name: str, rows: Vectors, dim: int) -> tuple[Any, int]:
    """Returns the floats of several vectors, one after the other, and the number of vectors."""
    view = _view(rows)
    if view is not None:
        return _floats(name, view, (len(rows), dim)), len(rows)
    _require_sequence(name, rows)
    flat: list[float] = []
    for at, row in enumerate(_iterable(name, rows)):
        if len(row) != dim:
            raise ArgumentError(_wrong_length(f"{name}[{at}]", len(row), dim))
        flat.extend(row)
    return _copy(name, flat), len(rows)


def labels(name: str, values: Labels | Iterable[int]) -> tuple[Any, int]:
    """Returns labels as 64-bit numbers, and their count."""
    view = _view(values)
    if view is not None and view.ndim == 1 and view.c_contiguous and view.itemsize == 8:
        if view.format in _SIGNED and any(label < 0 for label in view):
            raise ArgumentError(invalid(name, min(view), f"labels from 0 to {MOST_U64}"))
        if view.format in _SIGNED or view.format in _UNSIGNED:
            return buffer("uint64_t[]", view.cast("B")), len(view)
    if view is not None:
        raise ArgumentError(
            invalid(name, f"{view.format} {view.shape}", "a C-contiguous array of uint64 or int64")
        )
    found = [whole(f"{name}[{at}]", label, MOST_U64) for at, label in enumerate(_iterable(name, values))]
    return array("uint64_t[]", found), len(found)


def output(name: str, type_: str, values: Any, formats: str, rows: int) -> tuple[Any, int]:
    """Returns the memory of a writable array of `rows` rows, and its number of columns."""
    view = _view(values)
    if view is None or view.ndim != 2 or not view.c_contiguous or view.readonly or view.shape is None:
        raise wrong_type(name, values, "a writable C-contiguous array of 2 dimensions")
    if (view.format or "")[-1] not in formats or view.shape[0] != rows:
        shown = f"{view.format} {view.shape}"
        raise ArgumentError(invalid(name, shown, f"{rows} rows of {type_.removesuffix('_t[]')}"))
    return buffer(type_, values, writable=True), view.shape[1]


def _view(values: object) -> memoryview | None:
    """Returns the memory of a buffer; None for a sequence such as a list."""
    if isinstance(values, (list, tuple)):
        return None
    try:
        return memoryview(values)  # type: ignore[arg-type]
    except TypeError:
        return None


def _floats(name: str, view: memoryview, shape: tuple[int, ...]) -> Any:
    if view.format not in _FLOATS or not view.c_contiguous:
        layout = "C-contiguous" if view.c_contiguous else "not C-contiguous"
        raise ArgumentError(
            invalid(name, f"{view.format}, {layout}", "float32 values, C-contiguous")
            + "; pass numpy.ascontiguousarray(array, dtype=numpy.float32)"
        )
    if view.shape != shape:
        raise ArgumentError(invalid(name, view.shape, f"shape {shape}, since the index has dim {shape[-1]}"))
    if 0 in shape:
        return array("float[]", 0)
    return buffer("float[]", view.cast("B"))


def _copy(name: str, values: Any) -> Any:
    try:
        return array("float[]", values if isinstance(values, (list, tuple)) else list(values))
    except TypeError as error:
        raise TypeError(f"invalid {name}: expected numbers; {error}") from None
    except OverflowError:
        raise ArgumentError(f"invalid {name}: expected numbers in the range of a float") from None


def _wrong_length(name: str, length: int, dim: int) -> str:
    return f"invalid {name} of {length} values: expected {dim}, the dimensions of the index"


def _require_sequence(name: str, values: object) -> None:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        raise wrong_type(name, values, "a list of numbers or an array of float32")


def _iterable(name: str, values: Any) -> Iterable[Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise wrong_type(name, values, "labels")
    found: Iterable[Any] = values
    return found
