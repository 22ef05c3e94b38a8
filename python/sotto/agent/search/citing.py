"""Cuts passages to a token allowance and cites them by number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..records import Source
from .hit import Hit

Count = Callable[[str], int]  # tokens of a text
_JOIN = " ... "
_NUMBER = re.compile(r"\[(\s*\d+\s*)\]")
_MAX_TOKEN = 100  # characters; a text that is longer than its tokens allow need not be counted
_LEAST = 40  # characters; a shorter rest of a passage is left out


@dataclass
class _Cited:
    """One source, with the passages of it that are shown."""

    source: Source
    header: str
    parts: list[str] = field(default_factory=list)


class Citations:
    """Passages, by source, within an allowance of tokens.

    Args:
        count: Returns the tokens of a text.
        most: Maximum tokens of the whole text.
    """

    def __init__(self, count: Count, most: int) -> None:
        self._count = count
        self._most = most
        self._cited: dict[str, _Cited] = {}

    @property
    def text(self) -> str:
        """The passages: for each source a line with number, title and URL, and one with its passages."""
        return "\n".join(f"{one.header}\n{_JOIN.join(one.parts)}" for one in self._cited.values())

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources, in the order of their numbers."""
        return tuple(one.source for one in self._cited.values())

    def add(self, hits: Sequence[Hit]) -> None:
        """Adds passages, the best first, until the allowance is used up."""
        for hit in hits:
            if not self._add(hit):
                return

    def _add(self, hit: Hit) -> bool:
        """Adds a passage. Returns False if it had to be cut, or does not fit."""
        text = _own_numbers(" ".join(hit.text.split()))[: _MAX_TOKEN * self._most]
        key = hit.url or hit.title
        known = self._cited.get(key)
        if known is None:
            source = Source(len(self._cited) + 1, hit.title, hit.url)
            known = self._cited[key] = _Cited(source, self._header(source))
        known.parts.append(text)
        if self._fits():
            return True
        fewest, most = 0, len(text)  # characters that fit, and that do not
        while most - fewest > 1:
            middle = (fewest + most) // 2
            known.parts[-1] = _cut(text, middle)
            if self._fits():
                fewest = middle
            else:
                most = middle
        known.parts[-1] = _cut(text, fewest)
        if fewest < min(_LEAST, len(text)) and (len(self._cited) > 1 or len(known.parts) > 1):
            known.parts.pop()
        if not known.parts:
            del self._cited[key]
        return False

    def _fits(self) -> bool:
        return self._count(self.text) <= self._most

    def _header(self, source: Source) -> str:
        """Returns the line that names a source, without the URL or the title if they take too much."""
        number = f"[{source.number}]"
        short = f"{number} {_own_numbers(source.title)}".rstrip()
        for header in (f"{short} ({_own_numbers(source.url)})" if source.url else short, short):
            if self._count(header) <= self._most // 2:
                return header
        return number


def _own_numbers(text: str) -> str:
    """Returns a text whose own "[1]" are "(1)", so that it cannot look like a citation."""
    return _NUMBER.sub(r"(\1)", text)


def _cut(text: str, most: int) -> str:
    """Returns the beginning of a text, at most `most` characters, of whole words if it has spaces."""
    if len(text) <= most:
        return text
    head = text[:most]
    space = head.rfind(" ", max(most - 40, 0))
    return (head if space <= 0 else head[:space]).rstrip()
