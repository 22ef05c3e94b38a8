"""Messages as callers give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._values import wrong_type

Message = Mapping[str, Any]  # in the OpenAI schema
PromptInput = str | Sequence[int] | Sequence[Mapping[str, Any]]  # a text, tokens, or content parts
MessagesInput = str | Message | Iterable[Message] | None  # a text, a message, or several; None: nothing


def as_messages(name: str, said: MessagesInput, role: str) -> list[Message]:
    """Returns a list of OpenAI messages; a str becomes one message of the role `role`."""
    if said is None:
        return []
    if isinstance(said, str):
        return [{"role": role, "content": said}]
    if isinstance(said, Mapping):
        return [said]
    if isinstance(said, Iterable) and not isinstance(said, bytes):
        return list(said)
    raise wrong_type(name, said, "a str, a message or messages")
