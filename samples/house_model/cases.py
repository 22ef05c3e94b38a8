"""Held-out questions: to characters whose names were never trained, and what counts as right."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import words as w
from corpus import ask_fact, ask_price, ask_self, ask_unknown, spoken
from names import HeldOut
from sheet import Character, a_character, sheet

KINDS = ("facts", "memories", "relationships", "quests", "rumours", "prices", "self")
KEYS = ["say", "emotion", "action", "target"]
# One of these stands in every answer that says that something is unknown.
UNKNOWN = (
    "not heard",
    "eans nothing",
    "not known",
    "told me nothing",
    "not know",
    "obody ever",
    "in any record",
    "not sell",
    "have no ",
    "gave you no task",
    "have nothing to sell",
    "do not remember",
    "not told me your name",
    "the one thing I do not",
)


@dataclass
class Case:
    """A question, and the strings of which a right answer holds one; none where the sheet is silent."""

    kind: str
    messages: list[dict[str, str]]
    right: list[str]
    schema: dict | None = None  # of the JSON that the sheet asks for
    told: list[str] = field(default_factory=list)  # all that the sheet lets the character tell


def shape_of(who: Character) -> dict:
    """The JSON schema of the character's answers."""
    actions = sorted({*who.actions, "none"}) if who.actions else list(w.ACTIONS)
    kinds = {
        "say": {"type": "string", "maxLength": 160},
        "emotion": {"enum": w.MOODS},
        "action": {"enum": actions},
        "target": {"type": "string", "maxLength": 48},
    }
    return {"type": "object", "properties": kinds, "required": KEYS, "additionalProperties": False}


def asked(kind: str, who: Character, rng: Random) -> tuple[str, list[str]] | None:
    """A question of `kind` and what is right; None where the sheet has nothing of it."""
    if kind == "unknown":
        return ask_unknown(who, rng)[0], []
    if kind in ("prices", "self"):
        if kind == "prices" and not who.prices:
            return None
        question, reply = (ask_price if kind == "prices" else ask_self)(who, rng)
        return (question, [reply.key]) if reply.key else None
    facts = who.facts[kind.capitalize()]
    if not facts:
        return None
    question, reply = ask_fact(who, rng, rng.choice(facts))
    every = [ask for held in who.facts.values() for fact in held for ask in fact.asks]
    return question, [reply.key, *(ask.key for ask in every if ask.question == question)]


def case(kind: str, rng: Random, *, as_json: bool = False) -> Case | None:
    """One question of `kind`; None where the character that was drawn has none."""
    who = a_character(rng, 1.0)
    who.keys, who.actions = (KEYS, who.actions) if as_json else ([], [])
    text = sheet(who, rng)
    made = asked(kind, who, rng)
    if not made:
        return None
    question, right = made
    messages = [{"role": "system", "content": text}, {"role": "user", "content": spoken(question, rng)}]
    told = [ask.core for held in who.facts.values() for fact in held for ask in fact.asks]
    return Case(kind, messages, right, shape_of(who) if as_json else None, told)


def cases(seed: int, kinds: tuple[str, ...], count: int, *, as_json: bool = False) -> list[Case]:
    """`count` questions, of each kind in turn."""
    rng = HeldOut(f"{seed}/{'/'.join(kinds)}/{as_json}")

    def endless() -> Iterator[Case]:
        while True:
            for kind in kinds:
                made = None
                while not made:
                    made = case(kind, rng, as_json=as_json)
                yield made

    return [made for made, _ in zip(endless(), range(count), strict=False)]


def holds(reply: str, right: list[str]) -> bool:
    """Whether the reply has one of the strings, whole and letter for letter but for capitals."""
    return any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", reply, re.IGNORECASE) for key in right)


def denies(reply: str) -> bool:
    """Whether the reply says that it does not know."""
    return any(phrase in reply for phrase in UNKNOWN)


def parsed(reply: str, schema: dict) -> dict | None:
    """The reply as the object that was asked for, or None."""
    try:
        said = json.loads(reply)
    except json.JSONDecodeError:
        return None
    good = isinstance(said, dict) and list(said) == schema["required"]
    return said if good and all(isinstance(value, str) for value in said.values()) else None


def allowed(said: dict, schema: dict) -> bool:
    """Whether the emotion and the action are among those that the sheet and FORMAT.md allow."""
    return all(said[key] in rule["enum"] for key, rule in schema["properties"].items() if "enum" in rule)


def distinct_2(replies: list[str]) -> float:
    """Different pairs of neighbouring words, as a share of all such pairs."""
    pairs = [
        pair
        for reply in replies
        for spoken_words in [re.findall(r"[\w'-]+", reply.lower())]
        for pair in pairwise(spoken_words)
    ]
    return len(set(pairs)) / max(1, len(pairs))
