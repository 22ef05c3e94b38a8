"""Pieces of a line that no translation may change: placeholders, tags, escapes, variables, names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .pieces import Piece, pattern_of, pieces_of

_BRACKETS = "<>[]{}"
_SOLID = re.compile(r"\S")
_REST = re.compile(r"[<\[#Xx]\s?\d|\d\s?[>\]#Xx]")  # of a sentinel that a model broke
_WORDED = re.compile(r"\[[^=\[\]]*[^\W\d_]{2,}\s+[^\W\d_]{2,}|,\s*(?:plural|select|selectordinal)\s*,|\}\|")
_SENTENCE_ENDS = "!?\u2026\u3002\uff01\uff1f"
_QUOTES = "\"'\u201d\u2019)"
_ABBREVIATION = 3  # letters of a word before a full stop that may not end a sentence: "Mr."


class Protector:
    """Finds the pieces of lines. `names`: words that stay as they are, such as those of characters."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._pattern = pattern_of(names)

    def pieces(self, text: str) -> list[Piece]:
        """Returns the pieces of a text in their order."""
        return pieces_of(self._pattern, text)

    def kept(self, source: str, target: str, placed: Sequence[Piece]) -> str:
        """Returns "" if a target has the pieces of the source in a valid order; else what is wrong.

        Args:
            source: The source text.
            target: Its translation.
            placed: Where the pieces of the source are in the target.
        """
        before = self.pieces(source)
        left, made = _between(source, before), _between(target, placed)
        given = Counter(one.text for one in before)
        found = Counter(one.text for one in placed) + (self._spelled(made) - self._spelled(left))
        if given != found:
            return _difference(given, found)
        if source.count("\n") != target.count("\n"):
            return "the number of line breaks changed"
        if reason := _left_over("\n".join(left), "\n".join(made)):
            return reason
        if _in_order(before) != _in_order(placed):
            return "placeholders without a number changed their order"
        if _nesting(source, before) != _nesting(target, placed):
            return "tags are not nested as in the source"
        return ""

    def _spelled(self, texts: Sequence[str]) -> Counter[str]:
        """Returns the pieces, but for names, that texts without pieces have."""
        return Counter(one.text for text in texts for one in self.pieces(text) if one.kind != "name")

    def left_as_it_is(self, text: str) -> str:
        """Returns the first piece with words that a player reads; "" without one."""
        pieces = self.pieces(text)
        holders = [one for one in pieces if one.kind == "holder"]
        found = next((one.text for one in holders if _WORDED.search(one.text)), "")
        if not found and not any(map(str.isalpha, "".join(_between(text, pieces)))):
            found = next((one.text for one in holders if re.match(r"\[[^\W\d_]{2,}", one.text)), "")
        return found


def _difference(given: Counter[str], found: Counter[str]) -> str:
    for text, count in (given - found).items():
        return f"'{text}' is missing" if count == given[text] else f"'{text}' is there too few times"
    extra = next(iter(found - given))
    return f"'{extra}' is there too many times"


def _between(text: str, pieces: Sequence[Piece]) -> list[str]:
    """Returns the texts around the pieces."""
    edges = [0, *(edge for one in pieces for edge in (one.begin, one.end)), len(text)]
    return [text[begin:end] for begin, end in zip(edges[::2], edges[1::2], strict=True)]


def _left_over(source: str, target: str) -> str:
    """Returns what is wrong with sentinels and brackets outside the pieces; "" if nothing."""
    found = _REST.search(target)
    if found and not _REST.search(source):
        return f"the translation has '{found[0]}', which is not in the source"
    for mark in _BRACKETS:
        if target.count(mark) > source.count(mark):
            return f"the translation has '{mark}', which is not in the source"
        if target.count(mark) < source.count(mark):
            return f"the translation lost '{mark}'"
    return ""


def _in_order(pieces: Sequence[Piece]) -> list[str]:
    """Returns the placeholders that a game fills by their position: `%s`, `{}`."""
    return [
        one.text
        for one in pieces
        if one.text == "{}" or (one.kind == "print" and "$" not in one.text and one.text != "%%")
    ]


def _nesting(text: str, pieces: Sequence[Piece]) -> object:
    """Returns what must not change of the tags: each pair, and whether it encloses text.

    Tags that are not nested in the source must keep their order, so they are all returned in it.
    """
    pairs = paired(pieces)
    if pairs is None:
        return [one.text for one in pieces if one.kind == "tag"]
    return Counter(
        (begin.text, end.text, _SOLID.search(text, begin.end, end.begin) is not None)
        for end, begin in pairs.items()
    )


def paired(pieces: Sequence[Piece]) -> dict[Piece, Piece] | None:
    """Returns the opening tag of each closing one; None if the tags are not nested."""
    tags = [(one, *_parts(one)) for one in pieces if one.kind == "tag"]
    closed = {name for _, closes, name in tags if closes}
    waiting: list[tuple[Piece, str]] = []
    found: dict[Piece, Piece] = {}
    for one, closes, name in tags:
        if closes:
            if not waiting or (name and waiting[-1][1] != name):
                return None
            found[one] = waiting.pop()[0]
        elif name in closed or "" in closed:  # a tag that no other closes stands for itself
            waiting.append((one, name))
    return None if waiting else found


def _parts(piece: Piece) -> tuple[bool, str]:
    """Returns whether a tag closes, and its name; "" for `</>`, which closes any."""
    found = re.match(r"[<\[{](/?)([\w#.:-]*)", piece.text)
    return (bool(found[1]), found[2].lower()) if found else (False, piece.text)


class Edges(NamedTuple):
    """A line without the pieces around it that need no translation, and those pieces."""

    left: str
    core: str
    right: str


def without_edges(protector: Protector, text: str) -> Edges:
    """Takes off both ends of a line what no sentence needs.

    These are escapes, tags without a partner, pairs of tags around all of it, and what follows the last
    sentence.
    """
    pieces = protector.pieces(text)
    pairs = paired(pieces)
    alone = _alone(pieces, pairs)
    first, last = 0, len(pieces) - 1
    begin, end = _trimmed(text, 0, len(text))
    while begin < end:
        head = pieces[first] if first <= last and pieces[first].begin == begin else None
        tail = pieces[last] if first <= last and pieces[last].end == end else None
        if head is not None and head in alone:
            begin, first = head.end, first + 1
        elif tail is not None and (tail in alone or _follows(text, begin, tail)):
            end, last = tail.begin, last - 1
        elif head and tail and pairs and pairs.get(tail) == head:
            begin, end, first, last = head.end, tail.begin, first + 1, last - 1
        else:
            break
        begin, end = _trimmed(text, begin, end)
    return Edges(text[:begin], text[begin:end], text[end:])


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Returns a range of a text without the spaces at both ends."""
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return begin, end


def _follows(text: str, begin: int, piece: Piece) -> bool:
    """Returns true for a piece other than a tag that stands after the end of a sentence."""
    at = piece.begin
    while at > begin and text[at - 1].isspace():
        at -= 1
    while at > begin and text[at - 1] in _QUOTES:
        at -= 1
    if piece.kind == "tag" or at == begin:
        return False
    if text[at - 1] in _SENTENCE_ENDS:
        return True
    word = text[max(begin, at - 2 - _ABBREVIATION) : at - 1]
    return text[at - 1] == "." and len(word) > _ABBREVIATION and word.isalpha()


def _alone(pieces: Sequence[Piece], pairs: dict[Piece, Piece] | None) -> set[Piece]:
    """Returns the escapes, and the tags that stand for themselves."""
    found = {one for one in pieces if one.kind == "escape"}
    if pairs is not None:
        within = {*pairs, *pairs.values()}
        found |= {one for one in pieces if one.kind == "tag" and one not in within}
    return found
