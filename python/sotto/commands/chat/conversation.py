"""What was said so far, and how it goes into a file and out again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ArgumentError

Message = dict[str, Any]
_ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass
class Conversation:
    """A system message, or none, and turns: a question, then its answer."""

    system: str = ""
    turns: list[Message] = field(default_factory=list)

    def messages(self) -> list[Message]:
        """The messages of a chat request: the system message, if there is one, and the turns."""
        head = [{"role": "system", "content": self.system}] if self.system else []
        return head + self.turns

    def say(self, text: str) -> None:
        """The user says something."""
        self.turns.append({"role": "user", "content": text})

    def answered(self, text: str) -> None:
        """The model said this. Nothing: then it was not asked either."""
        if text:
            self.turns.append({"role": "assistant", "content": text})
        else:
            self.undo()

    def undo(self) -> str | None:
        """Takes the last question back, and what came of it. Returns the question."""
        asked = [place for place, turn in enumerate(self.turns) if turn["role"] == "user"]
        if not asked:
            return None
        question = content_of(self.turns[asked[-1]])
        del self.turns[asked[-1] :]
        return question

    def save(self, path: str) -> int:
        """Writes OpenAI messages as JSON. Returns how many."""
        messages = self.messages()
        text = json.dumps(messages, ensure_ascii=False, indent=2)
        try:
            Path(path).expanduser().write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise ArgumentError(f"{path} cannot be written: {error.strerror}") from None
        return len(messages)

    def load(self, path: str) -> int:
        """Takes over the messages of a file. Returns how many; a bad file changes nothing."""
        messages = read(path)
        heads = [message for message in messages if message["role"] == "system"]
        self.system = "\n\n".join(content_of(message) for message in heads)
        self.turns = [message for message in messages if message["role"] != "system"]
        return len(messages)


def read(path: str) -> list[Message]:
    """The messages of a file: an array of them, or an object that has one under "messages"."""
    try:
        found = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ArgumentError(f"{path} is not JSON: {error}") from None
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list):
        raise ArgumentError(f"{path} holds no array of messages")
    for number, message in enumerate(found):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise ArgumentError(f"{path}: message {number} has no role of {', '.join(_ROLES)}")
        if not isinstance(message.get("content"), (str, list)):
            raise ArgumentError(f"{path}: message {number} has no content")
    return found


def content_of(message: Message) -> str:
    """A message's text, without what is no text."""
    content = message["content"]
    if isinstance(content, str):
        return content
    parts = (part.get("text", "") for part in content if isinstance(part, dict))
    return "".join(part for part in parts if isinstance(part, str))
