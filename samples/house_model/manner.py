"""Measures whether an adapter changes the manner and keeps the facts: greedy answers with it and without."""

import argparse
import json
import re
from pathlib import Path

import sotto
from asking import KINDS
from cases import Case, drawn, intent_case, recall
from evaluate import HERE, by_sotto
from exchanges import exchanges
from measuring import Speaker, held_right, share, some

PIRATE = r"arr|aye|ahoy|avast|belay|blimey|shiver me|matey|ye|yer|savvy|nay|landlubber|doubloons?|o'"


def cases(count: int, seed: str) -> tuple[list[Case], list[Case]]:
    """Questions about a sheet, and lines of all intents, in forms and with names that were never trained."""
    each = -(-count // len(KINDS))
    facts = [
        made
        for kind in KINDS
        for made in drawn(f"{seed}/{kind}", lambda rng, kind=kind: recall(rng, kind), each)
    ]
    intents = sorted({one.intent for one in exchanges()})
    lines = [
        made
        for intent in intents[:: max(1, len(intents) // count)]
        for made in some(f"{seed}/{intent}", lambda rng, intent=intent: intent_case(rng, intent), 1)
    ]
    return facts[:count], lines[:count]


def pattern(words: str) -> re.Pattern[str]:
    """Finds one of the words, whole and in any case."""
    return re.compile(rf"\b({words})(?!\w)", re.I)


def measured(
    speak: Speaker, facts: list[Case], lines: list[Case], words: re.Pattern[str], **fields
) -> dict[str, float]:
    """The shares of answers with the manner's words, and with the fact that was asked for."""
    told = [reply for reply, _ in speak(facts, temperature=0, **fields)]
    said = [reply for reply, _ in speak(lines, temperature=0, **fields)]
    right = [held_right(made, reply) for made, reply in zip(facts, told, strict=True)]
    return {
        "facts": share(right),
        "manner_of_facts": share([bool(words.search(reply)) for reply in told]),
        "manner_of_lines": share([bool(words.search(reply)) for reply in said]),
    }


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, default=HERE / "house.gguf")
    parser.add_argument("--adapter", type=Path, default=HERE / "pirate.gguf")
    parser.add_argument("--scale", type=float, default=1.0, help="of the adapter")
    parser.add_argument("--words", default=PIRATE, help="a regular expression of the manner's words")
    parser.add_argument("--count", type=int, default=40, help="answers of each kind")
    parser.add_argument("--seed", default="manner")
    parser.add_argument("--show", action="store_true", help="print the answers with the adapter")
    args = parser.parse_args()
    words, with_it = pattern(args.words), [{"name": "default", "scale": args.scale}]
    facts, lines = cases(args.count, args.seed)
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        speak = by_sotto(engine, args.gguf, args.adapter)
        for name, lora in (("without", []), ("with", with_it)):
            print(json.dumps({"adapter": name, **measured(speak, facts, lines, words, lora=lora)}))
        for made in (*facts, *lines) if args.show else ():
            ((reply, _),) = speak([made], temperature=0, lora=with_it)
            print(f"{made.messages[-1]['content']}\n    {reply}    {made.right or ''}")


if __name__ == "__main__":
    main()
