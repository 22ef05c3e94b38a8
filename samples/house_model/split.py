"""Says what is trained, and what is kept for the test."""

from collections import defaultdict
from functools import cache
from zlib import crc32

from exchanges import Exchange, exchanges
from forms import DIALOGUES, loaded, surface

HELD_INTENTS = ("credit", "philosophical_kids")  # never trained


def is_held(said: str, intent: str = "") -> bool:
    """Returns True if a line, or another of the same words, is kept from training."""
    return intent in HELD_INTENTS or crc32(surface(said).encode()) % 12 == 0


@cache
def written(manner: str, *, held: bool = False) -> dict[str, list[Exchange]]:
    """The exchanges of a manner by intent: those that are trained, or those that are kept."""
    by_intent = defaultdict(list)
    for one in exchanges():
        if one.manner == manner and is_held(one.visitor, one.intent) == held:
            by_intent[one.intent].append(one)
    return dict(by_intent)


@cache
def dialogues(*, held: bool = False) -> list[dict]:
    """The written dialogues: those that are trained, or one in ten that is kept."""
    every = [one for path in sorted(DIALOGUES.glob("*.yaml")) for one in loaded(path)["dialogues"]]
    begins = [" ".join(surface(turn[0]) for turn in one["turns"][:2]) for one in every]
    return [one for one, line in zip(every, begins, strict=True) if (crc32(line.encode()) % 10 == 3) == held]
