"""Answers chats by a local model and a model on a server, in the order of a policy."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ._desc import Json, json_text
from ._typing import Unpack
from ._values import choice, number, string
from .engine import Engine
from .errors import ArgumentError, SottoError, Status
from .stream import TokenStream
from .terms import RequestOptions

Policy = Literal["local_first", "remote_first", "both"]

_POLICIES = ("local_first", "remote_first", "both")
_FINAL = (Status.ARGUMENT, Status.BLOCKED, Status.CANCELLED)  # errors that another model would not mend


class Route:
    """Two models for one chat: the first to speak answers; the local one continues what a server breaks off.

    Thread-safe; each call is a chat of its own.

    Args:
        engine: The engine of both models.
        local: Id of a loaded model of this machine.
        remote: Id of a model on a server, such as "studio::qwen3".
        policy: "local_first" and "remote_first": the other model is asked if the first one fails, or has not
            begun to speak after `patience`; "both": both are asked at once. The
            model that speaks first answers; the other request is cancelled.
        patience: Seconds until the second model is asked too; 0: only after a failure.

    Raises:
        ArgumentError: A value is out of range.

    >>> route = Route(engine, "sotto/house", "studio::qwen3", policy="remote_first", patience=1.5)
    >>> for chunk in route.stream({"messages": [{"role": "user", "content": "Good evening."}]}):
    ...     delta = json.loads(chunk)["choices"][0]["delta"]
    ...     print(delta.get("content") or "", end="", flush=True)
    """

    def __init__(
        self,
        engine: Engine,
        local: str,
        remote: str,
        *,
        policy: Policy = "local_first",
        patience: float = 0,
    ) -> None:
        self._engine = engine
        self._local, self._remote = string("local", local), string("remote", remote)
        self._policy = _POLICIES[choice("policy", policy, {name: i for i, name in enumerate(_POLICIES)})]
        self._patience = number("patience", patience)

    def stream(self, request: Json, **terms: Unpack[RequestOptions]) -> Iterator[str]:
        """Yields the OpenAI chunks of an answer, each a JSON string; `model` names the model that speaks.

        Words that were said are never repeated: where the server breaks off, the local model continues them
        (`continue_final_message`). Closing the iterator cancels all requests.

        Args:
            request: A chat completion request; `model` is set by the route.
            **terms: `priority`, `deadline` and `target_tps`.

        Raises:
            ArgumentError: The request is invalid.
            SottoError: Both models failed, or the answer cannot be continued.
        """
        body = json.loads(json_text("request", request))
        if not isinstance(body, dict):
            raise ArgumentError("invalid request: expected a JSON object")
        order = [self._remote, self._local] if self._policy == "remote_first" else [self._local, self._remote]
        return _Chat(self._engine, body, terms, self._local).run(
            order, 2 if self._policy == "both" else 1, self._patience or None
        )

    def text(self, request: Json, **terms: Unpack[RequestOptions]) -> str:
        """Returns the content of an answer, as `stream()` yields it, once it is complete."""
        pieces = (_delta(json.loads(chunk)).get("content") for chunk in self.stream(request, **terms))
        return "".join(piece for piece in pieces if piece)


@dataclass(eq=False)
class _Attempt:
    """One model's answer, which a thread of its own receives."""

    engine: Engine
    body: dict[str, Any]
    terms: dict[str, Any]
    heard: queue.SimpleQueue[tuple[_Attempt, str | SottoError | None]]
    closed: bool = False
    stream: TokenStream | None = None

    def __post_init__(self) -> None:
        self.held: list[str] = []  # chunks before the first word
        self._lock = threading.Lock()  # guards closed and stream
        threading.Thread(target=self._run, name="sotto route", daemon=True).start()

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.body["model"])

    def _run(self) -> None:
        try:
            stream = self.engine.llm_chat_completion_stream(self.body, **self.terms)
            with self._lock:
                self.stream = stream
                if self.closed:
                    stream.close()
            for chunk in stream:
                self.heard.put((self, chunk))
            self.heard.put((self, None))
        except SottoError as error:
            self.heard.put((self, error))

    def close(self) -> None:
        """Cancels the answer."""
        with self._lock:
            self.closed = True
            if self.stream is not None:
                self.stream.close()


class _Chat:
    """One chat of a route."""

    def __init__(self, engine: Engine, body: dict[str, Any], terms: Any, local: str) -> None:
        self._engine, self._body, self._terms, self._local = engine, body, dict(terms), local
        self._heard: queue.SimpleQueue[tuple[_Attempt, str | SottoError | None]] = queue.SimpleQueue()
        self._running: list[_Attempt] = []
        self._speaker: _Attempt | None = None
        self._content, self._tokens, self._called = "", 0, False

    def run(self, order: list[str], at_once: int, patience: float | None) -> Iterator[str]:
        """Asks the models in `order`, `at_once` of them to begin with; yields the chunks of the answer."""
        waiting = order[at_once:]
        try:
            for model in order[:at_once]:
                self._ask({**self._body, "model": model})
            while True:
                waits = patience if self._speaker is None and waiting else None
                try:
                    attempt, what = self._heard.get(timeout=waits)
                except queue.Empty:
                    self._ask({**self._body, "model": waiting.pop(0)})
                    continue
                if attempt not in self._running:
                    continue
                if isinstance(what, SottoError):
                    self._failed(attempt, what, waiting)
                elif what is None:
                    yield from self._take(attempt, attempt.held)
                    return
                elif attempt is self._speaker or _speaks(what):
                    yield from self._spoken(attempt, what)
                else:
                    attempt.held.append(what)
        finally:
            for attempt in self._running:
                attempt.close()

    def _ask(self, body: dict[str, Any]) -> _Attempt:
        self._running.append(_Attempt(self._engine, body, self._terms, self._heard))
        return self._running[-1]

    def _spoken(self, attempt: _Attempt, chunk: str) -> Iterator[str]:
        if self._speaker is None:
            self._speaker = attempt
            for other in self._running:
                if other is not attempt:
                    other.close()
            self._running = [attempt]
            yield from self._take(attempt, attempt.held)
        yield from self._take(attempt, [chunk])

    def _take(self, attempt: _Attempt, chunks: list[str]) -> Iterator[str]:
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

    def _failed(self, attempt: _Attempt, error: SottoError, waiting: list[str]) -> None:
        """Asks another model in place of one that failed. Raises `error` if no other model is left."""
        self._running.remove(attempt)
        if error.status in _FINAL:
            raise error
        if attempt is self._speaker:
            self._continue(attempt, error)
        elif waiting:
            self._ask({**self._body, "model": waiting.pop(0)})
        elif not self._running:
            raise error

    def _continue(self, attempt: _Attempt, error: SottoError) -> None:
        """Lets the local model continue what was said. Raises `error` if it cannot."""
        stored = "session" in self._body or "messages" not in self._body  # the engine has the conversation
        if attempt.model == self._local or self._called or stored:
            raise error
        body = {**self._body, "model": self._local}
        if self._content:
            said = {"role": "assistant", "content": self._content}
            body |= {"messages": [*self._body["messages"], said], "continue_final_message": True}
        for field in ("max_tokens", "max_completion_tokens"):
            if isinstance(body.get(field), int):
                body[field] = max(1, body[field] - self._tokens)
        self._speaker = self._ask(body)


def _delta(chunk: dict[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices") or [{}]
    delta: dict[str, Any] = choices[0].get("delta") or {}
    return delta


def _speaks(text: str) -> bool:
    delta = _delta(json.loads(text))
    return any(delta.get(kind) for kind in ("content", "reasoning_content", "tool_calls"))


def _is_last(chunk: dict[str, Any]) -> bool:
    return "usage" in chunk or any(choice.get("finish_reason") for choice in chunk.get("choices") or [])
