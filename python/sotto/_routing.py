"""Decides which model of a route answers. Asks nothing itself: `Route` and `aio.Route` do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol

from ._desc import Json, json_text
from ._values import choice, number, string
from .errors import ArgumentError, SottoError, Status
from .terms import terms as read_terms

Policy = Literal["local_first", "remote_first", "both"]

_POLICIES = ("local_first", "remote_first", "both")
_FINAL = (Status.ARGUMENT, Status.BLOCKED, Status.CANCELLED)  # errors that another model would not mend


class Attempt(Protocol):
    """A request to one model. Its chunks, its end and its error go to `Relay.hear()`."""

    body: dict[str, Any]
    held: list[str]  # chunks before the first word

    def close(self) -> None:
        """Cancels the request."""


class Settings:
    """The models and the policy of a route.

    Raises:
        ArgumentError: A value is out of range.
    """

    def __init__(self, local: str, remote: str, policy: Policy, patience: float) -> None:
        self.local = string("local", local)
        models = [self.local, string("remote", remote)]
        named = _POLICIES[choice("policy", policy, {name: i for i, name in enumerate(_POLICIES)})]
        self.order = models[::-1] if named == "remote_first" else models
        self.at_once = 2 if named == "both" else 1
        self.patience = number("patience", patience) or None

    def relay(
        self, request: Json, options: Mapping[str, Any], ask: Callable[[dict[str, Any]], Attempt]
    ) -> Relay:
        """Returns a relay for one chat. `ask`: starts a request.

        Raises:
            ArgumentError: `request` or an option is invalid.
        """
        body = json.loads(json_text("request", request))
        if not isinstance(body, dict):
            raise ArgumentError("invalid request: expected a JSON object")
        read_terms(options)
        return Relay(self, body, ask)


class Relay:
    """One chat of a route.

    Attributes:
        done: Whether the answer is complete.
    """

    def __init__(
        self, settings: Settings, body: dict[str, Any], ask: Callable[[dict[str, Any]], Attempt]
    ) -> None:
        self._local, self._body, self._start = settings.local, body, ask
        self._waiting = list(settings.order)
        self._at_once, self._patience = settings.at_once, settings.patience
        self._running: list[Attempt] = []
        self._speaker: Attempt | None = None
        self._content, self._tokens, self._called = "", 0, False
        self.done = False

    @property
    def patience(self) -> float | None:
        """Seconds to wait for `hear()` before `ask_next()`; None: no limit."""
        return self._patience if self._speaker is None and self._waiting else None

    def begin(self) -> None:
        """Asks the first model, or both."""
        for _ in range(self._at_once):
            self.ask_next()

    def ask_next(self) -> None:
        """Asks the next model too."""
        self._ask({**self._body, "model": self._waiting.pop(0)})

    def close(self) -> None:
        """Cancels all requests."""
        for attempt in self._running:
            attempt.close()

    def hear(self, attempt: Attempt, what: str | Exception | None) -> Iterator[str]:
        """Takes a chunk, the end (None) or the error of a request. Yields the next chunks of the answer."""
        if attempt not in self._running:
            return
        if isinstance(what, Exception):
            self._failed(attempt, what)
        elif what is None:
            yield from self._take(attempt, attempt.held)
            self.done = True
        elif attempt is self._speaker or _speaks(what):
            yield from self._spoken(attempt, what)
        else:
            attempt.held.append(what)

    def _ask(self, body: dict[str, Any]) -> Attempt:
        self._running.append(self._start(body))
        return self._running[-1]

    def _spoken(self, attempt: Attempt, chunk: str) -> Iterator[str]:
        if self._speaker is None:
            self._speaker = attempt
            for other in self._running:
                if other is not attempt:
                    other.close()
            self._running = [attempt]
            yield from self._take(attempt, attempt.held)
            attempt.held = []
        yield from self._take(attempt, [chunk])

    def _take(self, attempt: Attempt, chunks: list[str]) -> Iterator[str]:
        """Yields chunks, and notes what they say. A model that continues says no role again."""
        continues = "continue_final_message" in attempt.body and "continue_final_message" not in self._body
        for text in chunks:
            chunk = json.loads(text)
            delta = _delta(chunk)
            self._content += delta.get("content") or ""
            self._tokens += 1 if delta.get("content") else 0
            self._called = self._called or bool(delta.get("tool_calls"))
            if not continues:
                yield text
            elif _speaks(text) or _is_last(chunk):
                delta.pop("role", None)
                yield json.dumps(chunk)

    def _failed(self, attempt: Attempt, error: Exception) -> None:
        """Asks another model in place of one that failed. Raises `error` if no other model is left."""
        self._running.remove(attempt)
        if not isinstance(error, SottoError) or error.status in _FINAL:
            raise error
        if attempt is self._speaker:
            self._continue(attempt, error)
        elif self._waiting:
            self.ask_next()
        elif not self._running:
            raise error

    def _continue(self, attempt: Attempt, error: SottoError) -> None:
        """Lets the local model continue what was said. Raises `error` if it cannot."""
        stored = "session" in self._body or "messages" not in self._body  # the engine has the conversation
        if attempt.body["model"] == self._local or self._called or stored:
            raise error
        body = {**self._body, "model": self._local}
        if self._content:
            said = {"role": "assistant", "content": self._content}
            body |= {"messages": [*self._body["messages"], said], "continue_final_message": True}
        for field in ("max_tokens", "max_completion_tokens"):
            if isinstance(body.get(field), int):
                body[field] = max(1, body[field] - self._tokens)
        self._speaker = self._ask(body)


def content_of(text: str) -> str:
    """Returns the words in a chunk."""
    return _delta(json.loads(text)).get("content") or ""


def _delta(chunk: dict[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices") or [{}]
    delta: dict[str, Any] = choices[0].get("delta") or {}
    return delta


def _speaks(text: str) -> bool:
    delta = _delta(json.loads(text))
    return any(delta.get(kind) for kind in ("content", "reasoning_content", "tool_calls"))


def _is_last(chunk: dict[str, Any]) -> bool:
    return "usage" in chunk or any(choice.get("finish_reason") for choice in chunk.get("choices") or [])
