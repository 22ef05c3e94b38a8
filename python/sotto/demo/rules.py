"""What a line must be to count: in character, and with the facts that it was asked for.

The rules are those that the house model is evaluated by: a fact counts when its key word stands in the
answer whole, and speech is speech alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_TOKENS = 64  # of a line; one that is cut there has not come to its end

# Request fields for the house model. Without the repeat penalty, 7 of 112 answers to unusual questions looped
# until max_tokens ("iron iron iron ..."); with it, none did, and as many had their fact (63 of 64). The
# window is short because a longer one, or DRY, also penalises copying from the sheet and from the question.
HOUSE_SAMPLING: dict[str, float] = {"temperature": 0, "repeat_penalty": 1.5, "repeat_last_n": 4}

_FAULTS = (
    ("a stage direction", re.compile(r"[*()\[\]]")),
    ("JSON", re.compile(r"[{}]")),
    ("markup", re.compile(r"<\||</?tool_call>|```")),
    ("a quotation mark", re.compile(r'["“”]')),
    ("several lines", re.compile(r"\n")),
    ("a role", re.compile(r"^\s*(system|user|visitor|assistant):")),
    ("a machine", re.compile(r"\b(as an? AI|AI|language model|assistant)\b")),
)


def missing(answer: str, facts: Iterable[str]) -> list[str]:
    """The key words that do not stand in an answer, each as a whole."""
    said = " ".join(answer.split())
    return [fact for fact in facts if not re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", said, re.I)]


def faults(answer: str, finish: str, tokens: int) -> list[str]:
    """What in an answer is out of character; nothing, if it is a character's speech."""
    found = [name for name, pattern in _FAULTS if pattern.search(answer.strip())]
    if not answer.strip():
        found.append("silence")
    if finish != "stop" or tokens > MAX_TOKENS:
        found.append("no end")
    return found
