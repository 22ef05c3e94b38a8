"""Asks a character what its sheet tells, and what it does not tell."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import words as w
from facts import PEOPLE, RUMOURS, THINGS, Fact, a_fact, values_for
from filling import first_of
from forms import Asking, Form, forms, holes
from names import a_good, a_house, a_name, a_person, a_price, a_town, lower, with_article
from sheet import Character
from wares import twice, ware

KINDS = ("facts", "memories", "relationships", "rumours", "prices", "self")
TALES = (*PEOPLE, *THINGS, *RUMOURS)


@dataclass(frozen=True)
class Asked:
    """A question and its bare answer, without a full stop."""

    question: str
    core: str
    key: str = ""  # the words that the answer cannot do without; none where the sheet is silent
    action: str = "shrug"
    target: str = ""
    is_said: bool = False  # whether `core` is a whole answer, in manner


def facts_of(who: Character) -> dict[str, list[Fact]]:
    """All that a sheet tells, by kind."""
    told = {kind: who.facts[kind.capitalize()] for kind in ("facts", "memories", "relationships", "rumours")}
    return {**told, "prices": prices_of(who), "self": self_of(who)}


def prices_of(who: Character) -> list[Fact]:
    """Its prices as facts."""
    facts = []
    for line, price in who.prices.items():
        sold = ware(line)
        values = {"good": sold.bare, "a_good": sold.one, "goods": sold.many}
        facts.append(Fact(forms()["prices"], {**values, "price": price, "twice": twice(price)}))
    return facts


def self_of(who: Character) -> list[Fact]:
    """What the sheet tells of the character, of where it is, and of whom it speaks to."""
    known = [("name", "Name"), ("role", "Role"), ("place", "Place"), ("time", "Time")]
    names = [name for name, line in known if line in who.extra]
    names += ["town"] if who.names_town and "place" in names else []
    names += ["weather"] if who.weather and "time" in names else []
    names += ["visitor"] if who.visitor else []
    values = {name: getattr(who, name) for name in (*names, "place", "time")}
    return [Fact(forms()[name], values) for name in names]


def another(hole: str, rng: Random) -> str:
    """Draws another value for a hole of a form."""
    draws: dict[str, Callable[[Random], str]] = {
        "name": a_person,
        "visitor": a_name,
        "place": a_house,
        "town": a_town,
        "price": a_price,
        "good": lambda rng: ware(a_good(rng)).bare,
        "kin": lambda rng: rng.choice(w.KIN),
        "weather": lambda rng: rng.choice(w.WEATHERS),
    }
    return draws[hole](rng) if hole in draws else values_for(rng)[hole]


def denied(fact: Fact, asking: Asking, question: str, rng: Random) -> Asked | None:
    """Returns the question with a wrong value, and the answer that corrects it; None if none fits."""
    wrong = [hole for hole in sorted(holes(question)) if hole.removeprefix("a_") in holes(asking.key)]
    if not wrong or fact.form.name == "time":
        return None
    bare = wrong[0].removeprefix("a_")
    value = another(bare, rng)
    if value.lower() == fact.values[bare].lower():
        return None
    other = {bare: value, f"a_{bare}": with_article(value)}
    told = next(
        answer
        for answer in (*fact.form.asks[0].answers, fact.form.line)
        if holes(asking.key) <= {hole.removeprefix("a_") for hole in holes(answer)}
    )
    core = rng.choice(w.NOT_SO).format(line=lower(fact.filled(told)))
    return Asked(fact.filled(question, **other), core, fact.filled(asking.key), fact.form.action, fact.topic)


def ask_known(fact: Fact, rng: Random, *, held: bool = False) -> Asked:
    """Asks for something that the sheet holds. `held`: in a form that is kept from training."""
    asking = rng.choice([asking for asking in fact.form.asks if asking.answers])
    question = rng.choice(asking.held if held else asking.questions)
    if asking.confirms and rng.random() < 0.45 and (asked := denied(fact, asking, question, rng)):
        return asked
    other = {}
    name = fact.values.get("p", "")
    if " " in name and name.split(" ")[0] not in w.TITLES and rng.random() < 0.2:
        other["p"] = first_of(name)
    target = "visitor" if fact.topic in ("news", "memory", "yourself") else fact.topic
    core = fact.filled(rng.choice(asking.answers))
    return Asked(fact.filled(question, **other), core, fact.filled(asking.key), fact.form.action, target)


def ask_again(fact: Fact, rng: Random, *, held: bool = False) -> Asked | None:
    """Asks more about a fact, with a pronoun for its person or thing; None if no question allows that."""
    sex, is_person = rng.randrange(2), fact.topic == fact.values.get("p")
    able = []
    for asking in fact.form.asks:
        if not asking.answers or asking.confirms or fact.filled(asking.key) == fact.topic:
            continue
        for question in asking.held if held else asking.questions:
            said = with_pronoun(question, sex, is_person=is_person)
            if said and not holes(said) & {"p", "b", "thing", "event"}:
                able.append((asking, said))
    if not able:
        return None
    asking, said = rng.choice(able)
    core = fact.filled(rng.choice(asking.answers))
    return Asked(fact.filled(said), core, fact.filled(asking.key), fact.form.action, fact.topic)


def with_pronoun(question: str, sex: int, *, is_person: bool) -> str | None:
    """Returns the question with a pronoun; None unless it names its person or thing exactly once."""
    found = re.findall(r"{p}" if is_person else r"\b[Tt]he {(?:b|thing|event)}", question)
    if len(found) != 1:
        return None
    before, after = question.split(found[0])
    if not is_person:
        return f"{before}{'it' if before else 'It'}{after}"
    if after.startswith("'s"):
        return f"{before}{('his', 'her')[sex]}{after[2:]}"
    words = before.lower().split()
    is_subject = not words or words[-1] in w.BEFORE_SUBJECTS
    pronoun = (("he", "she") if is_subject else ("him", "her"))[sex]
    return f"{before}{pronoun if before else pronoun.capitalize()}{after}"


def refusal(who: Character, x: str, rng: Random) -> tuple[str, bool]:
    """Returns an answer that `x` is unknown, and whether it is a whole one, in manner."""
    if rng.random() < 0.3:
        return who.phrase("unknown", rng, x), True
    return rng.choice(w.UNHEARD).format(x=x), False


def ask_unsold(who: Character, rng: Random, held: bool) -> Asked:
    """Asks for the price of a ware that the sheet does not have."""
    good = a_good(rng)
    while good in who.prices:
        good = a_good(rng)
    absent = ware(good)
    asking = forms()["prices"].asks[0]
    question = rng.choice(asking.held if held else asking.questions)
    core = rng.choice(w.UNSOLD).format(good=absent.one, bare=absent.bare)
    return Asked(question.format(good=absent.bare, a_good=absent.one, goods=absent.many), core)


def ask_unheard(who: Character, rng: Random, held: bool) -> Asked:
    """Asks about a person or a thing that stands in no line of the sheet."""
    there = {fact.form.name for facts in who.facts.values() for fact in facts}
    form = rng.choice([form for form in TALES if form.name not in there])
    fact = a_fact(rng, form)
    general = form.name.startswith("rumour_")  # their first questions ask for any news
    asking = rng.choice(form.asks[1:] if general else form.asks)
    question = fact.filled(rng.choice(asking.held if held else asking.questions))
    about = next((x for x in named_in(fact) if x.removeprefix("the ") in question), "that")
    core, is_said = refusal(who, about, rng)
    return Asked(question, core, is_said=is_said)


def named_in(fact: Fact) -> list[str]:
    """Returns the names and things that a question about a fact can mention."""
    things = [f"the {fact.values[hole]}" for hole in ("b", "thing", "event") if hole in holes(fact.form.line)]
    return [fact.topic, *things, fact.values["p"], fact.values["p2"]]


def ask_half_known(who: Character, rng: Random, held: bool) -> Asked:
    """Asks something else about a person whom the sheet names."""
    told = [fact for title in ("Facts", "Relationships") for fact in who.facts[title]]
    told = [fact for fact in told if fact.topic == fact.values.get("p")]
    if not told:
        return ask_unheard(who, rng, held)
    name = rng.choice(told).topic
    there = {fact.form.name for facts in who.facts.values() for fact in facts}
    able = [form for form in PEOPLE if form.name not in there]
    form = rng.choice(able or PEOPLE)
    asking = rng.choice([asking for asking in form.asks if "{p}" not in asking.key and is_pointed(asking)])
    questions = [q for q in (asking.held if held else asking.questions) if "{p}" in q]
    core = rng.choice(w.HALF_KNOWN).format(name=name)
    return Asked(a_fact(rng, form, p=name).filled(rng.choice(questions)), core)


def is_pointed(asking: Asking) -> bool:
    """Whether it asks for one thing: what is known of a person answers a question in general."""
    return "general" not in asking.about


def ask_missing(who: Character, rng: Random, held: bool) -> Asked:
    """Asks for a kind of knowledge that the sheet has no line for: kin, the visitor's name, the past."""
    groups: list[tuple[Form, list[str]]] = []
    kin = rng.choice(w.KIN)
    if not any(fact.values["kin"] == kin for fact in who.facts["Relationships"]):
        groups.append((forms()["bond"], w.NO_KIN))
    if not who.facts["Memories"]:
        past = rng.choice(("memory_brought", "memory_promised", "memory_asked", "memory_deed"))
        groups.append((forms()[past], w.NO_MEETING))
        if not who.visitor:
            groups.append((forms()["visitor"], w.NO_NAME))
    if not groups:
        return ask_unheard(who, rng, held)
    form, cores = rng.choice(groups)
    asking = form.asks[1] if form.name == "bond" else form.asks[0]
    question = rng.choice(asking.held if held else asking.questions)
    values = {**values_for(rng), "kin": kin, "a_kin": with_article(kin), "visitor": ""}
    return Asked(question.format(**values), rng.choice(cores).format(kin=kin))


def ask_unknown(who: Character, rng: Random, *, held: bool = False) -> Asked:
    """Asks for what the sheet does not hold; the honest answer says so."""
    asks = (ask_unsold, ask_unheard, ask_half_known, ask_missing)
    weights = (2, 4, 3, 3) if held else (2, 4, 5, 3)  # half-known persons are the hardest
    return rng.choices(asks, weights)[0](who, rng, held)


def typed(text: str, rng: Random) -> str:
    """A question as a player types it."""
    kind = rng.random()
    if kind < 0.1:
        start = rng.choice(w.STARTS)
        return start + (text if start[-2] in ".!" else lower_first(text))
    if kind < 0.16:
        return lower_first(text)
    if kind < 0.21:
        return text.rstrip("?.")
    if kind < 0.27:
        return text.lower().rstrip(".")
    if kind < 0.33:
        return mistyped(text, rng)
    return text


def lower_first(text: str) -> str:
    """With a small first letter where a question word or such begins it, not a name."""
    first = text.split(" ", 1)[0].rstrip(",?")
    return text[:1].lower() + text[1:] if first in w.QUESTION_WORDS else text


def mistyped(text: str, rng: Random) -> str:
    """With a typing error in a word that is no name."""
    able = list(re.finditer(r"\b[a-z]{4,}\b", text))
    if not able:
        return text
    match = rng.choice(able)
    at, letters = rng.randrange(1, len(match[0]) - 1), match[0]
    kind = rng.randrange(3)
    if kind == 0:
        letters = letters[:at] + letters[at + 1] + letters[at] + letters[at + 2 :]
    elif kind == 1:
        letters = letters[:at] + letters[at + 1 :]
    else:
        letters = letters[:at] + letters[at] + letters[at:]
    return text[: match.start()] + letters + text[match.end() :]
