"""Makes facts: a line for the sheet, what a visitor may ask about it, the answer, and the action."""

from dataclasses import dataclass, field
from random import Random

import words as w
from names import (
    a_building,
    a_name,
    a_person,
    a_price,
    a_spot,
    a_thing,
    a_town,
    lower,
    upper,
    with_article,
)


@dataclass
class Fact:
    """One line of a sheet with everything a visitor may ask about it."""

    line: str
    topic: str
    asks: list[tuple[str, str]] = field(default_factory=list)  # question, answer without its full stop
    action: str = "none"


def _of_person(rng: Random) -> Fact:
    p, spot = a_person(rng), a_spot(rng)
    role, town, thing = rng.choice(w.ROLES), a_town(rng), a_thing(rng)
    kind = rng.randrange(7)
    if kind == 0:
        verb = rng.choice(["lives", "works", "sleeps", "waits", "hides", "sits"])
        line = f"{p} {verb} {spot}"
        return Fact(
            line,
            p,
            [
                (f"Where is {p}?", line),
                (f"Where can I find {p}?", f"You will find {p} {spot}"),
                (f"Have you seen {p}?", line),
                (f"I am looking for {p}.", f"Look for {p} {spot}"),
            ],
            "point",
        )
    if kind == 1:
        line = f"{p} is the {role} of {town}"
        return Fact(
            line,
            p,
            [
                (f"Who is {p}?", line),
                (f"What does {p} do?", line),
                (f"Who is the {role} of {town}?", f"The {role} of {town} is {p}"),
                (f"Who is the {role}?", f"The {role} is {p}"),
            ],
            "nod",
        )
    if kind == 2:
        line = f"{p} lost {with_article(thing)} {spot}"
        return Fact(
            line,
            p,
            [
                (f"What did {p} lose?", line),
                (f"Where did {p} lose the {thing}?", line),
                (f"Who lost {with_article(thing)}?", line),
            ],
            "point",
        )
    if kind == 3:
        verb, base = rng.choice(
            [("wants", "want"), ("seeks", "seek"), ("owns", "own"), ("collects", "collect")]
        )
        line = f"{p} {verb} {with_article(thing)}"
        return Fact(
            line, p, [(f"What does {p} {base}?", line), (f"Who {verb} {with_article(thing)}?", line)], "nod"
        )
    if kind == 4:
        verb, base = rng.choice([("loves", "love"), ("hates", "hate"), ("likes", "like")])
        what = rng.choice(w.LIKES)
        line = f"{p} {verb} {what}"
        return Fact(line, p, [(f"What does {p} {base}?", line), (f"Who {verb} {what}?", line)], "nod")
    if kind == 5:
        what = rng.choice(w.FEARS)
        line = f"{p} is afraid of {what}"
        return Fact(line, p, [(f"What does {p} fear?", line), (f"What is {p} afraid of?", line)], "whisper")
    when = rng.choice(w.WHENS)
    line = f"{p} left for {town} {when}"
    return Fact(
        line,
        p,
        [(f"Where is {p}?", line), (f"When did {p} leave?", line), (f"Where did {p} go?", line)],
        "point",
    )


def _of_thing(rng: Random) -> Fact:
    thing, spot, b = a_thing(rng), a_spot(rng), a_building(rng)
    kind = rng.randrange(8)
    if kind == 0:
        line = f"The {b} {rng.choice(['stands', 'lies', 'is'])} {spot}"
        return Fact(
            line,
            f"the {b}",
            [
                (f"Where is the {b}?", line),
                (f"How do I get to the {b}?", line),
                (f"I am looking for the {b}.", line),
            ],
            "point",
        )
    if kind == 1:
        line = f"The {thing} is {rng.choice(['hidden', 'buried', 'kept', 'locked away'])} {spot}"
        return Fact(
            line,
            f"the {thing}",
            [(f"Where is the {thing}?", line), (f"Where can I find the {thing}?", line)],
            "point",
        )
    if kind == 2:
        line = f"The {b} {rng.choice(w.HAPPENED)} {rng.choice(w.WHENS)}"
        return Fact(
            line,
            f"the {b}",
            [(f"What happened to the {b}?", line), (f"What is wrong with the {b}?", line)],
            "nod",
        )
    if kind == 3:
        event, time = rng.choice(w.EVENTS), rng.choice(w.TIMES)
        line = f"The {event} {rng.choice(['begins', 'starts', 'is'])} {time}"
        return Fact(
            line,
            f"the {event}",
            [(f"When is the {event}?", line), (f"When does the {event} begin?", line)],
            "nod",
        )
    if kind == 4:
        many, what = (
            rng.choice(w.NUMBERS),
            rng.choice(
                [
                    "guards",
                    "wolves",
                    "thieves",
                    "monks",
                    "rats",
                    "soldiers",
                    "barrels",
                    "sheep",
                    "graves",
                    "doors",
                    "bandits",
                    "ghosts",
                ]
            ),
        )
        line = f"There are {many} {what} {spot}"
        return Fact(
            line,
            f"the {what}",
            [(f"How many {what} are there?", line), (f"Where are the {what}?", line)],
            "point",
        )
    if kind == 5:
        word = a_name(rng).lower() if rng.random() < 0.5 else thing
        line = f"The password of the {b} is {word}"
        return Fact(
            line,
            "the password",
            [
                ("What is the password?", line),
                (f"What is the password of the {b}?", line),
                (f"How do I get into the {b}?", line),
            ],
            "whisper",
        )
    if kind == 6:
        p = a_person(rng)
        line = f"The {thing} belongs to {p}"
        return Fact(
            line, f"the {thing}", [(f"Whose is the {thing}?", line), (f"Who owns the {thing}?", line)], "nod"
        )
    p, verb = a_person(rng), rng.choice(["made", "stole", "sold", "found", "broke", "hid", "bought"])
    line = f"{p} {verb} the {thing}"
    return Fact(line, f"the {thing}", [(f"Who {verb} the {thing}?", line)], "nod")


def a_fact(rng: Random) -> Fact:
    """Something true, as the sheet's Facts have it."""
    fact = _of_person(rng) if rng.random() < 0.5 else _of_thing(rng)
    for ask in (
        f"Tell me about {fact.topic}.",
        f"What do you know of {fact.topic}?",
        f"What about {fact.topic}?",
    ):
        fact.asks.append((ask, fact.line))
    return fact


def a_rumour(rng: Random) -> Fact:
    """Something told when asked for news."""
    p, spot, creature = a_person(rng), a_spot(rng), rng.choice(w.CREATURES)
    kind = rng.randrange(4)
    if kind == 0:
        line = f"{p} saw {with_article(creature)} {spot}"
    elif kind == 1:
        line = f"The {a_building(rng)} {spot} is haunted by {with_article(creature)}"
    elif kind == 2:
        line = f"{p} will marry {a_person(rng)} {rng.choice(w.TIMES)}"
    else:
        line = f"Somebody stole the {a_thing(rng)} of {p}"
    say = rng.choice(
        ["They say that {}", "People say that {}", "I heard that {}", "The talk is that {}"]
    ).format(lower(line))
    asks = [
        "What news?",
        "What is the news?",
        "Have you heard any rumours?",
        "What do people say?",
        "Any gossip?",
        "Heard anything interesting?",
        "What is new in town?",
    ]
    return Fact(line, "news", [(ask, say) for ask in asks], "whisper")


def a_task(rng: Random) -> str:
    """What a quest asks for, beginning with a verb."""
    return rng.choice(w.TASKS).format(
        thing=f"the {a_thing(rng)}",
        loc=a_spot(rng),
        loc2=f"the {a_building(rng)}",
        person=a_person(rng),
        town=a_town(rng),
        creature=rng.choice(w.CREATURES),
        building=rng.choice(w.BUILDINGS),
        good=rng.choice(w.GOODS),
    )


def a_quest(rng: Random) -> Fact:
    """A quest line: `title (state): task; reward`."""
    title = f"The {upper(rng.choice(w.ADJECTIVES))} {upper(rng.choice(w.THINGS + w.CREATURES))}"
    task, reward = a_task(rng), a_price(rng)
    state = rng.choice(["open", "open", "open", "under way", "done"])
    line = f"{title} ({state}): {task}; reward {reward}"
    if state == "open":
        offer = rng.choice(
            [f"I need someone to {task}, and I pay {reward}", f"There is work: {task}, for {reward}"]
        )
        asks = [
            (q, offer)
            for q in (
                "Do you have work for me?",
                "Is there a quest for me?",
                "Can I help you?",
                "I am looking for work.",
                "Do you need help?",
            )
        ]
        asks += [
            ("What is the reward?", f"The reward is {reward}"),
            ("What will you pay me?", f"I will pay you {reward}"),
        ]
        return Fact(line, title, asks, "ask")
    if state == "under way":
        asks = [
            (q, f"You still have to {task}")
            for q in ("What was I to do?", "What must I do?", "What is my task?", "Remind me of my task.")
        ]
        asks.append(("What is the reward?", f"The reward is {reward}"))
        return Fact(line, title, asks, "ask")
    asks = [
        (q, f"You have done it, {title} is over, and here is {reward}")
        for q in ("It is done.", "I have done what you asked.", "The task is done.")
    ]
    return Fact(line, title, asks, "give")


def a_memory(rng: Random) -> Fact:
    """Something the character remembers: of the visitor (`the visitor`) or of itself (`you`)."""
    when, spot, thing = rng.choice(w.WHENS), a_spot(rng), a_thing(rng)
    kind = rng.randrange(6)
    know = "Do you remember me?"
    if kind == 0:
        line, say = (
            f"The visitor brought you {with_article(thing)} {when}",
            f"You brought me {with_article(thing)} {when}",
        )
        asks = [(know, say), ("What did I bring you?", say), ("When did I bring you the " + thing + "?", say)]
    elif kind == 1:
        task = a_task(rng)
        line, say = f"The visitor promised to {task}", f"You promised to {task}"
        asks = [("What did I promise?", say), ("What did I promise you?", say), (know, say)]
    elif kind == 2:
        name = a_person(rng)
        line, say = f"The visitor is called {name}", f"You are {name}"
        asks = [(know, say), ("Do you know my name?", say), ("What is my name?", say), ("Who am I?", say)]
    elif kind == 3:
        creature = rng.choice(w.CREATURES)
        line, say = (
            f"You saw {with_article(creature)} {spot} {when}",
            f"I saw {with_article(creature)} {spot} {when}",
        )
        asks = [
            ("What did you see?", say),
            ("Have you seen anything strange?", say),
            (f"Where did you see the {creature}?", say),
        ]
    elif kind == 4:
        topic = a_person(rng)
        line, say = f"The visitor asked about {topic} {when}", f"You asked about {topic} {when}"
        asks = [("What did I ask you about?", say), ("What did we talk about?", say), (know, say)]
    else:
        verb = rng.choice(["helped", "saved", "robbed", "insulted", "paid", "cheated"])
        line, say = f"The visitor {verb} you {spot} {when}", f"You {verb} me {spot} {when}"
        asks = [(know, say), ("Have we met before?", say), ("What do you think of me?", say)]
    return Fact(line, "memory", asks, "nod")


def a_bond(rng: Random) -> Fact:
    """A relationship line: `person: what they are to the character`."""
    p, kin = a_person(rng), rng.choice(w.KIN)
    say = f"{p} is my {kin}"
    return Fact(
        f"{p}: your {kin}",
        p,
        [
            (f"Who is {p}?", say),
            (f"Do you know {p}?", say),
            (f"Who is {p} to you?", say),
            (f"Who is your {kin}?", f"My {kin} is {p}"),
        ],
        "nod",
    )
