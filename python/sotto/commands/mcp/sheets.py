"""Sheets of characters: of files of JSON, and of the demo's tavern."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from ...npc import Sheet

_MOST_BYTES = 1 << 20
_MOST = 64
_FIELDS = {one.name: one for one in dataclasses.fields(Sheet)}
_PAIRS = ("relationships", "prices")
_LISTS = ("quests", "rumours", "facts", "actions")


def read_sheets(paths: Iterable[Path]) -> list[Sheet]:
    """Reads files with a sheet, an object with the fields of `Sheet`, or with an array of them.

    Raises:
        ArgumentError: A file is not of this form, or two sheets have the same name.
        OSError: A file cannot be read.
    """
    found = [sheet for path in paths for sheet in _sheets(path)]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"invalid --character: expected one character '{name}', not several")
    if len(found) > _MOST:
        raise ArgumentError(f"invalid --character: expected at most {_MOST} characters, not {len(found)}")
    return found


def tavern_sheets() -> list[Sheet]:
    """Returns the sheets of the demo's characters. What they remember from the start is a fact here."""
    from ...demo.personas import personas

    return [_of_lines(one.system) for one in personas()]


def _sheets(path: Path) -> list[Sheet]:
    if not path.is_file():
        raise ArgumentError(f"invalid --character '{path}': expected a regular file that exists")
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ArgumentError(f"invalid --character '{path}': expected a file of at most {_MOST_BYTES} bytes")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"invalid --character '{path}': expected JSON; {error}") from None
    every = given if isinstance(given, list) else [given]
    return [
        _sheet(one, f"{path}[{at}]" if isinstance(given, list) else str(path)) for at, one in enumerate(every)
    ]


def _sheet(given: Any, where: str) -> Sheet:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"invalid --character '{where}': expected an object with the fields of a sheet")
    for name, value in given.items():
        if name not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise ArgumentError(f"invalid --character '{where}': unknown field '{name}'; expected {known}")
        if not _is_valid(name, value):
            form = "texts by name" if name in _PAIRS else "an array of texts" if name in _LISTS else "a text"
            raise ArgumentError(f"invalid --character '{where}': expected {form} as '{name}'")
    if not str(given.get("name", "")).strip():
        raise ArgumentError(f"invalid --character '{where}': missing name")
    return Sheet(**given)


def _is_valid(name: str, value: Any) -> bool:
    if name in _PAIRS:
        return isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values())
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, str)


def _of_lines(text: str) -> Sheet:
    """Returns the sheet that a rendered sheet was made of."""
    fields: dict[str, Any] = {}
    title = ""
    for line in text.splitlines():
        key, _, value = line.removeprefix("- ").partition(":")
        if not line.startswith("- "):
            title = "facts" if key == "Memories" else key.lower()
            if value.strip():
                fields[title] = value.strip()
        elif title in _PAIRS:
            fields.setdefault(title, {})[key] = value.strip()
        else:
            fields.setdefault(title, []).append(line.removeprefix("- "))
    return Sheet(**fields)
