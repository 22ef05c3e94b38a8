"""Reads lines with answers that fit any of an intent, and what visitors tell and ask back; checks both."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import words as w
from exchanges import CORPUS, SLOTS, STATES
from forms import holes, kept_surfaces, loaded, surface
from manners import MANNERS
from names import a_name, a_town, with_article
from split import is_held

LINES, TOLD, AGAIN = CORPUS / "lines", CORPUS / "told", CORPUS / "again"
DRAWN = ("name", "town", "number")  # values of `told` that are drawn, not listed


@dataclass(frozen=True)
class Intent:
    """What visitors say on one occasion, and what each manner may answer to any of it."""

    name: str
    quest: str  # the state that it is for; "": any
    lines: tuple[str, ...]
    answers: dict[str, tuple[tuple[str, str, str], ...]]  # by manner: text, emotion ("": as before), action


@dataclass(frozen=True)
class Told:
    """Something that a visitor tells, with a hole {x} for it, and how it asks for that later."""

    values: tuple[str, ...]
    tells: tuple[str, ...]
    heard: tuple[str, ...]
    asks: tuple[str, ...]
    answers: tuple[str, ...]

    def value(self, rng: Random) -> str:
        """One of its values."""
        draws = {"name": a_name, "town": a_town, "number": lambda rng: rng.choice((*w.NUMBERS, *w.TENS))}
        return draws[self.values[0]](rng) if self.values[0] in draws else rng.choice(self.values)


def put(text: str, value: str) -> str:
    """The text with its hole filled, the article before it right."""
    return re.sub(r"(\b[Aa]n? )?{x}", lambda m: m[1][0] + with_article(value)[1:] if m[1] else value, text)


def free(lines: list[str]) -> tuple[str, ...]:
    """The lines without those whose form is kept for the test."""
    kept = kept_surfaces() | {surface(said) for said in w.NAMES_TOLD_HELD}
    return tuple(line for line in lines if surface(line) not in kept and not is_held(line))


def said(answer: list[str]) -> tuple[str, str, str]:
    """An answer with its emotion and its action."""
    text, feels, does = (*answer, *("", "none")[len(answer) - 1 :])
    return text, feels, does


@cache
def intents() -> dict[str, Intent]:
    """All of them by name, with the lines that are trained."""
    made = {}
    for path in sorted(LINES.glob("*.yaml")):
        file = loaded(path)
        answers = {manner: tuple(map(said, ones)) for manner, ones in file["answers"].items()}
        made[path.stem] = Intent(path.stem, file.get("quest", ""), free(file["lines"]), answers)
    return made


@cache
def told() -> tuple[Told, ...]:
    """All that visitors tell, with the questions that are trained."""
    files = (loaded(path) for path in sorted(TOLD.glob("*.yaml")))
    return tuple(
        Told(
            tuple([one["values"]] if isinstance(one["values"], str) else one["values"]),
            tuple(one["tells"]),
            tuple(one["heard"]),
            free(one["asks"]),
            tuple(one["answers"]),
        )
        for file in files
        for one in file["told"]
    )


@cache
def again(name: str) -> tuple[str, ...]:
    """More lines for a form or an occasion."""
    path = AGAIN / f"{name}.yaml"
    return free(loaded(path)) if path.exists() else ()


def faults_of_intent(file: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the lines and answers of one intent."""
    if file.get("quest", "open") not in STATES:
        yield f"has the quest state {file['quest']!r}"
    for form, count in Counter(map(surface, file["lines"])).items():
        if count > 1 and form:
            yield f"has {form!r} {count} times"
    if set(file["answers"]) != set(MANNERS):
        yield f"has answers of the manners {', '.join(file['answers'])}"
    answers = [said(one) for ones in file["answers"].values() for one in ones]
    for text, feels, does in answers:
        if (feels and feels not in w.MOODS) or does not in w.ACTIONS:
            yield f"feels {feels!r} and does {does!r}"
        if text[-1] not in ".!?" or re.search(r'[*"_\[\]()<>]|[^ -~]', re.sub(r"{\w+}", "", text)):
            yield f"has an answer without an end, or with a character that is not allowed: {text!r}"
    for text in (*file["lines"], *(text for text, _, _ in answers)):
        if unknown := holes(text) - SLOTS:
            yield f"has unknown slots: {', '.join(sorted(unknown))}"


def faults_of_told(one: dict[str, Any]) -> Iterator[str]:
    """What is wrong with something that is told."""
    values = one["values"]
    if isinstance(values, str) and values not in DRAWN:
        yield f"has the values {values!r}; there are {', '.join(DRAWN)}, or a list"
    for key in ("tells", "answers"):
        yield from (f"has no {{x}} in {text!r}" for text in one[key] if "{x}" not in text)
    yield from (f"asks with the value: {text!r}" for text in one["asks"] if "{x}" in text)
    yield from (f"has an end in {text!r}" for text in one["answers"] if text[-1] in ".!?")


def check_lines() -> list[str]:
    """Every fault of the three folders, a line each."""
    faults = [
        f"{p.name}: {fault}" for p in sorted(LINES.glob("*.yaml")) for fault in faults_of_intent(loaded(p))
    ]
    for path in sorted(TOLD.glob("*.yaml")):
        for one in loaded(path)["told"]:
            faults += [f"{path.name}: {one['about']}: {fault}" for fault in faults_of_told(one)]
    for path in sorted(AGAIN.glob("*.yaml")):
        counted = Counter(map(surface, loaded(path)))
        faults += [f"{path.name}: {form!r} {n} times" for form, n in counted.items() if n > 1 and form]
    return faults
