"""Message history of a chat, with saving to and loading from a JSON file."""

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
    """An optional system message, and turns: a question, then its answer."""

    system: str = ""
    turns: list[Message] = field(default_factory=list)

    def messages(self) -> list[Message]:
        """Returns the messages of a chat request: the system message unless it is empty, then the turns."""
        head = [{"role": "system", "content": self.system}] if self.system else []
        return head + self.turns

    def say(self, text: str) -> None:
        """Appends a user message."""
        self.turns.append({"role": "user", "content": text})

    def answered(self, text: str) -> None:
        """Appends the model's answer. If `text` is empty, removes the question instead."""
        if text:
            self.turns.append({"role": "assistant", "content": text})
        else:
            self.undo()

    def undo(self) -> str | None:
        """Removes the last question and everything after it. Returns the question, or None without one."""
        asked = [place for place, turn in enumerate(self.turns) if turn["role"] == "user"]
        if not asked:
            return None
        question = content_of(self.turns[asked[-1]])
        del self.turns[asked[-1] :]
        return question

    def save(self, path: str) -> int:
        """Writes the messages to a file, as a JSON array of OpenAI messages. Returns their number.

        Raises `ArgumentError` if the file cannot be written.
        """
        messages = self.messages()
        text = json.dumps(messages, ensure_ascii=False, indent=2)
        try:
            Path(path).expanduser().write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise ArgumentError(f"{path} cannot be written: {error.strerror}") from None
        return len(messages)

    def load(self, path: str) -> int:
        """Replaces the conversation with the messages of a file. Returns the number of messages.

        Raises `ArgumentError` and changes nothing if the file is invalid.
        """
        messages = read(path)
        heads = [message for message in messages if message["role"] == "system"]
        self.system = "\n\n".join(content_of(message) for message in heads)
        self.turns = [message for message in messages if message["role"] != "system"]
        return len(messages)


def read(path: str) -> list[Message]:
    """Reads messages from a JSON file: an array of messages, or an object with that array in "messages".

    Raises `ArgumentError` if the file cannot be read or is invalid.
    """
    try:
        found = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ArgumentError(f"invalid {path}: expected JSON; {error}") from None
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list):
        raise ArgumentError(f"invalid {path}: expected a JSON array of messages")
    for number, message in enumerate(found):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise ArgumentError(
                f"{path}: invalid role of message {number}: expected one of {', '.join(_ROLES)}"
            )
        if not isinstance(message.get("content"), (str, list)):
            raise ArgumentError(
                f"{path}: missing content of message {number}: expected text or an array of parts"
            )
    return found


def content_of(message: Message) -> str:
    """Returns the text of a message, without images and other parts that are not text."""
    content = message["content"]
    if isinstance(content, str):
        return content
    parts = (part.get("text", "") for part in content if isinstance(part, dict))
    return "".join(part for part in parts if isinstance(part, str))
