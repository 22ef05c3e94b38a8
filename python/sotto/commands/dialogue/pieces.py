"""Finds the pieces of a line that no translation may change. Takes time linear in the line's length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_KINDS = {
    "url": r"https?://[^\s<>\"'{}\[\]]*[^\s<>\"'{}\[\].,;:!?)]",
    "code": r"\\(?:[A-Z]{1,8}|[A-Za-z])(?=\[)",  # RPG Maker: \V[1], \FS[24]
    "escape": r"\\(?:u[0-9A-Fa-f]{4}|[A-Za-z\"'\\.!|^<>{}$])",
    "brace": r"\$?(?=\{)",
    "bracket": r"(?=\[[/\w#])",
    "holder": r"\$[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*\$?|%\([^()\n]*\)[diouxXeEfFgGcrs]"
    r"|%[A-Za-z_][A-Za-z0-9_]*%|<<[^<>\n]+>>",
    "print": r"%(?:\d{1,4}\$)?[-+0#]{0,5}\d{0,5}(?:\.\d{1,5})?(?:hh|h|ll|l|z|j|t|L)?[diouxXeEfFgGaAcCspn@]"
    r"|%\d+|%%",
    "tag": r"</?[A-Za-z#][^<>\n]*>|</>|\[/\]",
    "entity": r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);",
}
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # of scripts with spaces between words
_MARKS = re.compile(r"[\[\]{}()\n]")
_CHOICE = re.compile(r"\|\w{1,40}(?=\()")  # Unreal: {Count}|plural(one=key,other=keys)
_ADDRESS = re.compile(r"\[(?:(img)[^\[\]]*|(url))\]", re.IGNORECASE)  # whose content is no text
_CLOSES = re.compile(r"[<\[{]/([\w#.:-]*)")
_NAME = re.compile(r"[<\[{]([\w#.:-]+)")
_VALUES = ("\\N[", "\\V[", "\\P[")  # of the codes, those that a game replaces by a word
_ALONE = re.compile(  # tags without an end
    "br|hr|p|[lr]b|img|sprite|w?br|nl|cr|page|pause|wait|wave|shake|clear|speed|n?w|fast|icon|space",
    re.IGNORECASE,
)


class Piece(NamedTuple):
    """A piece of a line. `kind`: "holder", "print", "tag", "escape", "entity", "url" or "name"."""

    text: str
    kind: str
    begin: int
    end: int


def pattern_of(names: Sequence[str]) -> re.Pattern[str]:
    """Returns what finds the beginnings of pieces. `names`: words that stay as they are."""
    kinds = [f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()]
    if names:
        longest = sorted(set(names), key=len, reverse=True)
        listed = "|".join(map(re.escape, longest))
        kinds.append(rf"(?P<name>(?<!{_LETTER})(?:{listed})(?!{_LETTER}))")
    return re.compile("|".join(kinds))


def pieces_of(pattern: re.Pattern[str], text: str) -> list[Piece]:
    """Returns the pieces of a text in their order."""
    return _Scan(pattern, text).pieces()


class _Scan:
    """One pass over a text."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern, self._text = pattern, text
        self._ends = _matching(text)
        self._closed = {found[1].lower() for found in _CLOSES.finditer(text)}
        self._unclosed: set[str] = set()

    def pieces(self) -> list[Piece]:
        """Returns the pieces in their order."""
        made: list[Piece] = []
        at = 0
        while found := self._pattern.search(self._text, at):
            piece = self._piece(found.lastgroup or "", found.start(), found.end())
            if piece is not None:
                made.append(piece)
            at = piece.end if piece is not None else found.start() + 1
        return made

    def _piece(self, kind: str, begin: int, end: int) -> Piece | None:
        if kind in ("code", "brace", "bracket"):
            closing = self._ends.get(end)
            if closing is None:
                single = kind == "code" and self._text[begin + 1].isalpha()
                return self._made("escape", begin, begin + 2) if single else None
            end = self._whole(kind, begin, closing + 1)
        return self._made(self._kind(kind, self._text[begin:end]), begin, end)

    def _made(self, kind: str, begin: int, end: int) -> Piece:
        return Piece(self._text[begin:end], kind, begin, end)

    def _whole(self, kind: str, begin: int, end: int) -> int:
        """Returns the end of a piece with what belongs to it after its bracket."""
        if kind == "brace" and (choice := _CHOICE.match(self._text, end)):
            return self._ends.get(choice.end(), end - 1) + 1
        found = _ADDRESS.match(self._text, begin) if kind == "bracket" else None
        if found is None:
            return end
        closing = f"[/{found[1] or found[2]}]"
        at = -1 if closing in self._unclosed else self._text.find(closing, end)
        if at < 0:
            self._unclosed.add(closing)
        return end if at < 0 else at + len(closing)

    def _kind(self, kind: str, text: str) -> str:
        if kind == "code":
            return "holder" if text.upper().startswith(_VALUES) else "escape"
        if kind not in ("brace", "bracket", "tag"):
            return kind
        if _CLOSES.match(text):
            return "tag"
        name = _NAME.match(text)
        closed = name is not None and (name[1].lower() in self._closed or "" in self._closed)
        if kind == "brace":
            return "tag" if closed else "holder"
        marked = name and (_ALONE.fullmatch(name[1]) or "=" in text or text.endswith("/>"))
        return "tag" if closed or marked or text.startswith(("<#", "[#")) else "holder"


def _matching(text: str) -> dict[int, int]:
    """Returns the positions of opening brackets with those of their closing ones.

    Round and square brackets end in their line; braces, as in ICU's messages, need not.
    """
    open_: dict[str, list[int]] = {"]": [], "}": [], ")": []}
    closing = {"[": "]", "{": "}", "(": ")"}
    found: dict[int, int] = {}
    for mark in _MARKS.finditer(text):
        if mark[0] in closing:
            open_[closing[mark[0]]].append(mark.start())
        elif mark[0] == "\n":
            open_["]"].clear()
            open_[")"].clear()
        elif open_[mark[0]]:
            found[open_[mark[0]].pop()] = mark.start()
    return found
