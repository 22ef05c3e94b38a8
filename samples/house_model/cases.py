"""Held-out cases: forms, lines and names that were never trained, and what counts as right."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from random import Random

import words as w
from asking import Asked, ask_again, ask_known, ask_unknown, facts_of
from exchanges import exchanges, words_of
from facts import Fact, a_quest
from filling import Said, fill, filled, fits, slots_of, suits
from forms import forms, surface
from lines import intents
from names import HeldOut, a_name
from sheet import Character, a_character, prose, sheet
from split import dialogues, is_held, written

KEYS = ["say", "emotion", "action", "target"]
# A line that asks for what was said, so that a right answer has to repeat some of it.
ASKS = re.compile(
    r"\b(?:again|repeat\w*|remind|remember|did i (?:just )?(?:say|tell|call|ask)|"
    r"(?:i|you|we) (?:just )?(?:said|told|say|mentioned|mean|talk\w*)|"
    r"did (?:you|we) (?:just )?(?:say|mean|talk)|do you (?:mean|say)|you were saying|"
    r"was (?:that|it|my|the)|which (?:one|of)|what (?:did|was|were))\b",
    re.IGNORECASE,
)
LEAST = 0.12  # the share of an intent's answers that a mood or an action needs to be accepted


@dataclass
class Case:
    """Messages whose last is the visitor's, and what a right answer has."""

    kind: str
    messages: list[dict]
    right: list[str] = field(default_factory=list)  # strings of which the answer holds one
    intent: str = ""
    known: str = ""  # all that the character may speak of
    schema: dict | None = None  # of the JSON that the sheet asks for
    moods: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    written: str = ""  # what the corpus answers


@cache
def trained_surfaces() -> frozenset[str]:
    """Every visitor's line that is trained, as its form."""
    taught = [one for one in exchanges() if not is_held(one.visitor, one.intent)]
    lines = {surface(said) for one in taught for said in (one.visitor, *(said for said, _ in one.before))}
    lines |= {surface(turn[0]) for one in dialogues() for turn in one["turns"]}
    lines |= {surface(line) for one in intents().values() for line in one.lines}
    return frozenset(
        lines | {surface(q) for form in forms().values() for ask in form.asks for q in ask.questions}
    )


def somebody(rng: Random, *, in_prose: bool = False, as_json: bool = False) -> tuple[Character, str]:
    """A character that was never trained, and its system message."""
    who = a_character(rng, 1.0)
    who.keys, who.actions = (KEYS, who.actions) if as_json else ([], [])
    return who, prose(who, rng) if in_prose else sheet(who, rng)


def case_of(kind: str, who: Character, system: str, turns: list[tuple[str, str]], line: str, **more) -> Case:
    """A case after some turns."""
    messages = [{"role": "system", "content": system}]
    for visitor, reply in turns:
        messages += [{"role": "user", "content": visitor}, {"role": "assistant", "content": reply}]
    messages.append({"role": "user", "content": line})
    known = " ".join(message["content"] for message in messages)
    return Case(kind, messages, known=known, **more)


def recall(rng: Random, kind: str, *, in_prose: bool = False) -> Case | None:
    """A fact that the sheet tells, asked for in a kept form."""
    who, system = somebody(rng, in_prose=in_prose)
    facts = facts_of(who)
    if not facts[kind]:
        return None
    asked = ask_known(rng.choice(facts[kind]), rng, held=True)
    return case_of(kind, who, system, [], asked.question, right=rights(asked, facts))


def rights(asked: Asked, facts: dict[str, list[Fact]]) -> list[str]:
    """The key, and those of other lines that the same words ask for."""
    keys = [asked.key]
    for fact in (fact for kind in facts.values() for fact in kind):
        for asking in fact.form.asks:
            same = asking.answers and any(fact.filled(held) == asked.question for held in asking.held)
            general = "general" in asking.about and fact.topic in asked.question
            if same or general:
                keys.append(fact.filled(asking.key))
    return keys


def silent(rng: Random) -> Case:
    """Something that the sheet does not tell, asked for in a kept form."""
    who, system = somebody(rng, in_prose=rng.random() < 0.25)
    asked = ask_unknown(who, rng, held=True)
    return case_of("unknown", who, system, [], asked.question)


def quest_case(rng: Random, name: str, state: str) -> Case | None:
    """A question whose answer the state of the quest decides."""
    who, system = somebody(rng)
    quest = a_quest(rng)
    who.facts["Quests"] = [Fact(quest.form, {**quest.values, "state": state})] if state != "none" else []
    system = prose(who, rng) if rng.random() < 0.25 else sheet(who, rng)
    line = rng.choice(forms()[name].asks[0].held)
    values = quest.values if state != "none" else {}
    right = [values[part] for part in ("task", "reward") if values]
    return case_of(f"{name}/{state}", who, system, [], line, right=right, intent=state)


def small_turns(who: Character, rng: Random, count: int) -> list[str]:
    """Lines of small talk that were never trained."""
    pool = [one for ones in written(who.manner, held=True).values() for one in ones]
    plain = [one.visitor for one in pool if not one.before and not one.slots and not one.quest]
    return rng.sample(sorted(set(plain)), count)


def name_case(rng: Random) -> tuple[Case, list[str]]:
    """The visitor tells its name; after some lines, which are to be answered first, it asks for it."""
    while True:
        who, _ = somebody(rng)
        if not who.visitor and not any(fact.form.name == "memory_called" for fact in who.facts["Memories"]):
            break
    system, name = sheet(who, rng), a_name(rng)
    told = rng.choice(w.NAMES_TOLD_HELD).format(v=name)
    asking = rng.choice(forms()["visitor"].asks[:2])
    lines = [told, *small_turns(who, rng, rng.randint(0, 9))]
    made = case_of("name", who, system, [], rng.choice(asking.held), right=[name])
    made.known += " " + " ".join(lines)
    return made, lines


def follow_ups(rng: Random, count: int) -> list[Case]:
    """Lines that only earlier turns make clear: of kept dialogues, of kept exchanges, and with pronouns."""
    made = [*dialogue_cases(rng), *before_cases(rng, count)]
    rng.shuffle(made)
    made = made[: count // 2]
    while len(made) < count:
        who, system = somebody(rng)
        facts = who.facts["Facts"]
        if not facts:
            continue
        fact = rng.choice(facts)
        first, asked = ask_known(fact, rng, held=True), ask_again(fact, rng, held=True)
        if asked:
            turns = [(first.question, f"{first.core}.")]
            right = rights(asked, {"facts": [f for f in facts if f.topic == fact.topic]})
            made.append(case_of("pronoun", who, system, turns, asked.question, right=right))
    return made


def referred(line: str, reply: str, earlier: str, system: str) -> list[str]:
    """Returns words that a reply takes from earlier turns alone, without those of most replies."""
    seen = {*words_of(line), *words_of(system)}
    before = {*words_of(earlier)} - common_words()
    return [word for word in words_of(reply) if word in before and word not in seen and len(word) > 3]


@cache
def common_words() -> frozenset[str]:
    """Words of more than one answer in eighty of the corpus."""
    counts: dict[str, int] = defaultdict(int)
    every = exchanges()
    for one in every:
        for word in set(words_of(one.reply)):
            counts[word] += 1
    return frozenset(word for word, count in counts.items() if count > len(every) / 80)


def dialogue_cases(rng: Random) -> Iterator[Case]:
    """Turns of kept dialogues whose written reply takes up what was said."""
    for one in dialogues(held=True):
        for _ in range(200):
            who, _ = somebody(rng)
            who.manner = one["manner"]
            system = sheet(who, rng)
            slots = slots_of(who, rng)
            if suits(one, who, slots):
                break
        else:
            continue
        slots = {"visitor": a_name(rng), **slots}
        turns = [(filled(turn[0], slots), filled(turn[1], slots)) for turn in one["turns"]]
        for at in range(1, len(turns)):
            earlier = " ".join(text for turn in turns[:at] for text in turn)
            if ASKS.search(turns[at][0]) and (right := referred(*turns[at], earlier, system)):
                yield case_of(
                    "dialogue", who, system, turns[:at], turns[at][0], right=right, written=turns[at][1]
                )


def before_cases(rng: Random, count: int) -> Iterator[Case]:
    """Kept exchanges that come after others, whose written reply takes up what was said."""
    found = 0
    while found < count:
        who, system = somebody(rng)
        slots = slots_of(who, rng)
        able = [
            one
            for ones in written(who.manner, held=True).values()
            for one in ones
            if one.before and fits(one, who, slots)
        ]
        if not able:
            continue
        said: Said = fill(rng.choice(able), who, slots, a_name(rng))
        earlier = " ".join(text for turn in said.turns[:-1] for text in turn)
        if ASKS.search(said.turns[-1][0]) and (right := referred(*said.turns[-1], earlier, "")):
            found += 1
            yield case_of(
                "before",
                who,
                system,
                list(said.turns[:-1]),
                said.turns[-1][0],
                right=right,
                written=said.reply.say,
            )


def intent_case(rng: Random, intent: str, *, as_json: bool = False) -> Case | None:
    """A kept line of an intent, to a character whose sheet it fits."""
    for _ in range(60):
        who, system = somebody(rng, as_json=as_json, in_prose=not as_json and rng.random() < 0.25)
        slots = slots_of(who, rng)
        able = [one for one in written(who.manner, held=True).get(intent, ()) if fits(one, who, slots)]
        able = [one for one in able if surface(one.visitor) not in trained_surfaces()]
        if able:
            one = rng.choice(able)
            said = fill(one, who, slots, a_name(rng))
            turns = list(said.turns[:-1])
            return case_of(
                "intent", who, system, turns, said.turns[-1][0], intent=intent, written=said.reply.say
            )
    return None


@cache
def accepted(intent: str, manner: str = "") -> tuple[frozenset[str], frozenset[str]]:
    """The moods and the actions that the corpus gives answers of an intent.

    Each in a good share of them, or in at least two of the manner. No mood is where the sheet's own is kept.
    """
    ones = [one for one in exchanges() if one.intent == intent]
    own = [one for one in ones if one.manner == manner]

    def common(values: list[str], by_manner: list[str]) -> frozenset[str]:
        wide = {value for value in set(values) if values.count(value) >= LEAST * len(values)}
        return frozenset(wide | {value for value in set(by_manner) if by_manner.count(value) >= 2})

    return (
        common([one.feels for one in ones], [one.feels for one in own]),
        common([one.does for one in ones], [one.does for one in own]),
    )


def decisions() -> list[str]:
    """The intents whose answers show a mood that the sheet does not decide."""
    return sorted(
        {one.intent for one in exchanges() if accepted(one.intent)[0] and "" not in accepted(one.intent)[0]}
    )


def decision_case(rng: Random, intent: str) -> Case | None:
    """A line that moves the character, who answers in JSON."""
    made = intent_case(rng, intent, as_json=True)
    if not made:
        return None
    lines = dict(re.findall(r"^(Actions|Manner|Mood): (.*)$", made.messages[0]["content"], re.MULTILINE))
    allowed = {*lines["Actions"].split(", "), "none"} if "Actions" in lines else set(w.ACTIONS)
    moods, actions = accepted(intent, lines["Manner"])
    made.moods = moods - {""} | ({lines["Mood"]} if "" in moods else set())
    made.actions = (actions & allowed) or frozenset(("none",))
    made.schema = schema_of(sorted(allowed))
    return made


def schema_of(actions: list[str]) -> dict:
    """The JSON schema of the character's answers."""
    kinds = {
        "say": {"type": "string", "maxLength": 200},
        "emotion": {"enum": w.MOODS},
        "action": {"enum": actions},
        "target": {"type": "string", "maxLength": 48},
    }
    return {"type": "object", "properties": kinds, "required": KEYS, "additionalProperties": False}


def drawn(seed: str, make, count: int) -> list:
    """`count` cases that `make` draws."""
    rng, made = HeldOut(seed), []
    while len(made) < count:
        if one := make(rng):
            made.append(one)
    return made
