"""Draws a character and writes its sheet in the form that FORMAT.md fixes."""

from dataclasses import dataclass, field
from random import Random

import words as w
from facts import Fact, a_bond, a_fact, a_memory, a_quest, a_rumour
from manners import MANNERS
from names import a_good, a_house, a_name, a_person, a_price, a_town, lower, upper

# Beginnings that do not run on from an opening such as "I am told that".
ALONE = (
    "They say",
    "People say",
    "The talk is",
    "I ",
    "My ",
    "You ",
    "you ",
    "that I ",
    "Well met",
    "Then ",
    "Look for",
)


@dataclass
class Character:
    """Who answers: what the sheet says and how it is asked to answer."""

    name: str
    role: str
    manner: str
    place: str
    town: str
    mood: str
    time: str
    visitor: str
    facts: dict[str, list[Fact]]
    prices: dict[str, str]
    actions: list[str]
    keys: list[str]  # of the JSON answer; none for plain speech
    weather: str = ""  # as the sheet has it, where it has a time
    names_town: bool = False  # whether the sheet's place has it
    extra: list[str] = field(default_factory=list)
    lately: list[str] = field(default_factory=list)  # phrases used
    around: list[str] = field(default_factory=list)  # what stands around the bare answer that was given last

    def call(self, rng: Random) -> str:
        """What the character calls the visitor."""
        return (
            self.visitor if self.visitor and rng.random() < 0.5 else rng.choice(MANNERS[self.manner]["call"])
        )

    def phrase(self, kind: str, rng: Random, x: str = "") -> str:
        """One of its manner's phrases, but none of the last few."""
        phrases = MANNERS[self.manner][kind]
        phrase = rng.choice([p for p in phrases if p not in self.lately[-6:]] or phrases)
        self.lately.append(phrase)
        return upper(phrase.format(v=self.call(rng), x=x))


@dataclass
class Reply:
    """What the character says and does."""

    say: str
    action: str
    target: str
    emotion: str
    key: str = ""  # the words of `say` that stand in the sheet and nowhere else


def a_character(rng: Random, size: float) -> Character:
    """Draws a character. `size` scales how much its sheet holds."""

    def some(make, most: int, chance: float) -> list[Fact]:
        count = rng.randint(1, max(1, round(most * size))) if rng.random() < chance else 0
        return [make(rng) for _ in range(count)]

    people: list[str] = []

    def again(make) -> Fact:
        """Tells of somebody new, or of somebody who was named before, but nothing of one person twice."""
        known = {"p": rng.choice(people)} if people and rng.random() < 0.4 else {}
        fact = make(rng, **known)
        if known and (fact.form.name, known["p"]) in told:
            fact = make(rng)
        told.add((fact.form.name, fact.values["p"]))
        if fact.topic[0].isupper():
            people.append(fact.topic)
        return fact

    told: set[tuple[str, str]] = set()
    facts = {
        "Relationships": some(lambda _: again(a_bond), 3, 0.55),
        "Quests": some(a_quest, 1, 0.55)[:1],
        "Rumours": some(lambda _: again(a_rumour), 2, 0.4),
        "Facts": some(lambda _: again(a_fact), 6, 0.9),
        "Memories": list({memory.form.name: memory for memory in some(a_memory, 2, 0.45)}.values()),
    }
    wares = rng.randint(1, max(2, round(5 * size))) if rng.random() < 0.6 else 0
    prices = {a_good(rng): a_price(rng) for _ in range(wares)}
    keys = []
    if rng.random() < 0.38:
        keys = ["say", "emotion", "action", "target"]
        if rng.random() < 0.15:
            keys = [key for key in keys if key == "say" or rng.random() < 0.5]
    actions = rng.sample(w.ACTIONS, rng.randint(4, 9)) if rng.random() < (0.6 if keys else 0.05) else []
    named = any(fact.form.name == "memory_called" for fact in facts["Memories"])
    return Character(
        name=a_person(rng),
        role=rng.choice(w.ROLES),
        manner=rng.choice(list(MANNERS)),
        place=a_house(rng),
        town=a_town(rng),
        mood=rng.choice(w.MOODS),
        time=rng.choice(["morning", "noon", "afternoon", "evening", "night", "midnight", "dawn", "dusk"]),
        visitor=a_name(rng) if rng.random() < 0.25 and not named else "",
        facts=facts,
        prices=prices,
        actions=actions,
        keys=keys,
    )


def sheet(who: Character, rng: Random) -> str:
    """The system message, in the form that FORMAT.md fixes."""
    who.weather = rng.choice(["", *w.WEATHERS])
    who.names_town = rng.random() < 0.6
    place = f"{who.place}, {who.town}" if who.names_town else who.place
    blocks = [f"Name: {who.name}"]
    for line, chance in (
        (f"Role: {who.role}", 0.9),
        (f"Manner: {who.manner}", 1.0),
        (f"Place: {place}", 0.9),
        (f"Time: {who.time}" + (f", {who.weather}" if who.weather else ""), 0.4),
        (f"Mood: {who.mood}", 0.8),
    ):
        if rng.random() < chance or (line.startswith("Mood") and who.keys):
            blocks.append(line)
    who.extra = [block.split(":")[0] for block in blocks]
    if who.visitor:
        blocks.append(f"Visitor: {who.visitor}")
    lists = {
        title: [fact.line + ("" if title in ("Relationships", "Quests") else ".") for fact in facts]
        for title, facts in who.facts.items()
    }
    lists = {
        "Relationships": lists["Relationships"],
        "Prices": [f"{good}: {price}" for good, price in who.prices.items()],
        **lists,
    }
    titles = list(lists)
    if rng.random() < 0.15:
        rng.shuffle(titles)
    for title in titles:
        if lists[title]:
            blocks.append(f"{title}:\n" + "\n".join(f"- {line}" for line in lists[title]))
    if who.actions:
        blocks.append("Actions: " + ", ".join(who.actions))
    if who.keys:
        blocks.append("Answer as: JSON" + ("" if len(who.keys) == 4 else f" ({', '.join(who.keys)})"))
    return "\n".join(blocks)


def prose(who: Character, rng: Random) -> str:
    """The same, as somebody writes it who has not read FORMAT.md."""
    values = vars(who)
    lines = [rng.choice(w.PROSE_WHO).format(**values), rng.choice(w.PROSE_MANNER).format(**values)]
    who.extra, who.names_town, who.weather = ["Name", "Role", "Place"], True, ""
    if rng.random() < 0.4:
        who.weather = rng.choice(w.WEATHERS)
        lines.append(rng.choice(w.PROSE_TIME).format(**values, sky=who.weather))
        who.extra.append("Time")
    if rng.random() < 0.5:
        lines.append(rng.choice(w.PROSE_MOOD).format(**values))
        who.extra.append("Mood")
    if who.visitor:
        lines.append(rng.choice(w.PROSE_VISITOR).format(**values))
    parts = [
        [f"{fact.values['p']} is your {fact.values['kin']}." for fact in who.facts["Relationships"]],
        [rng.choice(w.PROSE_PRICE).format(good=good, price=price) for good, price in who.prices.items()],
        [quest_in_prose(fact) for fact in who.facts["Quests"]],
        [f"{rng.choice(w.PROSE_RUMOUR)} {lower(fact.line)}." for fact in who.facts["Rumours"]],
        [fact.line + "." for fact in who.facts["Facts"]],
        [fact.line + "." for fact in who.facts["Memories"]],
    ]
    rng.shuffle(parts)
    who.actions, who.keys = [], []
    return " ".join(upper(line) for line in [*lines, *(line for part in parts for line in part)])


def quest_in_prose(quest: Fact) -> str:
    """A quest and its state as sentences."""
    return w.PROSE_QUEST[quest.values["state"]].format(**quest.values)


def styled(who: Character, core: str, rng: Random) -> str:
    """Wraps the bare answer in the character's manner."""
    text = upper(core) + "."
    who.around = []
    if rng.random() < 0.25:
        start = who.phrase("opens", rng)
        if start[-1] in ".!?":
            text = f"{start} {text}"
        elif not core.startswith(ALONE):
            text = f"{start} {lower(core)}."
        who.around.append(start)
    if rng.random() < (0.3 if len(text.split()) < 6 else 0.12):
        who.around.append(who.phrase("closes", rng))
        text += " " + who.around[-1]
    return text
