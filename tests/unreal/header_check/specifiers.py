"""Reads the arguments of UCLASS, USTRUCT, UENUM, UFUNCTION, UPROPERTY and the like."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>[\w.:/+-]+)|(?P<sign>[=,()|]))')


class SpecifierError(ValueError):
    """The argument list of a macro does not follow UnrealHeaderTool's grammar."""


@dataclass
class Specifiers:
    """One macro with its arguments. Names are kept as written; lookups ignore case."""

    macro: str
    line: int
    words: dict[str, str] = field(default_factory=dict)  # an empty string: no value
    meta: dict[str, str] = field(default_factory=dict)

    def has(self, *names: str) -> bool:
        """Returns true if any of the specifiers is present."""
        written = {word.lower() for word in self.words}
        return any(name.lower() in written for name in names)

    def value(self, name: str) -> str | None:
        """Returns the value of a specifier, or None if the specifier is absent."""
        return _find(self.words, name)

    def metadata(self, name: str) -> str | None:
        """Returns the value of a metadata key, or None if the key is absent."""
        return _find(self.meta, name)


def _find(table: dict[str, str], name: str) -> str | None:
    return next((value for key, value in table.items() if key.lower() == name.lower()), None)


def parse(macro: str, text: str, line: int) -> Specifiers:
    """Reads the text between the parentheses of a macro. Raises SpecifierError."""
    reader = _Reader(text)
    found = Specifiers(macro, line)
    while reader.more():
        name, value = reader.entry()
        if name.lower() == "meta":
            found.meta.update(_metadata(value))
        elif name in found.words:
            raise SpecifierError(f"specifier '{name}' is given twice")
        else:
            found.words[name] = value
        reader.comma()
    if macro == "UMETA":
        found.meta, found.words = found.words, {}
    return found


def _metadata(text: str) -> dict[str, str]:
    reader, meta = _Reader(text), {}
    while reader.more():
        name, value = reader.entry()
        meta[name] = value
        reader.comma()
    return meta


class _Reader:
    """Splits an argument list into entries `Name`, `Name=value` and `Name=(...)`."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, position = text, [], 0
        while position < len(text.rstrip()):
            token = TOKEN.match(text, position)
            if token is None:
                raise SpecifierError(f"unexpected character '{text[position:].strip()[:1]}' in '({text})'")
            self._tokens.append(token)
            position = token.end()
        self._next = 0

    def more(self) -> bool:
        return self._next < len(self._tokens)

    def _take(self) -> re.Match[str]:
        if not self.more():
            raise SpecifierError(f"unexpected end of '({self._text})'")
        self._next += 1
        return self._tokens[self._next - 1]

    def _is(self, sign: str) -> bool:
        return self.more() and self._tokens[self._next]["sign"] == sign

    def comma(self) -> None:
        """Skips the comma between two entries."""
        if self.more() and self._take()["sign"] != ",":
            raise SpecifierError(f"a comma is missing in '({self._text})'")

    def entry(self) -> tuple[str, str]:
        """Returns name and value of the next entry; the value of `Name=(...)` is the text inside."""
        token = self._take()
        if token["sign"]:
            raise SpecifierError(f"unexpected '{token['sign']}' in '({self._text})'")
        name = token["word"] or token["string"].strip('"')
        if not self._is("="):
            return name, ""
        self._take()
        value = self._take()
        if value["sign"] == "(":
            return name, self._inside(value.end())
        if value["sign"]:
            raise SpecifierError(f"specifier '{name}' lacks its value")
        text = value["word"] or value["string"][1:-1]
        while self._is("|"):  # Category=A|B
            self._take()
            text += "|" + self._take()[0].strip().strip('"')
        return name, text

    def _inside(self, start: int) -> str:
        depth = 1
        while depth:
            token = self._take()
            depth += {"(": 1, ")": -1}.get(token["sign"] or "", 0)
        return self._text[start : token.start("sign")]
