"""Dialogue in CSV: the cells of one column. Delimiter, quotes, line ends and byte order mark are kept."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from .columns import Columns
from .document import DEFAULT_COLUMNS, Line, Text, read_text

_DELIMITERS = (",", ";", "\t", "|")
_LONGEST = 1 << 27  # characters of a cell
_KEYS = ("id", "key", "name")  # columns that name a row in messages


class Table:
    """A CSV file."""

    updates = False

    def __init__(self, path: Path, columns: Columns) -> None:
        self._source = read_text(path)
        delimiter, self._rows = _read(path, self._source.text, columns.source)
        header = self._rows[0]
        self._at = header.index(columns.source_in(path, header))
        self._into = header.index(columns.target_in(path, header, header[self._at]))
        self._form = _form_of(self._source, delimiter, self._rows)
        names = [header.index(name) for name in _KEYS if name in header and header.index(name) != self._at]
        self._numbers = [number for number, row in enumerate(self._rows) if number and row]
        self._lines = [
            Line(self._place(number, names), self._rows[number][self._at], self._done(number))
            for number in self._numbers
        ]

    def _done(self, number: int) -> str:
        return "" if self._into == self._at else self._rows[number][self._into]

    def _place(self, number: int, names: list[int]) -> str:
        row = self._rows[number]
        return f"row {number + 1}{f' ({row[names[0]]})' if names else ''}"

    @property
    def lines(self) -> list[Line]:
        """The lines. Those of a table with a column for the target may have a translation."""
        return self._lines

    def update(self, target: Path) -> None:
        """Takes nothing: the cells of a target do not tell of which text they are."""

    def written(self, targets: Sequence[str], language: str) -> bytes:
        """Returns the table with `targets` in the column of the target."""
        rows = [list(row) for row in self._rows]
        for number, target in zip(self._numbers, targets, strict=True):
            rows[number][self._into] = target
        return self._source.encode(_write(rows, **self._form))


def _read(path: Path, text: str, column: str | None) -> tuple[str, list[list[str]]]:
    """Returns the delimiter and the rows: of the delimiters, one whose header has the column."""
    before = csv.field_size_limit(_LONGEST)
    try:
        read = [(delimiter, *_split(text, delimiter)) for delimiter in _DELIMITERS]
    finally:
        csv.field_size_limit(before)
    wanted = set(DEFAULT_COLUMNS if column is None else (column,))
    read.sort(key=lambda one: len(one[1][0]) if one[1] else 0, reverse=True)  # the most columns first
    fitting = [one for one in read if one[1] and wanted & set(one[1][0])] or read
    delimiter, rows, error = next((one for one in fitting if not one[2]), fitting[0])
    if error or not rows:
        raise ArgumentError(f"invalid file '{path}': expected CSV with a header; {error or 'it is empty'}")
    return delimiter, rows


def _split(text: str, delimiter: str) -> tuple[list[list[str]], str]:
    """Returns the rows as far as they can be read, and what is wrong with the next one."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if rows and row and len(row) != len(rows[0]):
                found = f"row {len(rows) + 1} has {len(row)} columns, the header has {len(rows[0])}"
                return rows, f"{found} (line {reader.line_num})"
            if rows or row:
                rows.append(row)
    except csv.Error as error:
        return rows, f"row {len(rows) + 1}: {error}; quotes may be missing (line {reader.line_num})"
    return rows, ""


def _form_of(source: Text, delimiter: str, rows: list[list[str]]) -> dict[str, Any]:
    """Returns the options of a writer that writes the source as it is, or the nearest to it."""
    ends = "\r\n" if "\r\n" in source.text else "\n"
    usual: dict[str, Any] = {
        "delimiter": delimiter,
        "lineterminator": ends,
        "quoting": csv.QUOTE_MINIMAL,
        "last": True,
    }
    kinds = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)
    forms = [{**usual, "quoting": kind, "last": last} for kind, last in product(kinds, (True, False))]
    return next((form for form in forms if _write(rows, **form) == source.text), usual)


def _write(rows: list[list[str]], *, last: bool, **options: Any) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, **options).writerows(rows)
    text = out.getvalue()
    return text if last else text.removesuffix(options["lineterminator"])
