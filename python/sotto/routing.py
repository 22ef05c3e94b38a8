"""Answers chats by a local model and a model on a server, in the order of a policy."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ._desc import Json
from ._routing import Policy, Relay, Settings, content_of
from ._typing import Unpack
from .engine import Engine
from .stream import TokenStream
from .terms import RequestOptions


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
        self._settings = Settings(local, remote, policy, patience)

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
        heard: _Heard = queue.SimpleQueue()
        relay = self._settings.relay(request, terms, lambda body: _Attempt(self._engine, body, terms, heard))
        return _run(relay, heard)

    def text(self, request: Json, **terms: Unpack[RequestOptions]) -> str:
        """Returns the content of an answer, as `stream()` yields it, once it is complete."""
        return "".join(map(content_of, self.stream(request, **terms)))


def _run(relay: Relay, heard: _Heard) -> Iterator[str]:
    """Yields the chunks of an answer."""
    try:
        relay.begin()
        while not relay.done:
            try:
                attempt, what = heard.get(timeout=relay.patience)
            except queue.Empty:
                relay.ask_next()
            else:
                yield from relay.hear(attempt, what)
    finally:
        relay.close()


@dataclass(eq=False)
class _Attempt:
    """One model's answer, which a thread of its own receives."""

    engine: Engine
    body: dict[str, Any]
    terms: RequestOptions
    heard: _Heard
    closed: bool = False
    stream: TokenStream | None = None
    held: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # guards closed and stream
        threading.Thread(target=self._run, name="sotto route", daemon=True).start()

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
        except Exception as error:
            self.heard.put((self, error))

    def close(self) -> None:
        """Cancels the answer."""
        with self._lock:
            self.closed = True
            if self.stream is not None:
                self.stream.close()


_Heard = queue.SimpleQueue[tuple[_Attempt, str | Exception | None]]
