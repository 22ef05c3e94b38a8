"""Pieces of a line that no translation may change: placeholders, tags, escapes, variables, names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"  # nested up to twice, as in ICU's messages
_KINDS = {
    "escape": r"\\(?:u[0-9A-Fa-f]{4}|[A-Za-z]\[[^\[\]\n]*\]|[A-Za-z\"'\\.!|^<>{}$])",
    "holder": rf"\$?{_BRACES}|\$\w*[A-Za-z_]\w*\$?|%\([^()\n]*\)[diouxXeEfFgGcrs]|%[A-Za-z_]\w*%",
    "print": r"%(?:\d+\$)?[-+0#]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t|L)?[diouxXeEfFgGaAcCspn@]|%\d+|%%",
    "tag": r"</?[A-Za-z#][^<>\n]*>|</>|\[/?[A-Za-z_#][^\[\]\n]*\]|\[/\]",
    "entity": r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);",
}
_BRACKETS = "<>[]{}"
_REST = re.compile(r"[<\[#Xx]\s?\d|\d\s?[>\]#Xx]")  # of a sentinel that a model broke
_AFTER_SENTENCE = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)]*\s*$")


class Piece(NamedTuple):
    """A piece of a line. `kind`: "holder", "print", "tag", "escape", "entity" or "name"."""

    text: str
    kind: str
    begin: int
    end: int


class Protector:
    """Finds the pieces of lines. `names`: words that stay as they are, such as those of characters."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        kinds = [f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()]
        if names:
            longest = sorted(set(names), key=len, reverse=True)
            listed = "|".join(map(re.escape, longest))
            kinds.append(rf"(?P<name>(?<!\w)(?:{listed})(?!\w))")
        self._pattern = re.compile("|".join(kinds))

    def pieces(self, text: str) -> list[Piece]:
        """Returns the pieces of a text in their order."""
        return [
            Piece(found[0], found.lastgroup or "", found.start(), found.end())
            for found in self._pattern.finditer(text)
        ]

    def kept(self, source: str, target: str) -> str:
        """Returns "" if the target has the pieces of the source in a valid order; else what is wrong."""
        before, after = self.pieces(source), self.pieces(target)
        given, found = Counter(one.text for one in before), Counter(one.text for one in after)
        if given != found:
            return _difference(given, found)
        if source.count("\n") != target.count("\n"):
            return "the number of line breaks changed"
        if left := _left_over(_between(source, before), _between(target, after)):
            return f"the translation has '{left}', which is not in the source"
        if _in_order(before) != _in_order(after):
            return "placeholders without a number changed their order"
        if _nesting(source, before) != _nesting(target, after):
            return "tags are not nested as in the source"
        return ""


def _difference(given: Counter[str], found: Counter[str]) -> str:
    for text, count in (given - found).items():
        return f"'{text}' is missing" if count == given[text] else f"'{text}' is there too few times"
    extra = next(iter(found - given))
    return f"'{extra}' is there too many times"


def _between(text: str, pieces: list[Piece]) -> str:
    """Returns the text without the pieces."""
    edges = [0, *(edge for one in pieces for edge in (one.begin, one.end)), len(text)]
    return " ".join(text[begin:end] for begin, end in zip(edges[::2], edges[1::2], strict=True))


def _left_over(source: str, target: str) -> str:
    """Returns what the target has of sentinels or of brackets that the source has not; "" if nothing."""
    found = _REST.search(target)
    if found and not _REST.search(source):
        return found[0]
    return next((mark for mark in _BRACKETS if target.count(mark) > source.count(mark)), "")


def _in_order(pieces: list[Piece]) -> list[str]:
    """Returns the placeholders that a game fills by their position: `%s`, `{}`."""
    return [
        one.text
        for one in pieces
        if one.text == "{}" or (one.kind == "print" and "$" not in one.text and one.text != "%%")
    ]


def _nesting(text: str, pieces: list[Piece]) -> object:
    """Returns what must not change of the tags: each pair, and whether it encloses text.

    Tags that are not nested in the source must keep their order, so they are all returned in it.
    """
    pairs = paired(pieces)
    if pairs is None:
        return [one.text for one in pieces if one.kind == "tag"]
    return Counter(
        (begin.text, end.text, bool(text[begin.end : end.begin].strip())) for end, begin in pairs.items()
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
    found = re.match(r"[<\[](/?)([\w#.:-]*)", piece.text)
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
    left, core, right = "", text, ""
    while core:
        pieces = protector.pieces(core)
        pairs = paired(pieces)
        alone = _alone(pieces, pairs)
        begin = next((one for one in pieces if one.begin == 0), None)
        end = next((one for one in pieces if one.end == len(core)), None)
        if begin in alone and begin is not None:
            left, core = left + begin.text, core[begin.end :]
        elif end is not None and (end in alone or _follows(core, end)):
            core, right = core[: end.begin], end.text + right
        elif begin and end and pairs and pairs.get(end) == begin:
            left, core, right = left + begin.text, core[begin.end : end.begin], end.text + right
        else:
            break
        spaces = len(core) - len(core.lstrip())
        left, core = left + core[:spaces], core[spaces:]
        bare = core.rstrip()
        core, right = bare, core[len(bare) :] + right
    return Edges(left, core, right)


def _follows(text: str, piece: Piece) -> bool:
    """Returns true for a piece other than a tag that stands after the end of a sentence."""
    return piece.kind != "tag" and _AFTER_SENTENCE.search(text[: piece.begin]) is not None


def _alone(pieces: Sequence[Piece], pairs: dict[Piece, Piece] | None) -> set[Piece]:
    """Returns the escapes, and the tags that stand for themselves."""
    found = {one for one in pieces if one.kind == "escape"}
    if pairs is not None:
        within = {*pairs, *pairs.values()}
        found |= {one for one in pieces if one.kind == "tag" and one not in within}
    return found
