"""Splits texts into passages of a paragraph or a few, the units that a search finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

PASSAGE = 800  # characters; about 200 tokens, which embedding models read whole
_MAX_HEADING = 200  # characters
_HEADING = re.compile(r"#{1,6} +(.*)")
_SENTENCE = re.compile(r"[.!?\u3002\uff01\uff1f]+[\"')\u201d\u300d]*\s*")


class Passage(NamedTuple):
    """A part of a text.

    Attributes:
        text: The part, on one line.
        heading: The heading above it; empty: none.
        line: Number of its first line, from 1.
    """

    text: str
    heading: str
    line: int


def passages(text: str, size: int = PASSAGE) -> Iterator[Passage]:
    """Yields the passages of a text.

    Paragraphs end at empty lines and at headings of Markdown. Short ones are joined, long ones are split at
    the ends of sentences.

    Args:
        text: The text.
        size: Maximum characters of a passage.
    """
    held, heading, first = "", "", 1
    for paragraph, above, line in _paragraphs(text):
        if held and (above != heading or len(held) + 1 + len(paragraph) > size):
            yield Passage(held, heading, first)
            held = ""
        if not held:
            heading, first = above, line
        *whole, held = _split(f"{held} {paragraph}".strip(), size)
        for part in whole:
            yield Passage(part, heading, first)
            first = line
    if held:
        yield Passage(held, heading, first)


def _paragraphs(text: str) -> Iterator[tuple[str, str, int]]:
    """Yields the paragraphs of a text, each on one line, with their headings and line numbers."""
    held: list[str] = []
    heading, first = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        found = _HEADING.fullmatch(line.strip())
        if held and (found or not line.strip()):
            yield " ".join(held), heading, first
            held = []
        if found:
            heading = " ".join(found[1].rstrip("# ").split())[:_MAX_HEADING]
        elif line.strip():
            first = first if held else number
            held.append(" ".join(line.split()))
    if held:
        yield " ".join(held), heading, first


def _split(text: str, size: int) -> list[str]:
    """Returns the parts of a text, each of at most `size` characters; the last one may be continued."""
    parts: list[str] = []
    start = 0
    while len(text) - start > size:
        end = _end(text, start, start + size)
        parts.append(text[start:end].strip())
        start = end
    return [*parts, text[start:].strip()]


def _end(text: str, start: int, most: int) -> int:
    """Returns where a part ends: after a sentence, else after a word, else at `most`."""
    half = start + (most - start) // 2
    ends = [found.end() for found in _SENTENCE.finditer(text, half, most)]
    inside = [one for one in ends if one < most or text[one - 1].isspace()]
    if inside:
        return inside[-1]
    space = text.rfind(" ", half, most)
    return most if space < 0 else space + 1
