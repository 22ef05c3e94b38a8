"""Dialogue in JSON: the texts of a nested object, or one field of its objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from .document import DEFAULT_COLUMNS, Line, chosen, read_text

Place = tuple[str | int, ...]
_LITERAL = re.compile(r'"(?:[^"\\]+|\\.)*"(\s*:)?')  # of JSON that was read; a key ends with a colon


class Tree:
    """A JSON file."""

    updates = False

    def __init__(self, path: Path, column: str | None) -> None:
        self._source = read_text(path)
        self._root = _load(path, self._source.text)
        self._places = list(_places(path, self._root, column))
        self._lines = [Line(_shown(place), _at(self._root, place)) for place in self._places]

    @property
    def lines(self) -> list[Line]:
        """The lines, none of which has a translation."""
        return self._lines

    def update(self, target: Path) -> None:
        """Takes nothing: the cells of a target do not tell of which text they are."""

    def written(self, targets: Sequence[str], language: str) -> bytes:
        """Returns the file with `targets` in place of the texts; all else stays as it is written."""
        text, plain = self._source.text, self._source.text.isascii() and "\\u" in self._source.text
        spans = dict(zip(_texts(self._root, ()), _literals(text), strict=True))
        made, end = [], 0
        for place, target in zip(self._places, targets, strict=True):
            begin, stop = spans[place]
            made += [text[end:begin], json.dumps(target, ensure_ascii=plain)]
            end = stop
        return self._source.encode("".join([*made, text[end:]]))


def _literals(text: str) -> Iterator[tuple[int, int]]:
    """Yields where the texts of valid JSON begin and end, keys left out, in their order."""
    for found in _LITERAL.finditer(text):
        if not found[1]:
            yield found.span()


def _load(path: Path, text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError(f"invalid file '{path}': the key '{twice}' comes twice in one object")
        return found

    try:
        root = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"invalid file '{path}': expected JSON; {error}") from None
    if not isinstance(root, (dict, list)):
        raise ArgumentError(f"invalid file '{path}': expected an object of texts, or a list of objects")
    return root


def _places(path: Path, root: Any, column: str | None) -> Iterator[Place]:
    """Yields the places of the texts that are translated.

    Without objects in lists, and without objects that have a default column, those are all texts.
    """
    objects = [(row, in_list) for row, in_list in _objects(root, in_list=False)]
    rows = [row for row, in_list in objects if in_list]
    default = any(name in row for row, _ in objects for name in DEFAULT_COLUMNS)
    if column is not None or rows or default:
        fields = rows if rows and not default else [row for row, _ in objects]
        names = list(dict.fromkeys(name for row in fields for name in row))
        column = chosen(path, names, column)
    yield from (place for place in _texts(root, ()) if column is None or column in place)


def _objects(node: Any, *, in_list: bool) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yields the objects of a tree, each with whether it is an element of a list."""
    if isinstance(node, dict):
        yield node, in_list
        for value in node.values():
            yield from _objects(value, in_list=False)
    elif isinstance(node, list):
        for value in node:
            yield from _objects(value, in_list=True)


def _texts(node: Any, place: Place) -> Iterator[Place]:
    if isinstance(node, str):
        yield place
    elif isinstance(node, (dict, list)):
        for name, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _texts(value, (*place, name))


def _at(node: Any, place: Place) -> Any:
    for name in place:
        node = node[name]
    return node


def _shown(place: Place) -> str:
    """Returns a place as a JSON path, such as `inn.greeting` or `[3].text`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in place]
    return "".join(parts).removeprefix(".")
