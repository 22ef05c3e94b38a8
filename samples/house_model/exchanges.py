"""Reads the corpus of exchanges that people write, and checks it."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

import words as w
from manners import MANNERS

CORPUS = Path(__file__).with_name("corpus")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, ten times as fast, where it is
SLOTS = frozenset(
    re.findall(
        r"\w+",
        "name first role place town time weather visitor good a_good goods price twice "
        "good_2 a_good_2 goods_2 price_2 unsold a_unsold unsolds person bond stranger "
        "quest task reward rumour fact memory",
    )
)
STATES = ("open", "under way", "done", "none")
PARTS = frozenset(("rumours", "prices", "bonds", "visitor", "memories", "place", "time"))
KEYS = frozenset(("visitor", "before", "quest", "lacks", "needs", "feels", "does", *MANNERS))
MOST_WORDS = 34
OUTSIDE = re.compile(r"\b(AI|NPC|computer|program|language model)\b")


@dataclass(frozen=True)
class Exchange:
    """What a visitor says, and how one manner answers."""

    intent: str
    visitor: str
    before: tuple[tuple[str, str], ...]
    manner: str
    reply: str
    feels: str  # "": as before
    does: str
    quest: str  # the state that it is for; "": any
    lacks: tuple[str, ...]
    needs: tuple[str, ...]

    @cached_property
    def slots(self) -> frozenset[str]:
        """The slots that are to be filled."""
        texts = [self.visitor, self.reply, *(text for pair in self.before for text in pair)]
        return frozenset(name for text in texts for name in re.findall(r"{(\w+)}", text))

    @cached_property
    def answer_slots(self) -> frozenset[str]:
        """Those of the answer."""
        return frozenset(re.findall(r"{(\w+)}", self.reply))

    @cached_property
    def tells_name(self) -> bool:
        """Whether the visitor tells its name."""
        return any("{visitor}" in said for said in (self.visitor, *(said for said, _ in self.before)))


def chosen(value: object, manner: str, absent: str) -> str:
    """What `feels` or `does` says for a manner."""
    return str(value.get(manner, absent) if isinstance(value, dict) else value or absent)


def read(path: Path) -> Iterator[Exchange]:
    """The exchanges of a file."""
    file = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    for entry in file["exchanges"]:
        for manner in MANNERS:
            if manner in entry:
                yield Exchange(
                    intent=path.stem,
                    visitor=entry["visitor"],
                    before=tuple((said, reply) for said, reply in entry.get("before", [])),
                    manner=manner,
                    reply=entry[manner],
                    feels=chosen(entry.get("feels"), manner, file.get("feels", "")),
                    does=chosen(entry.get("does"), manner, file.get("does", "none")),
                    quest=entry.get("quest", ""),
                    lacks=tuple(entry.get("lacks", ())),
                    needs=tuple(entry.get("needs", ())),
                )


@cache
def exchanges() -> tuple[Exchange, ...]:
    """All of them."""
    return tuple(one for path in sorted(CORPUS.glob("*.yaml")) for one in read(path))


def words_of(text: str) -> list[str]:
    """Its words in lower case, each slot one."""
    return re.findall(r"{\w+}|[a-z']+", text.lower())


def faults_of_entry(entry: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the form of an entry."""
    if not isinstance(entry.get("visitor"), str):
        yield "has no visitor, or one that is no text"
    replies = [entry[manner] for manner in MANNERS if manner in entry]
    if len(replies) not in (2, 3):
        yield f"has {len(replies)} answers; 2 or 3 are wanted"
    if not all(isinstance(reply, str) for reply in replies):
        yield "has an answer that is no text"
    if unknown := set(entry) - KEYS:
        yield f"has unknown keys: {', '.join(map(str, unknown))}"
    if entry.get("quest", "open") not in STATES:
        yield f"has the quest state {entry['quest']!r}; there are {', '.join(STATES)}"
    for key in ("lacks", "needs"):
        if wrong := set(entry.get(key, ())) - PARTS:
            yield f"{key} {', '.join(wrong)}; there are {', '.join(sorted(PARTS))}"
    for turn in entry.get("before", ()):
        if not (isinstance(turn, list) and len(turn) == 2 and all(isinstance(text, str) for text in turn)):
            yield "has a turn before it that is no pair of texts"


def faults_of(one: Exchange) -> Iterator[str]:
    """What is wrong with an exchange."""
    if unknown := one.slots - SLOTS:
        yield f"has unknown slots: {', '.join(sorted(unknown))}"
    if one.feels and one.feels not in w.MOODS:
        yield f"feels {one.feels!r}"
    if one.does not in w.ACTIONS:
        yield f"does {one.does!r}"
    count = len(one.reply.split())
    if not 2 <= count <= MOST_WORDS:
        yield f"has an answer of {count} words"
    if re.search(r'[*"_\[\]()<>]|[^ -~]', re.sub(r"{\w+}", "", one.reply)):
        yield "has an answer with a stage direction, a quotation or a character that is not ASCII"
    if one.reply[-1:] not in ".!?":
        yield "has an answer without an end"
    if found := OUTSIDE.search(re.sub(r"{\w+}", "", one.reply)):
        yield f"has {found[0]!r} in an answer"
    if re.search(r"\b[Aa]n? {(good|good_2|unsold)}", " ".join((one.visitor, one.reply))):
        yield "puts an article before a ware; {a_good}, {a_good_2} and {a_unsold} have one"
    if one.quest == "none" and one.slots & {"quest", "task", "reward"}:
        yield "names a quest that the sheet does not have"
    told = re.search(r"\b\d+\b", one.reply)
    if told:
        yield f"has the number {told[0]} in an answer"


def check(paths: list[Path]) -> list[str]:
    """Every fault of some files, a line each."""
    faults: list[str] = []
    lines: dict[str, str] = {}
    replies: dict[str, str] = {}
    for path in paths:
        try:
            file = yaml.load(path.read_text(encoding="utf-8"), LOADER)
        except yaml.YAMLError as error:  # such as a text that begins with a slot and is not quoted
            faults.append(f"{path.name}: {' '.join(str(error).split())}")
            continue
        if not isinstance(file.get("about"), str):
            faults.append(f"{path.name}: has no about")
        broken = False
        for entry in file["exchanges"]:
            said = entry.get("visitor")
            for fault in faults_of_entry(entry):
                broken = True
                faults.append(f"{path.name}: {said!r} {fault}")
            if isinstance(said, str):
                same = str(
                    (words_of(said), *(entry.get(key, "") for key in ("before", "quest", "lacks", "needs")))
                )
                if same in lines and words_of(said):
                    faults.append(f"{path.name}: {said!r} stands in {lines[same]} too")
                lines[same] = path.name
        if broken:
            continue
        for one in read(path):
            faults += [f"{path.name}: {one.visitor!r} ({one.manner}) {fault}" for fault in faults_of(one)]
            same = " ".join(words_of(one.reply))
            if same in replies:
                faults.append(f"{path.name}: the answer {one.reply!r} stands in {replies[same]} too")
            replies[same] = path.name
        faults += repeated(path)
    return faults


def repeated(path: Path) -> Iterator[str]:
    """Beginnings and ends that a file uses too often."""
    replies = [one.reply for one in read(path)]
    most = max(4, len(replies) // 12)
    for what, cut in (("begin", slice(3)), ("end", slice(-3, None))):
        counted = Counter(" ".join(words_of(reply)[cut]) for reply in replies)
        for text, count in counted.items():
            if count > most:
                yield f"{path.name}: {count} of {len(replies)} answers {what} with {text!r}"


def main() -> int:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="only these (all)")
    paths = parser.parse_args().files or sorted(CORPUS.glob("*.yaml"))
    faults = check(paths)
    print("\n".join(faults), file=sys.stderr)
    if not faults:
        counted = Counter(one.intent for path in paths for one in read(path))
        manners = Counter(one.manner for path in paths for one in read(path))
        print(
            f"{sum(counted.values())} exchanges of {len(counted)} intents: {dict(counted)}; {dict(manners)}"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
