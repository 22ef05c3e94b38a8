"""`Template`: the chat template that the arguments of `Runner` name."""

from __future__ import annotations

from pathlib import Path

from .._gguf import read_values
from .._json import load
from .._values import invalid, string
from .errors import RunnerError

_KEY = "tokenizer.chat_template"


class Template:
    """A chat template for models that have none, and one for all models.

    Args:
        literal: Jinja text, or a JSON file with "chat_template"; for models without a template.
        explicit: File with Jinja text; for all models.

    Raises:
        RunnerError: A file is missing, or has no template.
    """

    def __init__(self, literal: str | None, explicit: str | None) -> None:
        self._explicit = None if explicit is None else _read("jinja_explicit", explicit)
        self._literal = None if literal is None else string("chat_template", literal)
        if self._literal is not None and self._literal.endswith(".json"):
            told = load(_read("chat_template", self._literal))
            found = told.get("chat_template") if isinstance(told, dict) else None
            if not isinstance(found, str):
                expected = "a JSON file whose field 'chat_template' is a text"
                raise RunnerError(invalid("chat_template", self._literal, expected))
            self._literal = found

    def text(self, path: str) -> str | None:
        """Returns the template for the model in a GGUF file; None: its own."""
        if self._explicit is not None:
            return self._explicit
        if self._literal is None or _has_template(path):
            return None
        return self._literal


def _has_template(path: str) -> bool:
    """Returns True if a GGUF file has a chat template. Templates are longer than `read_values()` reads."""
    if read_values(path, (_KEY,)):
        return True
    try:
        with open(path, "rb") as file:
            return _KEY.encode() in file.read(_HEAD)
    except OSError:
        return False


_HEAD = 64 << 20  # bytes: templates stand behind the vocabulary


def _read(name: str, path: str) -> str:
    try:
        return Path(string(name, path)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunnerError(invalid(name, path, f"a file that can be read: {error}")) from None
