"""Lines of dialogue with placeholders, tags, escapes and names in them, as games have them."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from made_translator import Speaker

NAMES = ("Brenna", "Tarn", "Millbrook")
_HOLDERS = ("{player}", "%s", "%1$d", "$gold", "{{count}}", "{0:d}", "%(who)s", *NAMES)
_PAIRS = (("<b>", "</b>"), ("<color=#ff0000>", "</color>"), ("[wave]", "[/wave]"), ("<i>", "</i>"))
_BEFORE = ("", "", "[pause=0.5]")
_AFTER = ("", "", "\\n", " {icon}", "<br/>")


class Dressed(NamedTuple):
    """A line, and the pieces that it was given, in their order."""

    text: str
    pieces: list[str]


def lines(seed: int, count: int) -> list[Dressed]:
    """Returns random lines, each different from the others."""
    dice, speaker = random.Random(seed), Speaker(seed)
    made: dict[str, Dressed] = {}
    while len(made) < count:
        one = _dress(dice, speaker.line(1.0)[0])
        made[one.text] = one
    return list(made.values())


def _dress(dice: random.Random, text: str) -> Dressed:
    """Puts pieces in place of the sentinels of a line. Two that enclose a noun become a pair of tags."""
    before, after = dice.choice(_BEFORE), dice.choice(_AFTER)
    pieces = [before] if before else []
    while found := re.search(r"\[\d\]|<\d>|X\dX", text):
        mark = found[0]
        enclosed = re.match(r" ((?:the|a) (?:\w+ )?\w+) (?:\[\d\]|<\d>|X\dX)", text[found.end() :], re.I)
        if enclosed and not re.search(r"\b(at|near|behind|today|never)\b", enclosed[1]):
            pair = dice.choice(_PAIRS)
            text = (
                text[: found.start()] + pair[0] + enclosed[1] + pair[1] + text[found.end() + enclosed.end() :]
            )
            pieces += pair
        else:
            holder = dice.choice(_HOLDERS)
            text = text.replace(mark, holder, 1)
            pieces.append(holder)
    return Dressed(before + text + after, [*pieces, *([after.strip()] if after else [])])


def damage(line: Dressed, target: str) -> str:
    """What is wrong with a translation: found by counting, without the code that is tested."""
    for piece in set(line.pieces):
        word = piece.isalpha() or piece.startswith("$")  # a name is no part of a longer word
        found = re.findall(rf"(?<!\w){re.escape(piece)}(?!\w)" if word else re.escape(piece), target)
        if len(found) != line.pieces.count(piece):
            return f"{piece} is there {len(found)} times"
    for begin, end in (
        ("<b>", "</b>"),
        ("<i>", "</i>"),
        ("[wave]", "[/wave]"),
        ("<color=#ff0000>", "</color>"),
    ):
        found = re.findall(rf"{re.escape(begin)}|{re.escape(end)}", target)
        if found != [begin, end] * (len(found) // 2):
            return f"{begin} and {end} are not in turn"
        if re.search(rf"{re.escape(begin)}\s*{re.escape(end)}", target):
            return f"nothing is between {begin} and {end}"
    if [one for one in re.findall(r"[<>{}\[\]]", target) if target.count(one) != line.text.count(one)]:
        return "brackets were added or lost"
    return ""
