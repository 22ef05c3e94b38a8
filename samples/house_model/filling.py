"""Fills the slots of exchanges from a character's sheet."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

import words as w
from exchanges import Exchange
from names import a_good, a_person, lower, upper, with_article
from sheet import Character, Reply
from wares import twice, ware


@dataclass(frozen=True)
class Said:
    """A filled exchange: the turns of both, the last of them the one that is taught."""

    turns: tuple[tuple[str, str], ...]
    reply: Reply


def slots_of(who: Character, rng: Random) -> dict[str, str]:
    """What a character's sheet has for slots, and what it surely lacks."""
    slots: dict[str, str] = {}
    if "Name" in who.extra:
        slots |= {"name": who.name, "first": first_of(who.name)}
    if "Role" in who.extra:
        slots["role"] = who.role
    if "Place" in who.extra:
        slots["place"] = who.place
        if who.names_town:
            slots["town"] = who.town
    if "Time" in who.extra:
        slots["time"] = who.time
        if who.weather:
            slots["weather"] = who.weather
    if who.visitor:
        slots["visitor"] = who.visitor
    slots |= wares_of(who, rng)
    held = {title: rng.choice(facts) for title, facts in who.facts.items() if facts}
    if bond := held.get("Relationships"):
        slots |= {"person": bond.values["p"], "bond": bond.values["kin"]}
    if quest := quest_of(who):
        slots |= {"quest": quest["title"], "task": quest["task"], "reward": quest["reward"]}
    for title, name in (("Rumours", "rumour"), ("Facts", "fact")):
        if fact := held.get(title):
            slots[name] = lower(fact.line)
    if memory := held.get("Memories"):
        told = memory.filled(memory.form.asks[0].answers[0])  # to the visitor
        slots["memory"] = told if told.startswith("I ") else told[:1].lower() + told[1:]
    stranger = a_person(rng)
    while any(stranger in fact.line for facts in who.facts.values() for fact in facts):
        stranger = a_person(rng)
    return {**slots, "stranger": stranger}


def first_of(name: str) -> str:
    """The first name: of "Old Wren" and "Wren Brightwater", "Wren"."""
    parts = name.split(" ")
    return parts[-1] if parts[0] in w.TITLES else parts[0]


def quest_of(who: Character) -> dict[str, str] | None:
    """The title, the state, the task and the reward of a character's quest; None without one."""
    return who.facts["Quests"][0].values if who.facts["Quests"] else None


def state_of(who: Character) -> str:
    """The state of its quest, or "none"."""
    quest = quest_of(who)
    return quest["state"] if quest else "none"


def wares_of(who: Character, rng: Random) -> dict[str, str]:
    """One or two wares that it sells, and one that it does not."""
    slots = {}
    listed = rng.sample(list(who.prices), min(2, len(who.prices)))
    for line, suffix in zip(listed, ("", "_2"), strict=False):
        sold, price = ware(line), who.prices[line]
        slots |= {f"good{suffix}": sold.bare, f"a_good{suffix}": sold.one, f"goods{suffix}": sold.many}
        slots |= {f"price{suffix}": price} | ({"twice": twice(price)} if not suffix else {})
    unsold = a_good(rng)
    while unsold in who.prices:
        unsold = a_good(rng)
    absent = ware(unsold)
    return {**slots, "unsold": absent.bare, "a_unsold": absent.one, "unsolds": absent.many}


def fits(one: Exchange, who: Character, slots: dict[str, str]) -> bool:
    """Whether the sheet has what an exchange needs, and lacks what it must lack."""
    if one.manner != who.manner or (one.quest and one.quest != state_of(who)):
        return False
    if (one.tells_name and "visitor" in slots) or one.slots - slots.keys() - {"visitor"}:
        return False
    if "visitor" in one.slots and not (one.tells_name or "visitor" in slots):
        return False
    return keeps(one.needs, one.lacks, slots)


def suits(dialogue: dict[str, Any], who: Character, slots: dict[str, str]) -> bool:
    """Whether the sheet has what a dialogue needs, and lacks what it must lack."""
    if dialogue["manner"] != who.manner or dialogue.get("quest", state_of(who)) != state_of(who):
        return False
    said, replies = (" ".join(turn[side] for turn in dialogue["turns"]) for side in (0, 1))
    names = frozenset(re.findall(r"{(\w+)}", said + replies))
    if names - slots.keys() - {"visitor"} or ("{visitor}" in said and "visitor" in slots):
        return False
    if "visitor" in names and "{visitor}" not in said and "visitor" not in slots:
        return False
    return keeps(dialogue.get("needs", ()), dialogue.get("lacks", ()), slots)


def keeps(needs: Iterable[str], lacks: Iterable[str], slots: dict[str, str]) -> bool:
    """Whether a sheet has these parts and lacks those."""
    has = {
        "rumours": "rumour" in slots,
        "prices": "good" in slots,
        "bonds": "person" in slots,
        "visitor": "visitor" in slots,
        "memories": "memory" in slots,
        "place": "place" in slots,
        "time": "time" in slots,
    }
    return all(has[part] for part in needs) and not any(has[part] for part in lacks)


def filled(text: str, slots: dict[str, str]) -> str:
    """The text with its slots filled, each sentence of it begun with a capital where a slot begins it."""
    begins = {match.end() for match in re.finditer(r"(?:^|[.!?] +)(?={)", text)}

    def value(match: re.Match[str]) -> str:
        article, slot = match[1] or "", slots[match[2]]
        if article:
            return article[0] + with_article(slot)[1:]
        return upper(slot) if match.start() in begins else slot

    return re.sub(r"(\b[Aa]n? )?{(\w+)}", value, text)


def fill(one: Exchange, who: Character, slots: dict[str, str], visitor: str) -> Said:
    """The exchange as it is said. `visitor`: the name that the visitor tells, if it tells one."""
    slots = {"visitor": visitor, **slots}
    turns = tuple((filled(said, slots), filled(reply, slots)) for said, reply in one.before)
    mood = one.feels or who.mood
    key = next((slots[name] for name in re.findall(r"{(\w+)}", one.reply)), "")
    target = "visitor" if one.does in ("bow", "wave", "nod", "give", "offer") else ""
    reply = Reply(filled(one.reply, slots), one.does, target, mood, key)
    return Said((*turns, (filled(one.visitor, slots), reply.say)), reply)
