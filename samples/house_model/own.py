"""Reads a game's own lines, checks them, and composes conversations of them."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import yaml

from asking import Asked, ask_unknown
from exchanges import SLOTS, STATES, Exchange
from exchanges import faults_of as faults_of_exchange
from filling import filled, state_of, suits
from forms import holes, surface
from lines import intents
from names import lower, upper
from sheet import Character, Reply, a_character, prose, sheet
from turns import MOVE_QUESTS, Talk, trained_lines

FORMS = "`system` with `turns`, `turns`, `intent` with `answers`, or `tells` with `lacks` and `respell`"
KEYS = (
    {"system", "turns"},
    {"turns", "quest"},
    {"intent", "answers"},
    {"tells", "lacks", "respell"},
)


@dataclass
class Own:
    """What a game wrote: conversations of its characters, and what any character may say."""

    talks: list[dict[str, Any]] = field(default_factory=list)  # `messages` and `tools`
    parts: list[dict[str, Any]] = field(default_factory=list)  # `turns` with slots, and perhaps `quest`
    answers: dict[str, list[str]] = field(default_factory=dict)  # by intent, with slots
    tells: list[str] = field(default_factory=lambda: ["{x}."])  # {x}: the bare answer of a form
    lacks: list[str] = field(default_factory=lambda: ["{x}."])  # the same where the sheet is silent
    respell: dict[str, str] = field(default_factory=dict)  # words of bare answers

    def conversation(self, rng: Random) -> dict[str, Any]:
        """Draws a written conversation, or composes one for a drawn character."""
        if self.talks and (not (self.parts or self.answers) or rng.random() < 0.3):
            return rng.choice(self.talks)
        who = a_character(rng, 0.5)
        who.keys, who.actions = [], []
        talk = OwnTalk(self, who, prose(who, rng) if rng.random() < 0.3 else sheet(who, rng), rng)
        steps = {
            talk.part: 6 * bool(self.parts),
            talk.line: 8 * bool(self.answers),
            talk.known: 8,
            talk.unknown: 3,
        }
        count = rng.randint(4, 8)
        for _ in range(5 * count):
            rng.choices(list(steps), list(steps.values()))[0]()
            if len(talk.messages) > 2 * count:
                break
        return {"messages": talk.messages, "tools": []}


class OwnTalk(Talk):
    """A conversation with a drawn character that answers as a game's own lines do."""

    def __init__(self, own: Own, who: Character, system: str, rng: Random) -> None:
        super().__init__(who, system, rng)
        self.own = own

    def answer(self, asked: Asked) -> None:
        """Adds a question and its bare answer, put as the lines put it."""
        if surface(asked.question) in self.asked:
            return
        core = re.sub(r"^(Yes|No|Indeed|That)\b", lambda m: m[0].lower(), lower(asked.core))
        form = self.rng.choice(self.own.tells if asked.key else self.own.lacks)
        text = upper(form.replace("{x}", self.respelt(core, asked.key)))
        self.say(asked.question, Reply(text, asked.action, asked.target, self.who.mood, asked.key))

    def respelt(self, core: str, key: str) -> str:
        """The bare answer with its words respelt, but for those that stand in the sheet."""
        words = "|".join(map(re.escape, self.own.respell))
        parts = re.split(f"({re.escape(key)})", core, flags=re.I) if key else [core]
        if words:
            for at in range(0, len(parts), 2):
                parts[at] = re.sub(rf"\b({words})\b", lambda m: self.own.respell[m[1]], parts[at])
        return "".join(parts)

    def unknown(self) -> None:
        """Asks for something that the sheet does not tell."""
        while (asked := ask_unknown(self.who, self.rng)).is_said:
            pass
        self.answer(asked)

    def part(self) -> None:
        """Plays written turns."""
        able = [
            one
            for one in self.own.parts
            if suits({"manner": self.who.manner, **one}, self.who, self.slots)
            and surface(one["turns"][0][0]) not in self.asked
            and not ("quest" in one and self.is_settled)
        ]
        if able:
            self.dialogue(self.rng.choice(able))

    def line(self) -> None:
        """Says a line of the corpus, and one of the answers that fit any line of its intent."""
        state = state_of(self.who)
        able = [name for name in self.own.answers if intents()[name].quest in ("", state)]
        if self.is_settled:
            able = [name for name in able if not intents()[name].quest]
        name = self.rng.choice(able or list(self.own.answers))
        line, text = self.rng.choice(trained_lines(name)), self.rng.choice(self.own.answers[name])
        if not able or surface(line) in self.asked or (holes(line) | holes(text)) - self.slots.keys():
            return
        self.is_settled |= name in MOVE_QUESTS
        key = next((self.slots[slot] for slot in re.findall(r"{(\w+)}", text)), "")
        reply = Reply(filled(text, self.slots), "none", "", self.who.mood, key)
        self.say(filled(line, self.slots), reply)


def faults_of(entry: object) -> Iterator[str]:
    """What is wrong with an entry of the file."""
    if not isinstance(entry, dict) or not any(entry and entry.keys() <= keys for keys in KEYS):
        yield f"expected {FORMS}"
        return
    turns = entry.get("turns", [])
    if not (
        isinstance(turns, list)
        and all(
            isinstance(turn, list) and len(turn) == 2 and all(isinstance(text, str) for text in turn)
            for turn in turns
        )
        and (turns or not entry.keys() & {"system", "quest", "turns"})
        and isinstance(entry.get("system", ""), str)
    ):
        yield "expected `system`, a text, and `turns`, a list of [visitor, character] pairs of texts"
        return
    for key in ("answers", "tells", "lacks"):
        if not texts(entry.get(key, [""])):
            yield f"expected `{key}`, a list of texts"
            return
    if "intent" in entry and (entry["intent"] not in intents() or "answers" not in entry):
        yield f"invalid intent {entry['intent']!r}: expected a file of corpus/lines, and `answers`"
    if entry.get("quest", "open") not in STATES:
        yield f"invalid quest {entry['quest']!r}: expected one of {', '.join(STATES)}"
    written = [*(text for turn in turns for text in turn), *entry.get("answers", [])]
    if "system" not in entry and (unknown := holes(" ".join(written)) - SLOTS):
        yield f"unknown slots {', '.join(sorted(unknown))}: expected those of corpus/README.md"
    for text in (*entry.get("tells", []), *entry.get("lacks", [])):
        if holes(text) != {"x"}:
            yield f"invalid text {text!r}: expected one {{x}}, the bare answer"


def texts(value: object) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)


def exchanges_of(own: Own) -> Iterator[Exchange]:
    """Every exchange of any character; one of an intent has its name for the visitor's line."""
    pairs = [(part.get("quest", ""), *turn) for part in own.parts for turn in part["turns"]]
    pairs += [(intents()[name].quest, name, text) for name, ones in own.answers.items() for text in ones]
    for quest, visitor, reply in pairs:
        yield Exchange("", visitor, (), "", reply, "", "none", quest, (), ())


def check(own: Own) -> list[str]:
    """Every answer that breaks a rule of the corpus, or stands in the file twice, a line each."""
    faults = [f"{one.reply!r} {fault}" for one in exchanges_of(own) for fault in faults_of_exchange(one)]
    replies = [message["content"] for talk in own.talks for message in talk["messages"][2::2]]
    counted = Counter(surface(reply) for reply in (*replies, *(one.reply for one in exchanges_of(own))))
    return faults + [f"{reply!r} stands there {count} times" for reply, count in counted.items() if count > 1]


def own_lines(path: Path) -> Own:
    """A game's own lines: a YAML list, whose forms README.md describes.

    Raises `ValueError` that names the entry whose form is another.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:  # such as a line with a colon or a question mark that is not quoted
        raise ValueError(f"{path}: {' '.join(str(error).split())}; put texts between quotes") from None
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path}: expected a list of conversations, each with `system` and `turns`")
    own = Own()
    for at, entry in enumerate(entries, 1):
        for fault in faults_of(entry):
            raise ValueError(f"{path}: entry {at}: {fault}; got {entry!r:.120}")
        if "system" in entry:
            own.talks.append({"messages": messages_of(entry), "tools": []})
        elif "turns" in entry:
            own.parts.append(entry)
        elif "intent" in entry:
            own.answers[entry["intent"]] = entry["answers"]
        else:
            vars(own).update(entry)
    return own


def messages_of(entry: dict[str, Any]) -> list[dict[str, str]]:
    """The messages of a written conversation."""
    messages = [{"role": "system", "content": entry["system"]}]
    for visitor, character in entry["turns"]:
        messages += [
            {"role": "user", "content": visitor},
            {"role": "assistant", "content": character},
        ]
    return messages


def main() -> int:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    try:
        own = own_lines(parser.parse_args().file)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    faults = check(own)
    print("\n".join(faults), file=sys.stderr)
    turns = sum(len(talk["messages"]) // 2 for talk in own.talks)
    shared = len(list(exchanges_of(own)))
    print(f"{turns} exchanges of written characters, {shared} of any character, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
