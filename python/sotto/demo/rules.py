"""Checks whether a line is in character and contains the expected facts.

The evaluation of the house model uses the same rules: a fact counts if the answer contains its key word as a
whole word, and a line in character contains speech only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_TOKENS = 64  # per line; a line that is cut there is incomplete

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
    """Returns the key words that the answer does not contain as whole words, ignoring case."""
    said = " ".join(answer.split())
    return [fact for fact in facts if not re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", said, re.I)]


def faults(answer: str, finish: str, tokens: int) -> list[str]:
    """Returns the reasons why an answer is out of character. Empty: it is in character.

    Args:
        answer: text of the answer.
        finish: finish reason; any reason but "stop" is a fault.
        tokens: length of the answer; more than `MAX_TOKENS` is a fault.
    """
    found = [name for name, pattern in _FAULTS if pattern.search(answer.strip())]
    if not answer.strip():
        found.append("silence")
    if finish != "stop" or tokens > MAX_TOKENS:
        found.append("no end")
    return found
