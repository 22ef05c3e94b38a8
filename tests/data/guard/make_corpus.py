"""Writes the texts that guardrails are measured on: disguised phrases, and innocent look-alikes.

    python tests/data/guard/make_corpus.py

Reads development.json and held_apart.json, whose phrases, look-alikes, carriers and parameters differ, and
writes development.jsonl and held_apart.jsonl. Each line: language, text, whether it is to be caught, how it
was made.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SETS = {"development": 20261128, "held_apart": 8211}  # with the seed of each
EACH = 4  # disguises of each kind and phrase, at most
FONTS = {  # first capital and first small letter of Unicode's alphabets
    "bold": (0x1D400, 0x1D41A),
    "italic": (0x1D468, 0x1D482),
    "script": (0x1D4D0, 0x1D4EA),
    "fraktur": (0x1D56C, 0x1D586),
    "double": (0x1D538, 0x1D552),
    "sans": (0x1D5D4, 0x1D5EE),
    "mono": (0x1D670, 0x1D68A),
    "fullwidth": (0xFF21, 0xFF41),
    "circled": (0x24B6, 0x24D0),
}
HOLES = {"double"}  # its capitals are not all in one row


class Disguises:
    """The ways to disguise a phrase, with the parameters of one set."""

    def __init__(self, options: dict[str, Any], seed: int) -> None:
        self._options = options
        self._random = random.Random(seed)

    def plain(self, phrase: str) -> str:
        """Changes the case of some letters."""
        return "".join(
            self._random.choice((c.upper(), c.lower())) if len(c.upper()) == 1 else c for c in phrase
        )

    def leet(self, phrase: str) -> str:
        """Writes at most half of the letters as digits or symbols."""
        return self._swap(phrase, self._options["leet"], 0.5)

    def alike(self, phrase: str) -> str:
        """Writes letters in other alphabets."""
        return self._swap(phrase, self._options["alike"], 1.0)

    def accents(self, phrase: str) -> str:
        """Decorates letters."""
        return self._swap(phrase, self._options["accents"], 1.0)

    def marks(self, phrase: str) -> str:
        """Puts combining marks on letters."""
        most = self._options["most_marks"]
        return self._after(
            phrase,
            lambda: "".join(self._random.choices(self._options["marks"], k=self._random.randint(1, most))),
        )

    def invisible(self, phrase: str) -> str:
        """Puts characters without a width between letters."""
        return self._after(phrase, lambda: self._random.choice(self._options["invisible"]))

    def spaced(self, phrase: str) -> str:
        """Puts the same separator between all letters."""
        separator = self._random.choice(self._options["separators"])
        wide = (
            "  "
            if separator == " "
            else " " + separator.strip(" ") + "  "
            if separator.strip()
            else separator * 2
        )
        return wide.join(separator.join(word) for word in phrase.split(" "))

    def split(self, phrase: str) -> str:
        """Puts one symbol into a word."""
        at = self._random.choice(
            [i for i in range(1, len(phrase)) if phrase[i] != " " != phrase[i - 1]] or [0]
        )
        return phrase[:at] + self._random.choice("-_*.~") + phrase[at:] if at else phrase

    def stretched(self, phrase: str) -> str:
        """Repeats a letter."""
        at = self._random.choice([i for i, c in enumerate(phrase) if c.isalpha()])
        return phrase[:at] + phrase[at] * self._random.randint(*self._options["repeats"]) + phrase[at + 1 :]

    def font(self, phrase: str) -> str:
        """Writes Latin letters in another alphabet of Unicode."""
        name = self._random.choice(self._options["fonts"])
        capital, small = FONTS[name]
        write = phrase.lower() if name in HOLES else phrase
        return "".join(
            chr(capital + ord(c) - 65)
            if "A" <= c <= "Z"
            else chr(small + ord(c) - 97)
            if "a" <= c <= "z"
            else c
            for c in write
        )

    def pictures(self, phrase: str) -> str:
        """Puts pictures between letters."""
        return self._random.choice("🙂🔥★➤").join(phrase.replace(" ", ""))

    def together(self, phrase: str) -> str:
        """Leaves out the spaces."""
        return phrase.replace(" ", "")

    def two(self, phrase: str) -> str:
        """Disguises letters, then separates or stretches them."""
        first = self._random.choice((self.leet, self.alike, self.accents, self.plain))
        second = self._random.choice((self.invisible, self.marks, self.spaced, self.plain))
        return second(first(phrase))

    def choose(self, many: list[str]) -> str:
        """Returns one of several texts."""
        return self._random.choice(many)

    def _swap(self, phrase: str, table: dict[str, str], share: float) -> str:
        at = [i for i, c in enumerate(phrase) if c.lower() in table]
        most = max(1, int(sum(c.isalpha() for c in phrase) * share)) if at else 0
        letters = list(phrase)
        for i in self._random.sample(at, self._random.randint(min(1, len(at)), min(most, len(at)))):
            letters[i] = self._random.choice(table[phrase[i].lower()])
        return "".join(letters)

    def _after(self, phrase: str, made: Callable[[], str]) -> str:
        letters = [c + made() if c != " " and self._random.random() < 0.7 else c for c in phrase]
        return "".join(letters)


LATIN = (
    "plain",
    "leet",
    "alike",
    "accents",
    "marks",
    "invisible",
    "spaced",
    "split",
    "stretched",
    "font",
    "pictures",
    "together",
    "two",
)
KINDS = {  # what other scripts have of these
    "latin": LATIN,
    "cyrillic": ("plain", "marks", "invisible", "spaced", "split", "stretched", "pictures"),
    "greek": ("plain", "invisible", "spaced", "split", "stretched", "pictures"),
    "han": ("invisible", "spaced", "split", "pictures"),
    "kana": ("invisible", "spaced", "split", "pictures"),
    "hangul": ("invisible", "spaced", "split", "pictures"),
    "devanagari": ("invisible",),
}


def evasions(options: dict[str, Any], disguises: Disguises) -> Iterator[dict[str, Any]]:
    """Yields the texts to catch, none of them twice."""
    for number, language in enumerate(options["languages"]):
        for phrase in language["phrases"]:
            folded = unicodedata.normalize("NFC", phrase)
            seen = set()
            for kind in KINDS[language.get("alphabet", "latin")]:
                for _ in range(EACH if number == 0 else 1):
                    disguised = getattr(disguises, kind)(folded)
                    if disguised in seen or (disguised == phrase and kind != "plain"):
                        continue
                    seen.add(disguised)
                    carrier = disguises.choose(options["carriers"])
                    yield {
                        "language": number,
                        "text": carrier.replace("{}", disguised),
                        "caught": True,
                        "kind": kind,
                    }


def innocents(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the texts to leave alone."""
    for number, language in enumerate(options["languages"]):
        for word in language["innocents"]:
            for carrier in language["carriers"]:
                yield {
                    "language": number,
                    "text": carrier.replace("{}", word),
                    "caught": False,
                    "kind": "word",
                }
    for sentence in options["sentences"]:
        yield {"language": 0, "text": sentence, "caught": False, "kind": "sentence"}


def mislabelled(options: dict[str, Any], text: str) -> bool:
    """Returns True if a text that is to be innocent has one of the phrases as a plain word."""
    phrases = [phrase for language in options["languages"] for phrase in language["phrases"]]
    return any(re.search(rf"\b{re.escape(phrase)}\b", text, re.IGNORECASE) for phrase in phrases)


def main() -> None:
    """Writes both sets, without innocent texts that have a phrase as a plain word."""
    for name, seed in SETS.items():
        options = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        innocent = [line for line in innocents(options) if not mislabelled(options, line["text"])]
        lines = [*evasions(options, Disguises(options, seed)), *innocent]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")
        caught = sum(line["caught"] for line in lines)
        print(f"{name}: {caught} to catch, {len(lines) - caught} innocent")


if __name__ == "__main__":
    main()
