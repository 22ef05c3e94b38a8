"""The wares that characters sell, in the forms that talk needs."""

from dataclasses import dataclass

import words as w
from names import with_article


@dataclass(frozen=True)
class Ware:
    """One ware, as "ale", "an ale" and "ales"."""

    bare: str
    one: str
    many: str


# Wares that have no plural of their own, or an irregular one.
PORTIONS = {
    "ale": ("an ale", "ales"),
    "apples": ("some apples", "apples"),
    "arrows": ("a sheaf of arrows", "sheaves of arrows"),
    "bread": ("a loaf of bread", "loaves of bread"),
    "cheese": ("a cheese", "cheeses"),
    "cider": ("a cider", "ciders"),
    "dried fish": ("a dried fish", "dried fish"),
    "ginger tea": ("a ginger tea", "ginger teas"),
    "goose": ("a goose", "geese"),
    "ink and paper": ("some ink and paper", "sets of ink and paper"),
    "lamp oil": ("a flask of lamp oil", "flasks of lamp oil"),
    "mead": ("a mead", "meads"),
    "pickled eggs": ("some pickled eggs", "pickled eggs"),
    "pipe weed": ("a pouch of pipe weed", "pouches of pipe weed"),
    "plum brandy": ("a plum brandy", "plum brandies"),
    "salt": ("a bag of salt", "bags of salt"),
    "smoked ham": ("a smoked ham", "smoked hams"),
    "tin soldiers": ("a box of tin soldiers", "boxes of tin soldiers"),
    "wine": ("a cup of wine", "cups of wine"),
}


def plural(thing: str) -> str:
    """The plural of a thing, whose first words carry it: "bed for the night", "yellow chest"."""
    for join in (" of ", " for ", " in ", " to ", " against "):
        if join in thing:
            head, rest = thing.split(join, 1)
            return plural(head) + join + rest
    if thing.endswith("tooth"):
        return thing[:-5] + "teeth"
    if thing.endswith("y") and thing[-2] not in "aeiou":
        return thing[:-1] + "ies"
    return thing + ("es" if thing.endswith(("s", "x", "ch", "sh")) else "s")


def ware(line: str) -> Ware:
    """The ware that a sheet lists as `line`: "ale", "a bed for the night"."""
    bare = line.removeprefix("a ").removeprefix("an ")
    if bare in PORTIONS:
        return Ware(bare, *PORTIONS[bare])
    return Ware(bare, with_article(bare), plural(bare))


def twice(price: str) -> str:
    """The price of two: "3 copper" gives "6 copper"."""
    number, money = price.split(" ", 1)
    if number.isdigit():
        return f"{2 * int(number)} {money}"
    value = 2 * (w.NUMBERS.index(number) + 2)
    return f"{w.NUMBERS[value - 2] if value - 2 < len(w.NUMBERS) else value} {money}"
