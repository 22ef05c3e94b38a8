"""Draws what a sheet may say: a line, and the values that questions about it need."""

from dataclasses import dataclass
from random import Random

import words as w
from forms import Form, forms
from names import (
    a_building,
    a_good,
    a_name,
    a_person,
    a_price,
    a_spot,
    a_thing,
    a_town,
    upper,
    with_article,
)


@dataclass(frozen=True)
class Fact:
    """One line of a sheet. `values` fill the holes of its form, of the questions and of the answers."""

    form: Form
    values: dict[str, str]

    @property
    def line(self) -> str:
        """As the sheet has it, without a full stop."""
        return self.form.line.format(**self.values)

    @property
    def topic(self) -> str:
        """What it is about: a name, "the mill", "news"."""
        return self.form.topic.format(**self.values)

    def filled(self, text: str, **other: str) -> str:
        """A question, an answer or a key of the form."""
        return text.format(**{**self.values, **other})


def named(*begins: str) -> list[Form]:
    """The forms whose files begin so."""
    return [form for name, form in forms().items() if name.startswith(begins)]


QUEST = Form("quest", "{title} ({state}): {task}; reward {reward}", "{title}", "ask", ())
PEOPLE = [form for form in named("person_") if form.name != "person_did_thing"]
THINGS = named("building_", "thing_", "crowd_", "event_", "password", "person_did_thing")
RUMOURS, MEMORIES = named("rumour_"), named("memory_")


def values_for(rng: Random) -> dict[str, str]:
    """Something fresh for every hole of a form."""
    wish, love = rng.choice(w.WISHES), rng.choice(w.LOVES)
    thing, creature, person = a_thing(rng), rng.choice(w.CREATURES), a_person(rng)
    return {
        "p": person,
        "name": a_person(rng),
        "topic": a_person(rng),
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
        "creature": creature,
        "a_creature": with_article(creature),
        "verb": rng.choice(("helped", "saved", "robbed", "insulted", "paid", "cheated")),
        "task": a_task(rng),
    }


def a_fact(rng: Random, form: Form | None = None, **known: str) -> Fact:
    """Something true, as the sheet's Facts have it."""
    form = form or rng.choice(PEOPLE if rng.random() < 0.5 else THINGS)
    return Fact(form, {**values_for(rng), **known})


def a_rumour(rng: Random, **known: str) -> Fact:
    """Something told when asked for news."""
    return a_fact(rng, rng.choice(RUMOURS), **known)


def a_memory(rng: Random) -> Fact:
    """Something the character remembers: of the visitor (`the visitor`) or of itself (`you`)."""
    return a_fact(rng, rng.choice(MEMORIES))


def a_bond(rng: Random, **known: str) -> Fact:
    """A relationship line: `person: what they are to the character`."""
    kin = rng.choice(w.KIN)
    return Fact(forms()["bond"], {"p": a_person(rng), "kin": kin, "a_kin": with_article(kin), **known})


def a_quest(rng: Random) -> Fact:
    """A quest line: `title (state): task; reward`."""
    title = f"The {upper(rng.choice(w.ADJECTIVES))} {upper(rng.choice(w.THINGS + w.CREATURES))}"
    state = rng.choice(["open", "under way", "done"])
    return Fact(QUEST, {"title": title, "state": state, "task": a_task(rng), "reward": a_price(rng)})


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
