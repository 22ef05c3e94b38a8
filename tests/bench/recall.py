"""How often a character knows what it was told 50 turns ago, beyond its context.

A character on the house model is told 100 facts, one before each of the first 100 turns, and is asked for
each 50 turns later, in words that the model was not trained on. In between it talks with its visitor. An
answer counts if it contains the fact's key word. Prints one JSON object:

* `told_pct`: of facts told by the game, `Character.tell()`, limit 85
* `said_pct`: of facts that the visitor said in the conversation
* `without_pct`: without a store, so by chance
* `found_pct`: of questions, those whose fact was among the memories in the prompt

    recall.py --build build/check/release --json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from models import HOUSE
from ours import package

sys.path.insert(0, str(HOUSE))
from facts import Fact, a_fact  # needs the path above

FACTS, BETWEEN, LEAST_PCT = 100, 50, 85.0
CHAT = (
    "Good evening.",
    "How are you today?",
    "It is cold outside.",
    "Who are you?",
    "I have come a long way.",
    "Do you have work for me?",
    "Tell me about this place.",
    "I am tired.",
    "What do you do here?",
    "The road was muddy.",
    "Is there any news?",
    "I like it here.",
)


@dataclass(frozen=True)
class Told:
    """A fact, a question about it in words that training never had, and what an answer cannot lack."""

    line: str
    question: str
    key: str


def drawn(count: int, seed: int) -> list[Told]:
    """Facts about different things, each with one of its questions."""
    rng, found, topics = Random(seed), [], set[str]()
    while len(found) < count:
        fact = a_fact(rng)
        told = asked(fact, rng)
        if told is not None and fact.topic.lower() not in topics:
            topics.add(fact.topic.lower())
            found.append(told)
    return found


def asked(fact: Fact, rng: Random) -> Told | None:
    """A fact with one of its questions, or None if they all hold the answer or name nothing of the fact."""
    ways = [
        (one.key, question)
        for one in fact.form.asks
        if not one.confirms
        for question in one.held
        if "{" in question  # it names what it is about
    ]
    if not ways:
        return None
    key, question = rng.choice(ways)
    return Told(fact.line + ".", fact.filled(question), fact.filled(key if "{" in key else "{" + key + "}"))


def run(sotto: Any, way: str, facts: list[Told]) -> dict[str, float]:
    """Percentages of one conversation."""
    from sotto.demo import rules
    from sotto.npc import Character, Sheet

    known = found = 0
    with tempfile.TemporaryDirectory() as folder, sotto.Engine(mode="prioritize_compute") as engine:
        for model in ("sotto/house", "sotto/minilm"):
            engine.load_model(model)
        store = None if way == "without" else sotto.Store.open("town", folder=folder, dim=384)
        sheet = Sheet("Mara Brightwater", role="innkeeper", place="the Kettle and Crow, Millbrook")
        with Character(engine, sheet, store=store) as mara:
            for turn in range(len(facts) + BETWEEN):
                if turn < len(facts) and way == "told":
                    mara.tell(facts[turn].line)
                elif turn < len(facts) and way == "said":
                    mara.say(facts[turn].line)
                if turn < BETWEEN:
                    mara.say(CHAT[turn % len(CHAT)])
                    continue
                fact = facts[turn - BETWEEN]
                found += any(fact.key in memory.text for memory in mara.recall(fact.question))
                known += not rules.missing(mara.say(fact.question), [fact.key])
        if store is not None:
            store.close()
    return {"known_pct": 100 * known / len(facts), "found_pct": 100 * found / len(facts)}


def main() -> int:
    """Runs the three ways and prints what they know."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="folder of the build")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seed", type=int, default=25)
    given = parser.parse_args()
    sotto = package(given.build)
    facts = drawn(FACTS, given.seed)
    rows = {way: run(sotto, way, facts) for way in ("told", "said", "without")}
    report = {
        "facts": FACTS,
        "turns_between": BETWEEN,
        **{f"{way}_pct": row["known_pct"] for way, row in rows.items()},
        "found_pct": rows["told"]["found_pct"],
        "broken": [],
    }
    if report["told_pct"] < LEAST_PCT:
        report["broken"].append(f"told_pct is {report['told_pct']}, expected >= {LEAST_PCT}")
    print(json.dumps(report, indent=1) if given.json else report)
    return bool(report["broken"])


if __name__ == "__main__":
    raise SystemExit(main())
