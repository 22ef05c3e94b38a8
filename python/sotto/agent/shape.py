"""`Shape`: the JSON schema of a Python annotation, and the way from JSON back to its values."""

from __future__ import annotations

import dataclasses
import enum
import math
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._values import invalid
from ..errors import ArgumentError

if sys.version_info >= (3, 11):
    from typing import NotRequired, Required
else:
    from typing_extensions import NotRequired, Required

Read = Callable[[Any, str], Any]  # a JSON value and its path; raises ArgumentError
Schema = dict[str, Any]

_MAX_DEPTH = 16
_ARRAYS: Mapping[Any, Callable[[list[Any]], Any]] = {
    list: list,
    abc.Sequence: list,
    abc.Iterable: list,
    set: set,
    frozenset: frozenset,
}
_OBJECTS = (dict, abc.Mapping, abc.MutableMapping)
_UNIONS = (typing.Union, types.UnionType)


@dataclasses.dataclass(frozen=True)
class Shape:
    """The form of a value: its JSON schema, and a function that reads such a value from JSON.

    `read(value, path)` returns the Python value. Raises `ArgumentError` that names `path`.
    """

    schema: Schema
    read: Read


def shape_of(annotation: Any, path: str, within: tuple[Any, ...] = ()) -> Shape:
    """Returns the shape of an annotation.

    Args:
        annotation: `str`, `int`, `float`, `bool`, `None`, `Any`, `Literal`, an `Enum`, `list`, `dict` with
            keys of `str`, `tuple`, `set`, a union, a dataclass, a `TypedDict`, or `Annotated` with a text.
        path: Name of the parameter, for errors.
        within: The classes that contain the annotation.

    Raises:
        ArgumentError: JSON has no such type, or a class contains itself.
    """
    if len(within) > _MAX_DEPTH:
        raise ArgumentError(f"invalid annotation of {path}: expected at most {_MAX_DEPTH} levels; flatten it")
    if not isinstance(annotation, abc.Hashable):
        raise ArgumentError(invalid(f"annotation of {path}", annotation, _EXPECTED))
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, given = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner = shape_of(given[0], path, within)
        notes = [one for one in given[1:] if isinstance(one, str)]
        return Shape({**inner.schema, "description": notes[0]}, inner.read) if notes else inner
    if origin in (Required, NotRequired):
        return shape_of(given[0], path, within)
    if origin is typing.Literal:
        return _one_of(given, given, path)
    if origin in _UNIONS:
        return _union([shape_of(one, path, (*within, None)) for one in given])
    kind = origin or annotation
    if kind in _ARRAYS:
        return _array(kind, shape_of(given[0] if given else Any, f"{path}[]", (*within, None)))
    if kind is tuple:
        return _tuple(given, path, (*within, None))
    if kind in _OBJECTS:
        return _mapping(given, path, (*within, None))
    if not isinstance(kind, type):
        raise ArgumentError(invalid(f"annotation of {path}", annotation, _EXPECTED))
    if issubclass(kind, enum.Enum):
        return _one_of([one.value for one in kind], list(kind), path)
    if kind in within:
        raise ArgumentError(
            f"invalid annotation of {path} '{kind.__name__}': expected a type that does not contain itself; "
            "pass the ids of other objects, or JSON text"
        )
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, path, (*within, kind))
    if typing.is_typeddict(kind):
        return _typed_dict(kind, path, (*within, kind))
    raise ArgumentError(invalid(f"annotation of {path}", kind.__name__, _EXPECTED))


def object_shape(
    fields: Mapping[str, Shape], required: Sequence[str], make: Callable[[dict[str, Any]], Any]
) -> Shape:
    """Returns the shape of a JSON object with these fields; `make` gets those that are present."""
    schema = {
        "type": "object",
        "properties": {name: shape.schema for name, shape in fields.items()},
        "required": list(required),
        "additionalProperties": False,
    }

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, value, "an object")
        for name in required:
            if name not in value:
                raise ArgumentError(f"missing {path}.{name}")
        for name in value:
            if name not in fields:
                known = ", ".join(fields) or "no field"
                raise ArgumentError(f"invalid field '{name}' of {path}: expected {known}")
        return make({name: fields[name].read(one, f"{path}.{name}") for name, one in value.items()})

    return Shape(schema, read)


_EXPECTED = (
    "str, int, float, bool, Literal, an Enum, list, dict with keys of str, a union, a dataclass, a TypedDict"
)


def _wrong(path: str, value: Any, expected: str) -> ArgumentError:
    return ArgumentError(invalid(path, value, expected))


def _scalar(schema: Schema, kinds: tuple[type, ...], expected: str) -> Shape:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise _wrong(path, value, expected)
        return value

    return Shape(schema, read)


def _read_float(value: Any, path: str) -> float:
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise _wrong(path, value, "a number")
    return found


_SCALARS: dict[Any, Shape] = {
    str: _scalar({"type": "string"}, (str,), "a string"),
    int: _scalar({"type": "integer"}, (int,), "an integer"),
    bool: _scalar({"type": "boolean"}, (bool,), "true or false"),
    float: Shape({"type": "number"}, _read_float),
    None: _scalar({"type": "null"}, (type(None),), "null"),
    type(None): _scalar({"type": "null"}, (type(None),), "null"),
    Any: Shape({}, lambda value, path: value),
}


def _one_of(values: Sequence[Any], members: Sequence[Any], path: str) -> Shape:
    for one in values:
        if not isinstance(one, str | int | float | bool | None):
            raise ArgumentError(invalid(f"value of {path}", one, "a string, number, true, false or null"))
    shown = ", ".join(map(str, values))

    def read(value: Any, path: str) -> Any:
        for one, member in zip(values, members, strict=True):
            if type(one) is type(value) and one == value:
                return member
        raise _wrong(path, value, f"one of {shown}")

    return Shape({"enum": list(values)}, read)


def _union(shapes: Sequence[Shape]) -> Shape:
    def read(value: Any, path: str) -> Any:
        errors = []
        for shape in shapes:
            try:
                return shape.read(value, path)
            except ArgumentError as error:
                errors.append(str(error))
        raise ArgumentError("; or ".join(dict.fromkeys(errors)))

    return Shape({"anyOf": [shape.schema for shape in shapes]}, read)


def _array(kind: Any, item: Shape) -> Shape:
    make = _ARRAYS[kind]

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _wrong(path, value, "an array")
        return make([item.read(one, f"{path}[{at}]") for at, one in enumerate(value)])

    return Shape({"type": "array", "items": item.schema}, read)


def _tuple(given: tuple[Any, ...], path: str, within: tuple[Any, ...]) -> Shape:
    if len(given) != 2 or given[1] is not Ellipsis:
        raise ArgumentError(f"invalid annotation of {path}: expected tuple[T, ...]; use a dataclass instead")
    items = _array(list, shape_of(given[0], f"{path}[]", within))
    return Shape(items.schema, lambda value, where: tuple(items.read(value, where)))


def _mapping(given: tuple[Any, ...], path: str, within: tuple[Any, ...]) -> Shape:
    key, item = given or (str, Any)
    if key is not str:
        raise ArgumentError(invalid(f"key of {path}", key, "str; JSON has no other"))
    shape = shape_of(item, f"{path}.*", within)

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(where, value, "an object")
        return {name: shape.read(one, f"{where}.{name}") for name, one in value.items()}

    return Shape({"type": "object", "additionalProperties": shape.schema}, read)


def _dataclass(kind: type, path: str, within: tuple[Any, ...]) -> Shape:
    hints = typing.get_type_hints(kind, include_extras=True)
    nothing = dataclasses.MISSING
    used = [one for one in dataclasses.fields(kind) if one.init]
    fields = {one.name: shape_of(hints[one.name], f"{path}.{one.name}", within) for one in used}
    needed = [one.name for one in used if one.default is nothing and one.default_factory is nothing]
    return object_shape(fields, needed, lambda found: kind(**found))


def _typed_dict(kind: Any, path: str, within: tuple[Any, ...]) -> Shape:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {name: shape_of(one, f"{path}.{name}", within) for name, one in hints.items()}
    needed = [name for name, one in hints.items() if _needed(kind, name, typing.get_origin(one))]
    return object_shape(fields, needed, dict)


def _needed(kind: Any, name: str, origin: Any) -> bool:
    # the class does not know which annotations that are text are NotRequired
    return origin is Required or (origin is not NotRequired and name in kind.__required_keys__)
