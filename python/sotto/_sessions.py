"""What sessions of messages and of tokens have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from . import engine as blocking  # which imports this module's users; for annotations
from ._handle import Unique
from ._values import string, truth
from .adapters import Lora
from .errors import SottoError, Status
from .state import collect, session_body

Self = TypeVar("Self", bound="StoredSession")


class StoredSession(Unique):
    """A session that the engine stores under an id."""

    def __init__(self, engine: blocking.Engine, session_id: str) -> None:
        self._engine = engine
        self.id = string("session_id", session_id)

    def __repr__(self) -> str:
        return f"<sotto.{type(self).__name__} {self.id!r}>"

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def set_lora(self, lora: Sequence[Lora]) -> None:
        """Sets the LoRA adapters of later turns, as the request field `lora`; `[]`: none."""
        self._engine._ask("change_session", lora_body(self.id, lora), {}).finish()

    def pin(self, pinned: bool = True) -> None:
        """Pins the session, so that it keeps its slot and KV cache between turns; `False` unpins it.

        Raises:
            InferenceError: The session would take the last unpinned slot of its model.
        """
        self._engine._ask("change_session", pin_body(self.id, pinned), {}).finish()

    def state(self) -> bytes:
        """Returns the KV cache of the session, for `state` of `Engine.session()`, or `restore_state()`.

        Waits for the model, which prefills what the KV cache lacks. A token takes `kv_per_token` bytes, see
        `Engine.plan_model()`. The state holds no messages: save these too.

        Raises:
            ArgumentError: The session is empty.
            InferenceError: The session's model is not loaded, or its backend saves no states.
        """
        return collect(self._engine._ask("save_state", session_body(self.id), {}))

    def close(self) -> None:
        """Closes the session and deletes what it holds. A second call does nothing."""
        if self._engine._handle.closed:
            return
        closing = self._engine._ask("close_session", {"session": self.id}, {})
        try:
            while closing.next().kind != "request_done":
                pass
        except SottoError as error:
            if error.status != Status.NOT_FOUND:
                raise
        except BaseException:
            closing.settle()  # the request continues in the engine
            raise


def pin_body(session_id: str, pinned: bool) -> dict[str, Any]:
    """Returns the request body that pins or unpins a session."""
    return {"session": session_id, "pinned": truth("pinned", pinned)}


def lora_body(session_id: str, lora: Sequence[Lora]) -> dict[str, Any]:
    """Returns the request body that sets a session's LoRA adapters."""
    return {"session": session_id, "lora": list(lora)}
