"""Sessions that hold tokens instead of messages, for tools that work on sequences."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._json import load
from ._sessions import StoredSession
from ._typing import Unpack
from ._values import invalid, string, whole, wrong_type
from .adapters import Lora
from .completion import Completion, read_completion
from .errors import ArgumentError
from .terms import RequestOptions

_MOST = (1 << 31) - 1  # a position, or a token


class TokenSession(StoredSession):
    """A sequence of tokens that the engine stores under an id. `Engine.token_session()` opens one.

    A completion appends its prompt and its answer, and prefills only what the KV cache lacks. Edits work on
    positions: the n-th token has position n - 1 until `shift()` changes it. Answers always equal those of a
    new session with the same tokens. `TokenSession(engine, session_id)` refers to a session that is open.

    >>> with engine.token_session(tokens=[1, 15043], model="sotto/house") as raw:
    ...     print(raw.complete([3186], {"max_tokens": 8}).tokens)
    ...     raw.cut(2)  # keeps positions 0 and 1
    """

    def complete(
        self,
        prompt: Iterable[int] = (),
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> Completion:
        """Appends tokens, and waits for the answer, whose tokens are appended too.

        Args:
            prompt: Tokens to append; none: only the answer is appended.
            request: Further fields of the completion: `max_tokens`, `temperature`, ...
            **terms: See `RequestOptions`.

        Returns:
            The answer; `tokens` has its tokens, as the session holds them.

        Raises:
            ArgumentError: A field is invalid, or the session and the prompt are both empty.
            InferenceError: The session answers another completion or has a gap, or the model failed.
        """
        body = turn_body(self.id, prompt, request)
        return read_completion(self._engine._ask("completion", body, terms).finish().json)

    def cut(self, from_: int = 0, to: int | None = None) -> None:
        """Drops the tokens at positions `from_` to before `to`; None: the end.

        A cut in the middle leaves a gap, after which no completion goes on; `shift()` closes it.

        Raises:
            ArgumentError: The range is beyond the end.
            InferenceError: The session answers a completion.
        """
        self._edit(cut_body(self.id, from_, to))

    def shift(self, delta: int, from_: int = 0, to: int | None = None) -> None:
        """Adds `delta` to the positions from `from_` to before `to`; None: the end.

        Raises:
            ArgumentError: The tokens would not keep their order, or a position would be negative.
            InferenceError: The session answers a completion.
        """
        self._edit(shift_body(self.id, delta, from_, to))

    def copy(self, session_id: str | None = None, from_: int = 0, to: int | None = None) -> TokenSession:
        """Opens a session as a copy of positions `from_` to before `to`, or replaces its tokens.

        Args:
            session_id: Id of the copy; None: a random id.
            from_: First position.
            to: Position after the last; None: the end.

        Returns:
            The copy. Its tokens keep their positions.
        """
        body = copy_body(self.id, session_id, from_, to)
        self._edit(body)
        return TokenSession(self._engine, body["to_session"])

    @property
    def end(self) -> int:
        """The last position; -1: the session is empty."""
        return int(self._edit({"session": self.id, "action": "read"})["end"])

    @property
    def tokens(self) -> list[int]:
        """All tokens of the session, in the form that `Engine.token_session()` takes."""
        return tokens_of(self._engine._ask("read_session", {"session": self.id}, {}).finish().json)

    def _edit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = load(self._engine._ask("edit_session", body, {}).finish().json)
        return told


# Request bodies and response parsers, shared by sotto.Engine and sotto.aio.Engine.


def open_body(
    session_id: str | None,
    tokens: Iterable[int],
    model: str | None,
    pinned: bool,
    lora: Sequence[Lora] | None,
) -> dict[str, Any]:
    """Returns the request body that opens a token session."""
    body: dict[str, Any] = {"session": _id(session_id), "tokens": _tokens("tokens", tokens), "pinned": pinned}
    if lora is not None:
        body["lora"] = list(lora)
    return body if model is None else {**body, "model": string("model", model)}


def turn_body(session_id: str, prompt: Iterable[int], request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the completion request body of one turn."""
    if request is not None and not isinstance(request, Mapping):
        raise wrong_type("request", request, "a mapping of further fields")
    more = {"return_tokens": True, **(request or {})}
    return {**more, "session": session_id, "prompt": _tokens("prompt", prompt)}


def cut_body(session_id: str, from_: int, to: int | None) -> dict[str, Any]:
    """Returns the request body that drops tokens."""
    return {"session": session_id, "action": "cut", **_range(from_, to)}


def shift_body(session_id: str, delta: int, from_: int, to: int | None) -> dict[str, Any]:
    """Returns the request body that shifts positions."""
    try:
        by = operator.index(None if isinstance(delta, bool) else delta)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type("delta", delta, "an integer") from None
    if not -_MOST <= by <= _MOST:
        raise ArgumentError(invalid("delta", by, f"an integer from {-_MOST} to {_MOST}"))
    return {"session": session_id, "action": "shift", "delta": by, **_range(from_, to)}


def copy_body(session_id: str, into: str | None, from_: int, to: int | None) -> dict[str, Any]:
    """Returns the request body that copies tokens."""
    return {"session": session_id, "action": "copy", "to_session": _id(into), **_range(from_, to)}


def tokens_of(session: str) -> list[int]:
    """Returns the tokens in the response of a read_session request."""
    told = load(session)
    if "tokens" not in told:
        raise ArgumentError(
            invalid("session_id", told["session"], "a token session, but it holds messages; use Session")
        )
    return list(told["tokens"])


def _tokens(name: str, tokens: Iterable[int]) -> list[int]:
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        raise wrong_type(name, tokens, "tokens")
    return [whole(f"{name}[{at}]", token, _MOST) for at, token in enumerate(tokens)]


def _range(from_: int, to: int | None) -> dict[str, int]:
    return {"from": whole("from_", from_, _MOST), "to": -1 if to is None else whole("to", to, _MOST)}


def _id(given: str | None) -> str:
    return f"session-{os.urandom(8).hex()}" if given is None else string("session_id", given)
