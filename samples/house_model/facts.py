"""Makes facts: a line for the sheet, what a visitor may ask about it, the answer, and the action."""

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import words as w
from names import (
    a_building,
    a_good,
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


class Ask(NamedTuple):
    """A question, its answer without a full stop, and the words that the answer cannot do without."""

    question: str
    core: str
    key: str


@dataclass
class Fact:
    """One line of a sheet with everything a visitor may ask about it."""

    line: str
    topic: str
    asks: list[Ask] = field(default_factory=list)
    action: str = "none"


class Form(NamedTuple):
    """A fact with holes. Each of `asks` is questions between bars, the answer, and its key."""

    line: str
    topic: str
    action: str
    asks: tuple[tuple[str, str, str], ...]


def _said(line: str, *asks: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Questions that the fact's own line answers, each with its key."""
    return tuple((questions, line, key) for questions, key in asks)


PEOPLE = (
    Form(
        "{p} {stay} {spot}",
        "{p}",
        "point",
        (
            ("Where is {p}?|Have you seen {p}?|Where does {p} stay?", "{p} {stay} {spot}", "{spot}"),
            ("Where can I find {p}?", "You will find {p} {spot}", "{spot}"),
            ("I am looking for {p}.", "Look for {p} {spot}", "{spot}"),
        ),
    ),
    Form(
        "{p} is the {role} of {town}",
        "{p}",
        "nod",
        (
            ("Who is {p}?|What does {p} do?", "{p} is the {role} of {town}", "{role} of {town}"),
            ("Who is the {role} of {town}?", "The {role} of {town} is {p}", "{p}"),
            ("Who is the {role}?", "The {role} is {p}", "{p}"),
        ),
    ),
    Form(
        "{p} lost {a_thing} {spot}",
        "{p}",
        "point",
        _said(
            "{p} lost {a_thing} {spot}",
            ("What did {p} lose?", "{thing}"),
            ("Where did {p} lose the {thing}?", "{spot}"),
            ("Who lost {a_thing}?", "{p}"),
        ),
    ),
    Form(
        "{p} {wish} {a_thing}",
        "{p}",
        "nod",
        _said(
            "{p} {wish} {a_thing}",
            ("What does {p} {wish_base}?", "{thing}"),
            ("Who {wish} {a_thing}?", "{p}"),
        ),
    ),
    Form(
        "{p} {love} {liked}",
        "{p}",
        "nod",
        _said(
            "{p} {love} {liked}", ("What does {p} {love_base}?", "{liked}"), ("Who {love} {liked}?", "{p}")
        ),
    ),
    Form(
        "{p} is afraid of {fear}",
        "{p}",
        "whisper",
        _said("{p} is afraid of {fear}", ("What does {p} fear?|What is {p} afraid of?", "{fear}")),
    ),
    Form(
        "{p} left for {town} {when}",
        "{p}",
        "point",
        _said(
            "{p} left for {town} {when}",
            ("Where is {p}?|Where did {p} go?", "{town}"),
            ("When did {p} leave?", "{when}"),
        ),
    ),
    Form(
        "{p} is married to {p2}",
        "{p}",
        "nod",
        _said("{p} is married to {p2}", ("Who is {p} married to?|Is {p} married?", "{p2}")),
    ),
    Form(
        "{p} owes {p2} {price}",
        "{p}",
        "whisper",
        _said(
            "{p} owes {p2} {price}",
            ("How much does {p} owe?|What does {p} owe {p2}?", "{price}"),
            ("Whom does {p} owe money?", "{p2}"),
        ),
    ),
    Form(
        "{p} is {nature}",
        "{p}",
        "nod",
        _said("{p} is {nature}", ("What is {p} like?|What kind of person is {p}?", "{nature}")),
    ),
)

THINGS = (
    Form(
        "The {b} {stand} {spot}",
        "the {b}",
        "point",
        _said(
            "The {b} {stand} {spot}",
            ("Where is the {b}?|How do I get to the {b}?|I am looking for the {b}.", "{spot}"),
        ),
    ),
    Form(
        "The {thing} is {kept} {spot}",
        "the {thing}",
        "point",
        _said(
            "The {thing} is {kept} {spot}", ("Where is the {thing}?|Where can I find the {thing}?", "{spot}")
        ),
    ),
    Form(
        "The {b} {happened} {when}",
        "the {b}",
        "nod",
        _said(
            "The {b} {happened} {when}",
            ("What happened to the {b}?|What is wrong with the {b}?", "{happened}"),
        ),
    ),
    Form(
        "The {event} {begin} {time}",
        "the {event}",
        "nod",
        _said("The {event} {begin} {time}", ("When is the {event}?|When does the {event} begin?", "{time}")),
    ),
    Form(
        "There are {number} {crowd} {spot}",
        "the {crowd}",
        "point",
        _said(
            "There are {number} {crowd} {spot}",
            ("How many {crowd} are there?", "{number}"),
            ("Where are the {crowd}?", "{spot}"),
        ),
    ),
    Form(
        "The password of the {b} is {word}",
        "the password",
        "whisper",
        _said(
            "The password of the {b} is {word}",
            ("What is the password?|What is the password of the {b}?|How do I get into the {b}?", "{word}"),
        ),
    ),
    Form(
        "The {thing} belongs to {p}",
        "the {thing}",
        "nod",
        _said("The {thing} belongs to {p}", ("Whose is the {thing}?|Who owns the {thing}?", "{p}")),
    ),
    Form(
        "{p} {did} the {thing}",
        "the {thing}",
        "nod",
        _said("{p} {did} the {thing}", ("Who {did} the {thing}?", "{p}")),
    ),
    Form(
        "The {b} was built by {p}",
        "the {b}",
        "nod",
        _said("The {b} was built by {p}", ("Who built the {b}?", "{p}")),
    ),
)


def filled(rng: Random) -> dict[str, str]:
    """Something fresh for every hole of a form."""
    wish, love = rng.choice(w.WISHES), rng.choice(w.LOVES)
    thing = a_thing(rng)
    return {
        "p": a_person(rng),
        "p2": a_person(rng),
        "spot": a_spot(rng),
        "town": a_town(rng),
        "thing": thing,
        "a_thing": with_article(thing),
        "b": a_building(rng),
        "word": a_name(rng).lower() if rng.random() < 0.5 else a_thing(rng),
        "price": a_price(rng),
        "wish": wish + "s",
        "wish_base": wish,
        "love": love + "s",
        "love_base": love,
        "role": rng.choice(w.ROLES),
        "stay": rng.choice(w.STAYS),
        "stand": rng.choice(("stands", "lies", "is")),
        "kept": rng.choice(("hidden", "buried", "kept", "locked away")),
        "begin": rng.choice(("begins", "starts", "is")),
        "did": rng.choice(("made", "stole", "sold", "found", "broke", "hid", "bought")),
        "liked": rng.choice(w.LIKES),
        "fear": rng.choice(w.FEARS),
        "nature": rng.choice(w.NATURES),
        "happened": rng.choice(w.HAPPENED),
        "when": rng.choice(w.WHENS),
        "event": rng.choice(w.EVENTS),
        "time": rng.choice(w.TIMES),
        "number": rng.choice(w.NUMBERS),
        "crowd": rng.choice(w.CROWDS),
    }


def a_form(rng: Random) -> Form:
    """A kind of fact."""
    return rng.choice(PEOPLE if rng.random() < 0.5 else THINGS)


def a_fact(rng: Random, form: Form | None = None, **known: str) -> Fact:
    """Something true, as the sheet's Facts have it."""
    form = form or a_form(rng)
    values = {**filled(rng), **known}
    asks = [
        Ask(*(text.format(**values) for text in (question, answer, key)))
        for questions, answer, key in form.asks
        for question in questions.split("|")
    ]
    line, topic = form.line.format(**values), form.topic.format(**values)
    for question in (f"Tell me about {topic}.", f"What do you know of {topic}?", f"What about {topic}?"):
        asks.append(Ask(question, line, asks[0].key))
    return Fact(line, topic, asks, form.action)


def a_rumour(rng: Random, p: str = "") -> Fact:
    """Something told when asked for news: of `p`, or of somebody."""
    p = p or a_person(rng)
    spot, creature = a_spot(rng), rng.choice(w.CREATURES)
    line, key = rng.choice(
        [
            (f"{p} saw {with_article(creature)} {spot}", p),
            (f"The {a_building(rng)} {spot} is haunted by {with_article(creature)}", creature),
            (f"{p} will marry {a_person(rng)} {rng.choice(w.TIMES)}", p),
            (f"Somebody stole the {a_thing(rng)} of {p}", p),
        ]
    )
    say = rng.choice(w.HEARSAY).format(lower(line))
    return Fact(line, "news", [Ask(question, say, key) for question in w.ASK_NEWS], "whisper")


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
        good=a_good(rng),
    )


def a_quest(rng: Random) -> Fact:
    """A quest line: `title (state): task; reward`."""
    title = f"The {upper(rng.choice(w.ADJECTIVES))} {upper(rng.choice(w.THINGS + w.CREATURES))}"
    task, reward = a_task(rng), a_price(rng)
    state = rng.choice(["open", "open", "open", "under way", "under way", "done"])
    line = f"{title} ({state}): {task}; reward {reward}"
    paid = [
        Ask("What is the reward?", f"The reward is {reward}", reward),
        Ask("What will you pay me?", f"I will pay you {reward}", reward),
        Ask(f"What is the reward for {title}?", f"The reward is {reward}", reward),
    ]
    named = [f"Tell me about {title}.", f"What is {title}?"]
    if state == "open":
        offer = rng.choice(
            [f"I need someone to {task}, and I pay {reward}", f"There is work: {task}, for {reward}"]
        )
        return Fact(line, title, [Ask(q, offer, task) for q in w.ASK_WORK + named] + paid, "ask")
    if state == "under way":
        still = f"You still have to {task}"
        return Fact(line, title, [Ask(q, still, task) for q in w.ASK_TASK + named] + paid, "ask")
    over = f"Then {title} is over, and your reward is {reward}"
    return Fact(line, title, [Ask(q, over, reward) for q in w.ASK_DONE], "give")


def a_memory(rng: Random) -> Fact:
    """Something the character remembers: of the visitor (`the visitor`) or of itself (`you`)."""
    when, spot, thing = rng.choice(w.WHENS), a_spot(rng), a_thing(rng)
    kind = rng.randrange(6)
    know = "Do you remember me?"
    if kind == 0:
        line = f"The visitor brought you {with_article(thing)} {when}"
        say = f"You brought me {with_article(thing)} {when}"
        asks = [(know, thing), ("What did I bring you?", thing), (f"When did I bring you the {thing}?", when)]
    elif kind == 1:
        task = a_task(rng)
        line, say = f"The visitor promised to {task}", f"You promised to {task}"
        asks = [("What did I promise?", task), ("What did I promise you?", task), (know, task)]
    elif kind == 2:
        name = a_person(rng)
        line, say = f"The visitor is called {name}", f"You are {name}"
        asks = [(know, name), ("Do you know my name?", name), ("What is my name?", name), ("Who am I?", name)]
    elif kind == 3:
        creature = rng.choice(w.CREATURES)
        line = f"You saw {with_article(creature)} {spot} {when}"
        say = f"I saw {with_article(creature)} {spot} {when}"
        asks = [
            ("What did you see?", creature),
            ("Have you seen anything strange?", creature),
            (f"Where did you see the {creature}?", spot),
        ]
    elif kind == 4:
        topic = a_person(rng)
        line, say = f"The visitor asked about {topic} {when}", f"You asked about {topic} {when}"
        asks = [("What did I ask you about?", topic), ("What did we talk about?", topic), (know, topic)]
    else:
        verb = rng.choice(["helped", "saved", "robbed", "insulted", "paid", "cheated"])
        line, say = f"The visitor {verb} you {spot} {when}", f"You {verb} me {spot} {when}"
        asks = [(know, verb), ("Have we met before?", verb), ("What do you think of me?", verb)]
    return Fact(line, "memory", [Ask(question, say, key) for question, key in asks], "nod")


def a_bond(rng: Random, p: str = "") -> Fact:
    """A relationship line: `person: what they are to the character`."""
    p, kin = p or a_person(rng), rng.choice(w.KIN)
    forth, back = f"{p} is my {kin}", f"My {kin} is {p}"
    asks = [
        *(Ask(q, forth, kin) for q in (f"Who is {p}?", f"Do you know {p}?", f"Who is {p} to you?")),
        *(
            Ask(q, forth, kin)
            for q in (f"Tell me about {p}.", f"What about {p}?", f"What do you know of {p}?")
        ),
        *(
            Ask(q, back, p)
            for q in (f"Who is your {kin}?", f"Who is your {kin}?", f"Do you have {with_article(kin)}?")
        ),
        Ask(f"What is the name of your {kin}?", back, p),
    ]
    return Fact(f"{p}: your {kin}", p, asks, "nod")
