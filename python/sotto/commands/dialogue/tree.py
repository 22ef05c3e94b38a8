"""Dialogue in JSON: the texts of a nested object, or one field of a list of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from .document import Line, chosen, read_text

Place = tuple[str | int, ...]


class Tree:
    """A JSON file."""

    updates = False

    def __init__(self, path: Path, column: str | None) -> None:
        self._source = read_text(path)
        self._root = _load(path, self._source.text)
        self._places = list(_places(path, self._root, column))
        self._lines = [Line(_shown(place), _at(self._root, place)) for place in self._places]
        indent = re.search(r"^[\[{]\r?\n([ \t]+)", self._source.text)
        self._indent = indent[1] if indent else None

    @property
    def lines(self) -> list[Line]:
        """The lines, none of which has a translation."""
        return self._lines

    def update(self, target: Path) -> None:
        """Takes nothing: the cells of a target do not tell of which text they are."""

    def written(self, targets: Sequence[str], language: str) -> bytes:
        """Returns the object with `targets` in place of the texts."""
        root = json.loads(self._source.text)
        for place, target in zip(self._places, targets, strict=True):
            _at(root, place[:-1])[place[-1]] = target
        plain = self._source.text.isascii() and "\\u" in self._source.text
        text = json.dumps(root, ensure_ascii=plain, indent=self._indent)
        text += "\n" if self._source.text.endswith("\n") else ""
        return self._source.encode(text.replace("\n", "\r\n") if "\r\n" in self._source.text else text)


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
    rows = [row for row in root if isinstance(row, dict)] if isinstance(root, list) else []
    if rows:
        column = chosen(path, list(dict.fromkeys(name for row in rows for name in row)), column)
    found = [place for place in _texts(root, ()) if column is None or column in place]
    if column is not None and not found:
        names = dict.fromkeys(
            str(part) for place in _texts(root, ()) for part in place if isinstance(part, str)
        )
        chosen(path, list(names), column)
    yield from found


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
