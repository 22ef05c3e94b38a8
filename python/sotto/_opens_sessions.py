"""Part of `Engine`: opens sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .adapters import Lora
from .completion import Completes
from .messages import MessagesInput
from .session import Session, open_body, sizes_of
from .state import KeepsStates
from .token_session import TokenSession
from .token_session import open_body as open_tokens_body


class OpensSessions(KeepsStates, Completes):
    """Part of `Engine`: opens sessions."""

    def session(
        self,
        session_id: str | None = None,
        messages: MessagesInput = None,
        *,
        model: str | None = None,
        pinned: bool = False,
        lora: Sequence[Lora] | None = None,
        state: bytes | None = None,
    ) -> Session:
        """Opens a session: a conversation that the engine stores.

        Args:
            session_id: Id of the session; None: a random id.
            messages: Earlier messages; a text is a system message, for example a character sheet, which
                `Session.set_system()` replaces later.
            model: Default model of the session; None: the only loaded model that chats, else that of its
                first request.
            pinned: Pins the session, see `Session.pin()`.
            lora: LoRA adapters that its answers use, as the request field `lora`; None: the model's default.
            state: KV cache from `Session.state()`, so that the first turn prefills only what is new.
        """
        model = self._resolve(model)
        body = open_body(session_id, messages, model, pinned, lora)
        self._warm(model, state)
        engine: Any = self  # an Engine
        return self._open(body, lambda name: Session(engine, name))

    def token_session(
        self,
        session_id: str | None = None,
        tokens: Iterable[int] = (),
        *,
        model: str | None = None,
        pinned: bool = False,
        lora: Sequence[Lora] | None = None,
        state: bytes | None = None,
    ) -> TokenSession:
        """Opens a session that holds tokens. Other arguments are those of `session()`."""
        model = self._resolve(model)
        body = open_tokens_body(session_id, tokens, model, pinned, lora)
        self._warm(model, state)
        engine: Any = self  # an Engine
        return self._open(body, lambda name: TokenSession(engine, name))

    def sessions(self) -> dict[str, int]:
        """Returns the ids of the open sessions, each with its number of messages or tokens."""
        return sizes_of(self._ask("read_session", {}, {}).finish().json)
