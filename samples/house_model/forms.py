"""Reads the written dialogues and the forms of questions about facts, and checks them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import words as w
from exchanges import CORPUS, LOADER, SLOTS, STATES
from manners import MANNERS

DIALOGUES, FORMS = CORPUS / "dialogues", CORPUS / "forms"


@dataclass(frozen=True)
class Asking:
    """Questions that one part of a line answers. `key` is what the answer cannot do without."""

    key: str
    about: str
    answers: tuple[str, ...]  # none where exchanges have them
    questions: tuple[str, ...]
    held: tuple[str, ...]  # kept for the test

    @property
    def confirms(self) -> bool:
        """Whether the questions name the key themselves, for a yes or a no."""
        return self.about.startswith("yes:")


@dataclass(frozen=True)
class Form:
    """A line of a sheet with holes, and what may be asked about it."""

    name: str
    line: str
    topic: str
    action: str
    asks: tuple[Asking, ...]


@cache
def forms() -> dict[str, Form]:
    """All of them by name."""
    made = {}
    for path in sorted(FORMS.glob("*.yaml")):
        file = loaded(path)
        asks = tuple(
            Asking(
                one["key"],
                one["asked"],
                tuple(one.get("answers", ())),
                tuple(one["questions"]),
                tuple(one["held"]),
            )
            for one in file["asks"]
        )
        made[path.stem] = Form(path.stem, file["line"], file["topic"], file["does"], asks)
    return made


def holes(text: str) -> set[str]:
    """The slots or holes of a text."""
    return set(re.findall(r"{(\w+)}", text))


def told(text: str) -> set[str]:
    """The same; one with an article tells what one without does."""
    return {hole.removeprefix("a_") for hole in holes(text)}


def faults_of_dialogue(one: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a dialogue."""
    if one.get("manner") not in MANNERS:
        yield f"has the manner {one.get('manner')!r}"
    if one.get("quest", "open") not in STATES:
        yield f"has the quest state {one['quest']!r}"
    if not 3 <= len(one["turns"]) <= 13:
        yield f"has {len(one['turns'])} turns"
    for turn in one["turns"]:
        if len(turn) not in (2, 3, 4) or not all(isinstance(part, str) for part in turn):
            yield f"has the turn {turn!r}"
            continue
        if unknown := holes(turn[0] + turn[1]) - SLOTS:
            yield f"has unknown slots: {', '.join(sorted(unknown))}"
        feels, does = (*turn[2:], *("calm", "none")[len(turn) - 2 :])
        if feels not in w.MOODS or does not in w.ACTIONS:
            yield f"feels {feels!r} and does {does!r}"


def faults_of_forms(file: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the forms of one fact."""
    seen: set[str] = set()
    for ask in file["asks"]:
        for answer in ask.get("answers", ()):
            if not told(ask.get("key", "")) <= told(answer):
                yield f"has an answer without its key: {answer!r}"
        for kind in ("questions", "held"):
            if not ask.get(kind):
                yield f"has no {kind} about {ask.get('asked')!r}"
            for question in ask.get(kind, ()):
                if question in seen:
                    yield f"asks {question!r} twice"
                seen.add(question)


def surface(question: str) -> str:
    """A question's form: its words in lower case, whatever is asked about."""
    return " ".join(re.findall(r"{}|[a-z0-9']+", re.sub(r"{\w+}", "{}", question.lower())))


@cache
def kept_surfaces() -> frozenset[str]:
    """The forms of all questions that are kept for the test."""
    return frozenset(surface(q) for form in forms().values() for ask in form.asks for q in ask.held)


def trained_though_held() -> list[str]:
    """Questions that are kept for the test, and whose form some file trains."""
    asks = [(path.name, ask) for path in sorted(FORMS.glob("*.yaml")) for ask in loaded(path)["asks"]]
    trained = {surface(question) for _, ask in asks for question in ask["questions"]}
    return [
        f"{name}: {question!r} is held, and trained elsewhere"
        for name, ask in asks
        for question in ask["held"]
        if surface(question) in trained
    ]


def loaded(path: Path) -> dict[str, Any]:
    """The content of a file."""
    return yaml.load(path.read_text(encoding="utf-8"), LOADER)


def check_folder(folder: Path) -> list[str]:
    """Every fault of the dialogues or of the forms, a line each."""
    faults = []
    for path in sorted(folder.glob("*.yaml")):
        file = loaded(path)
        if folder == FORMS:
            found = list(faults_of_forms(file))
        else:
            found = [fault for one in file["dialogues"] for fault in faults_of_dialogue(one)]
        faults += [f"{path.name}: {fault}" for fault in found]
    return faults + (trained_though_held() if folder == FORMS else [])
