"""Draws names, things, places and prices from the word lists."""

import zlib
from collections.abc import Callable
from random import Random

import words as w

SMALL = {"The", "There", "You", "A", "An", "They", "It", "This", "Look", "My", "People", "Somebody"}


def upper(text: str) -> str:
    """Raises the first letter."""
    return text[:1].upper() + text[1:]


def lower(text: str) -> str:
    """Lowers the first letter where it is not a name or `I`."""
    return text[:1].lower() + text[1:] if text.split(" ", 1)[0] in SMALL else text


class HeldOut(Random):
    """Dice whose names are never trained: evaluation throws these."""


KNOWN = {*w.GIVEN, *(a + b for a in w.COMPOUND_A for b in w.COMPOUND_B)}


def is_held_out(name: str) -> bool:
    """Whether the name is kept from training: one in twelve of those that are made of syllables."""
    return name not in KNOWN and zlib.crc32(name.lower().encode()) % 12 == 0


def _fresh(rng: Random, make: Callable[[Random], str]) -> str:
    """A name that is kept from training only where `rng` is HeldOut."""
    while is_held_out(name := make(rng)) != isinstance(rng, HeldOut):
        pass
    return name


def _any_name(rng: Random) -> str:
    """A given name of either kind: mostly invented from syllables."""
    if rng.random() < 0.2:
        return rng.choice(w.GIVEN)
    name = rng.choice(w.ONSETS) + rng.choice(w.VOWELS)
    if rng.random() < 0.55:
        name += rng.choice(w.MIDDLES) + rng.choice(w.VOWELS)
    return name + rng.choice(w.ENDS)


def a_name(rng: Random) -> str:
    """A given name."""
    return _fresh(rng, _any_name)


def _any_town(rng: Random) -> str:
    """A town of either kind."""
    if rng.random() < 0.5:
        return rng.choice(w.COMPOUND_A) + rng.choice(w.COMPOUND_B)
    return _any_name(rng) + (rng.choice(w.COMPOUND_B) if rng.random() < 0.4 else "")


def a_town(rng: Random) -> str:
    """A town, a field or a family: compounds and inventions."""
    return _fresh(rng, _any_town)


def a_person(rng: Random) -> str:
    """A name as people are called: one word, two, or with a title."""
    kind = rng.random()
    if kind < 0.45:
        return a_name(rng)
    if kind < 0.85:
        return f"{a_name(rng)} {a_town(rng)}"
    return f"{rng.choice(w.TITLES)} {a_name(rng)}"


def a_thing(rng: Random) -> str:
    """A thing without its article."""
    thing = rng.choice(w.THINGS)
    return f"{rng.choice(w.ADJECTIVES)} {thing}" if rng.random() < 0.75 else thing


def with_article(thing: str) -> str:
    """Puts `a` or `an` before it."""
    return ("an " if thing[0] in "aeiou" and not thing.startswith("uni") else "a ") + thing


def a_building(rng: Random) -> str:
    """A building without its article."""
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(w.BUILDINGS)
    if kind < 0.8:
        return f"{rng.choice(w.ADJECTIVES)} {rng.choice(w.BUILDINGS)}"
    return f"{a_name(rng)} {rng.choice(w.BUILDINGS)}"


def a_house(rng: Random) -> str:
    """The name of an inn, shop or hall."""
    thing = upper(rng.choice(w.CREATURES + w.THINGS))
    kind = rng.random()
    if kind < 0.4:
        return f"the {upper(rng.choice(w.ADJECTIVES))} {thing}"
    if kind < 0.7:
        return f"the {thing} and {upper(rng.choice(w.THINGS))}"
    return f"the {a_building(rng)} of {a_town(rng)}"


def a_spot(rng: Random) -> str:
    """Where something is, beginning with a preposition."""
    kind = rng.randrange(8)
    if kind == 0:
        return f"{rng.choice(['behind', 'in', 'beside', 'under', 'near', 'above'])} the {a_building(rng)}"
    if kind == 1:
        where = rng.choice(["by", "under", "beyond", "near", "behind"])
        return f"{where} the {rng.choice(w.ADJECTIVES)} {rng.choice(w.FEATURES)}"
    if kind == 2:
        return f"{rng.choice(w.DIRECTIONS)} of {a_town(rng)}"
    if kind == 3:
        return f"in {a_town(rng)}"
    if kind == 4:
        return f"{rng.choice(w.NUMBERS)} miles {rng.choice(w.DIRECTIONS)} of the {rng.choice(w.FEATURES)}"
    if kind == 5:
        return f"between the {a_building(rng)} and the {rng.choice(w.FEATURES)}"
    if kind == 6:
        return (
            f"in the {rng.choice(w.ROOMS)} {rng.choice(['above', 'behind', 'below'])} the {a_building(rng)}"
        )
    return f"at {a_house(rng)}"


def a_good(rng: Random) -> str:
    """What may be bought: a ware of the list, or a thing made up."""
    return rng.choice(w.GOODS) if rng.random() < 0.6 else with_article(a_thing(rng))


def a_price(rng: Random) -> str:
    """A number and a coin."""
    return f"{rng.randint(2, 99) if rng.random() < 0.8 else rng.choice(w.NUMBERS)} {rng.choice(w.MONEY)}"
