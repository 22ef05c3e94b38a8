"""`Guard`: checks text against phrases and regular expressions, whole or while it streams."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ._call import check, encode, new, pointer, text, utf8
from ._handle import Unique
from ._json import load
from ._lib import lib
from ._values import choice, wrong_type
from .errors import ArgumentError

Stage = Literal["input", "output", "image_prompt"]
Guardrails = Mapping[str, Any] | str | os.PathLike[str]

STAGES = {
    "input": lib.SOTTO_GUARD_INPUT,
    "output": lib.SOTTO_GUARD_OUTPUT,
    "image_prompt": lib.SOTTO_GUARD_IMAGE_PROMPT,
}


class Verdict(NamedTuple):
    """What a guard decided about a text.

    Attributes:
        action: "allow", "block" or "rewrite".
        allowed: False if the text is blocked. A rewritten text is allowed as `rewritten`.
        checker_name: Name of the checker that decided; of an allowed text, the last one of the stage.
        score: Confidence from 0 to 1; None if nothing was found.
        category: Category of the checker that decided.
        reason: Reason of the checker that decided; empty if nothing was found.
        rewritten: The text to use instead; None unless the action is "rewrite".
        json: The verdict as the native library wrote it.
    """

    action: Literal["allow", "block", "rewrite"]
    allowed: bool
    checker_name: str
    score: float | None
    category: str | None
    reason: str
    rewritten: str | None
    json: str


def read_verdict(told: str) -> Verdict:
    """Returns the verdict that a JSON text holds."""
    found = load(told)
    action = found["action"]
    kind, details = (action, {}) if isinstance(action, str) else next(iter(action.items()))
    return Verdict(
        action=kind.lower(),
        allowed=found["allowed"],
        checker_name=found["checker_name"],
        score=found["score"],
        category=found["category"],
        reason=details.get("reason", ""),
        rewritten=details.get("rewritten"),
        json=told,
    )


def config_text(config: Guardrails) -> str:
    """Returns a configuration as JSON text.

    Raises:
        ArgumentError: The file cannot be read, or the mapping holds what JSON cannot.
        TypeError: `config` is no mapping, str or Path.
    """
    if isinstance(config, str):
        return config
    if isinstance(config, os.PathLike):
        try:
            if not os.path.isfile(config):
                raise ArgumentError(f"invalid guardrails '{config}': expected the path of a file")
            with open(config, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"invalid guardrails '{config}': expected a file of JSON; {error}") from None
    if isinstance(config, Mapping):
        import json

        try:
            return json.dumps(dict(config), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(f"invalid guardrails: expected what JSON can hold; {error}") from None
    raise wrong_type("guardrails", config, "a mapping, JSON text or a Path")


class Guard(Unique):
    """Checks texts against the checkers of a configuration. Needs no engine; thread-safe.

    Checkers of the types "topics" and "judge" need models: `Engine.check()` runs them.

    Args:
        config: The configuration: a mapping, JSON text, or the Path of a JSON file. An object of the stages
            "input", "output" and "image_prompt", each a list of checkers; see the guide on guardrails.

    Raises:
        ArgumentError: The configuration is invalid. The message names the JSON path.

    >>> guard = Guard({"input": [{"type": "phrases", "phrases": ["red wizard"]}]})
    >>> guard.check("the r e d  w1zard").allowed
    False
    """

    def __init__(self, config: Guardrails) -> None:
        out = new("sotto_guard **")
        told = utf8("guardrails", encode("guardrails", config_text(config)))
        check(lib.sotto_guard_create(told[0], out))
        self._pointer = out[0]
        self._end = weakref.finalize(self, _close, lib.sotto_guard_destroy, out[0], os.getpid())

    def close(self) -> None:
        """Frees the guard. Its open streams and engines continue. A second call does nothing."""
        self._end()

    def check(self, text: str, stage: Stage = "input") -> Verdict:
        """Checks a whole text.

        Args:
            text: The text, at most 16 MiB of UTF-8.
            stage: The list of checkers: "input", "output" or "image_prompt".

        Returns:
            The verdict of the first checker that found something.

        Raises:
            ArgumentError: The text is too long or holds lone surrogates, or the guard is closed.
            SottoError: The stage has checkers that need models.
        """
        return read_verdict(self.check_json(text, stage))

    def check_json(self, text: str, stage: Stage = "input") -> str:
        """Checks a whole text, as `check()` does, and returns the verdict as JSON."""
        given = _piece(text)  # keeps the bytes alive
        return _verdict(lib.sotto_guard_check, self._pointer, choice("stage", stage, STAGES), given[0])

    def stream(self, stage: Stage = "output") -> GuardStream:
        """Starts to check a text that arrives in pieces."""
        out = new("sotto_guard_stream **")
        check(lib.sotto_guard_open_stream(self._pointer, choice("stage", stage, STAGES), out))
        return GuardStream(out[0])


def pointer_of(guard: Guard | None) -> Any:
    """Returns a guard's native handle, or NULL."""
    return pointer(0) if guard is None else guard._pointer


class GuardStream(Unique):
    """A text that is checked while it streams; made by `Guard.stream()`. One thread at a time.

    Holds back the shortest end of the text that may still become part of something to find.

    >>> stream = guard.stream("input")
    >>> stream.feed("Meet the red wiz"), stream.feed("en king."), stream.finish()
    ('Meet the ', 'red wizen king', '.')
    """

    def __init__(self, stream: Any) -> None:
        self._pointer = stream
        self._blocked = new("int32_t *")
        self._end = weakref.finalize(self, _close, lib.sotto_guard_stream_close, stream, os.getpid())

    @property
    def blocked(self) -> bool:
        """True once a checker has blocked the text."""
        return bool(self._blocked[0])

    def feed(self, piece: str) -> str:
        """Adds a piece of the text. Returns what may be shown: nothing, once the text is blocked."""
        given = _piece(piece)  # keeps the bytes alive
        return self._release(lib.sotto_guard_stream_feed, given[0])

    def finish(self) -> str:
        """Ends the text. Returns the rest that may be shown."""
        return self._release(lib.sotto_guard_stream_finish)

    def verdict(self) -> Verdict:
        """Returns the verdict on the text so far."""
        return read_verdict(_verdict(lib.sotto_guard_stream_verdict, self._pointer))

    def close(self) -> None:
        """Drops what is held back. A second call does nothing."""
        self._end()

    def _release(self, call: Callable[..., int], *args: Any) -> str:
        out = new("sotto_str *")
        check(call(self._pointer, *args, out, self._blocked))
        return text(out[0])


def _piece(value: str) -> Any:
    if not isinstance(value, str):
        raise wrong_type("text", value, "a str")
    return utf8("text", encode("text", value))


def _verdict(call: Callable[..., int], *args: Any) -> str:
    out = new("sotto_str *")
    check(call(*args, out))
    return text(out[0])


def _close(call: Callable[[Any], None], pointer: Any, pid: int) -> None:
    if os.getpid() == pid:
        call(pointer)
