"""`Hit`: what a search finds, and how the result of a search function is read."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..._values import invalid, wrong_type
from ...errors import ArgumentError

MAX_HITS = 100  # of a search function; the rest is left out
MAX_TEXT = 200_000  # characters of a hit; the rest is cut
_MAX_ALL = 4_000_000  # characters of all hits; further hits are left out
MAX_URL = 2048  # characters
_MAX_TITLE = 200
_JOINERS = "\u200c\u200d"  # which scripts and emoji need
_EXPECTED = '{"title": ..., "text": ..., "url": ...} or a Hit'


@dataclass(frozen=True)
class Hit:
    """One result of a search.

    Attributes:
        title: Title, on one line, at most 200 characters.
        text: What was found, at most 200,000 characters.
        url: Where it is: a URL, or another name of the source, at most 2,048 characters.
        score: How well it fits the query, higher is better; None: not known.
    """

    title: str
    text: str
    url: str = ""
    score: float | None = None

    def __post_init__(self) -> None:
        for name in ("title", "text", "url"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise wrong_type(name, value, "a str")
        object.__setattr__(self, "title", one_line(self.title)[:_MAX_TITLE])
        object.__setattr__(self, "url", one_line(self.url)[:MAX_URL])
        object.__setattr__(self, "text", clean(self.text[:MAX_TEXT]))


def clean(text: str) -> str:
    """Returns a text without invisible characters, which could hide orders from a reader; keeps lines."""
    if text.isascii() and text.isprintable():
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_invisible())


def one_line(text: str) -> str:
    """Returns a text on one line, without invisible characters."""
    return " ".join(clean(text[: 2 * MAX_URL]).split())


@functools.cache
def _invisible() -> dict[int, str]:
    """Returns what takes the place of each invisible character: a space, or nothing."""
    found: dict[int, str] = {}
    for number in (*range(0x20000), *range(0xE0000, 0xE1000)):  # the other planes have none
        kind = unicodedata.category(chr(number))
        if kind in ("Cc", "Zl", "Zp"):
            found[number] = " "
        elif kind in ("Cf", "Cs"):
            found[number] = ""
    for kept in "\n\t" + _JOINERS:
        del found[ord(kept)]
    return found


def read_hits(given: Any) -> list[Hit]:
    """Returns the hits that a search function returned, at most 100.

    Args:
        given: Iterable of `Hit`s, or of mappings with `title`, `text` (or `content`), and `url` (or
            `source`). `description` is the text if `content` is empty. Other fields are ignored.

    Raises:
        ArgumentError: A field is missing.
        TypeError: The result, or a field, has another type.
    """
    if given is None or isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise wrong_type("hits", given, f"an iterable of {_EXPECTED}")
    hits: list[Hit] = []
    for at, one in enumerate(given):
        if at == MAX_HITS or sum(len(hit.text) for hit in hits) > _MAX_ALL:
            break
        hits.append(one if isinstance(one, Hit) else _read_hit(f"hits[{at}]", one))
    return hits


def _read_hit(path: str, given: Any) -> Hit:
    if not isinstance(given, Mapping):
        raise wrong_type(path, given, _EXPECTED)
    text = _field(path, given, "text", "content")
    if not text.strip() and isinstance(given.get("description"), str):
        text = given["description"]
    return Hit(_field(path, given, "title"), text, _field(path, given, "url", "source"))


def _field(path: str, given: Mapping[str, Any], *names: str) -> str:
    for name in names:
        if name in given:
            value = given[name]
            if not isinstance(value, str):
                raise TypeError(invalid(f"{path}.{name}", value, f"a str, not {type(value).__name__}"))
            return value
    raise ArgumentError(f"missing {path}.{names[0]}: expected {_EXPECTED}")
