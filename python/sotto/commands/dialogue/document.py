"""A file of lines that are translated, whatever its format."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ...errors import ArgumentError

DEFAULT_COLUMNS = ("text", "line", "source")
_MARKS = (  # byte order marks; those of UTF-32 begin like those of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Line(NamedTuple):
    """A line of a file.

    Attributes:
        place: Row, key or number of the line, for messages.
        text: The source text.
        done: Translation that the file has already; "": none.
        reason: Why the line cannot be translated; "": it can.
    """

    place: str
    text: str
    done: str = ""
    reason: str = ""


class Document(Protocol):
    """A file that was read. `updates`: a target that exists is updated instead of kept."""

    updates: bool

    @property
    def lines(self) -> list[Line]:
        """The lines, with the translations that there are."""

    def update(self, target: Path) -> None:
        """Reads the translations of an existing target, in formats that also hold the source texts (PO)."""

    def written(self, targets: Sequence[str], language: str) -> bytes:
        """Returns the file with `targets` in place of the lines, in the encoding of the source."""


class Text(NamedTuple):
    """The text of a file, and how it was encoded."""

    text: str
    encoding: str
    mark: bytes

    def encode(self, text: str) -> bytes:
        """Returns the bytes of another text, in this text's encoding and with its byte order mark."""
        return self.mark + text.encode(self.encoding)


def read_text(path: Path) -> Text:
    """Reads a file of text in UTF-8 or UTF-16. Raises `ArgumentError` if it is no text."""
    data = path.read_bytes()
    mark, encoding = next((one for one in _MARKS if data.startswith(one[0])), (b"", "utf-8"))
    if not mark and len(data) > 1 and b"\0" in data[:2]:  # the first character is of ASCII
        encoding = "utf-16-le" if data[0] else "utf-16-be"
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        raise ArgumentError(
            f"invalid file '{path}': expected text in UTF-8 or UTF-16; byte {at} is not: save it as UTF-8"
        ) from None
    if "\0" in text:
        raise ArgumentError(f"invalid file '{path}': expected text in UTF-8 or UTF-16; it has NUL characters")
    return Text(text, encoding, mark)


def chosen(path: Path, columns: Sequence[str], asked: str | None, option: str = "--column") -> str:
    """Returns the column of the texts. Raises `ArgumentError` that lists the columns if the file lacks it."""
    wanted = DEFAULT_COLUMNS if asked is None else (asked,)
    found = next((name for name in wanted if name in columns), None)
    if found is None:
        listed = ", ".join(f"'{name}'" for name in columns[:20])
        raise ArgumentError(
            f"'{path}' has no column {' or '.join(map(repr, wanted))}: expected {option} with one of {listed}"
        )
    if list(columns).count(found) > 1:
        raise ArgumentError(f"'{path}' has two columns '{found}': rename one of them")
    return found
