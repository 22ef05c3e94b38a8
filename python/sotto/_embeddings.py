"""Embeddings as contiguous buffers of C floats: arrays without a copy, other sequences converted."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from ._values import invalid, wrong_type
from .errors import ArgumentError

Vector = Sequence[float] | Any  # a sequence of numbers, or an array of them, such as numpy's


def vector(name: str, value: object) -> Any:
    """Returns one vector as a buffer of C floats.

    Raises:
        TypeError: `value` is not a sequence of numbers.
        ArgumentError: `value` is empty, or an array with more than one dimension.
    """
    view = _array(value)
    if view is None:
        view = memoryview(array("f", _numbers(name, value)))
    if view.ndim != 1 or not view.nbytes:
        raise ArgumentError(invalid(name, _shape(view), "one vector that is not empty"))
    return view


def vectors(name: str, value: object, count: int) -> Any:
    """Returns `count` vectors as a buffer of C floats, one after the other.

    Args:
        name: Name of the argument, for errors.
        value: A two-dimensional array, or a sequence of vectors.
        count: Expected number of vectors.

    Raises:
        TypeError: `value` is neither.
        ArgumentError: The number of vectors is not `count`, or they differ in length.
    """
    view = _array(value)
    if view is None:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise wrong_type(name, value, "an array, or a sequence of vectors")
        rows = [vector(f"{name}[{at}]", row) for at, row in enumerate(value)]
        if len({row.nbytes for row in rows}) > 1:
            raise ArgumentError(invalid(name, f"{len(rows)} vectors", "vectors of one length"))
        view = memoryview(b"".join(rows)).cast("f") if rows else memoryview(array("f"))
        shape: tuple[int, ...] = (len(rows), -1)
    else:
        shape = view.shape or ()
    if len(shape) != 2 or shape[0] != count:
        raise ArgumentError(invalid(name, _shape(view), f"{count} vectors, one for each entry"))
    return view


def _array(value: object) -> Any:
    """Returns an array of numbers as C floats in one piece; None if `value` is no array."""
    try:
        view: Any = memoryview(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        view = None
    if view is not None and view.format in ("f", "<f", "=f") and view.c_contiguous:
        return view
    if isinstance(value, (bytes, bytearray)):
        return None
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(value, "__array__"):
        return memoryview(numpy.ascontiguousarray(value, dtype=numpy.float32))
    return None


def _numbers(name: str, value: object) -> list[float]:
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Iterable):
        raise wrong_type(name, value, "a sequence of numbers")
    found: list[float] = []
    for at, one in enumerate(value):
        if isinstance(one, (str, bytes, bool)) or not hasattr(one, "__float__"):
            raise wrong_type(f"{name}[{at}]", one, "a number")
        found.append(float(one))
    return found


def _shape(view: Any) -> str:
    shape = "x".join(map(str, view.shape or ()))
    return f"{shape} values" if view.nbytes else "[]"
