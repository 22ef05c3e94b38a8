"""Makes the corpus: endless conversations whose right answers stand only in the character's sheet."""

import argparse
import json
from collections.abc import Iterator
from random import Random

from errands import tool_talk
from filling import suits
from sheet import a_character, prose, sheet
from split import dialogues
from turns import Talk


def begun(rng: Random, size: float) -> Talk:
    """A conversation without a turn: a character with a sheet, with a persona in prose, or with nothing."""
    who, kind = a_character(rng, size), rng.random()
    if kind < 0.03:
        who.facts = {title: [] for title in who.facts}
        who.prices, who.keys, who.visitor, who.mood = {}, [], "", "calm"
        return Talk(who, "", rng)
    return Talk(who, prose(who, rng) if kind < 0.25 else sheet(who, rng), rng)


def step(talk: Talk) -> None:
    """One more turn, or an exchange of several."""
    steps = {
        talk.known: 30,
        talk.unknown: 13,
        talk.exchange: 28,
        talk.line: 22,
        talk.quest: 20 if talk.who.facts["Quests"] else 3,
        talk.other: 6,
        talk.introduction: 9,
        talk.name: 8 if talk.who.visitor else 1.5,
        talk.tell: 7,
        talk.ask_back: 10 if talk.pending else 1,
        talk.repeat: 3,
    }
    talk.rng.choices(list(steps), list(steps.values()))[0]()


def conversation(rng: Random, *, size: float = 1.0, turns: int = 0) -> dict:
    """One conversation, as an OpenAI request has it: `messages` and `tools`."""
    if rng.random() < 0.04:
        return tool_talk(rng)
    talk = begun(rng, size)
    count = turns or (rng.randint(3, 9) if rng.random() < 0.92 else rng.randint(10, 20))
    able = [one for one in dialogues() if suits(one, talk.who, talk.slots)] if rng.random() < 0.35 else []
    if able:
        talk.dialogue(rng.choice(able))
        count = rng.randint(0, 4)
    changes = rng.randrange(count + 1) if talk.messages and rng.random() < 0.25 else -1
    for at in range(count):
        if at == changes:
            talk.change()
        step(talk)
    if talk.named and rng.random() < 0.8:
        talk.name()
    if talk.pending and rng.random() < 0.8:
        talk.ask_back()
    while not any(message["role"] == "assistant" for message in talk.messages):
        step(talk)
    return {"messages": talk.messages, "tools": []}


def conversations(seed: int, **kind) -> Iterator[dict]:
    """Conversations without end, the same for the same seed."""
    rng = Random(seed)
    while True:
        yield conversation(rng, **kind)


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    source = conversations(args.seed)
    for _ in range(args.count):
        print(json.dumps(next(source), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
