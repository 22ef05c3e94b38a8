"""Slots of a model by number, and facts about loaded models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ._desc import StrPath, path_text
from ._json import load
from ._lib import lib
from ._values import string, whole
from .completion import Completes
from .errors import InferenceError, Status

_MOST_SLOTS = 65_535


class Slot(NamedTuple):
    """One of the slots of a model: the KV cache of one stream.

    Attributes:
        id: Number of the slot, from 0.
        is_processing: True while a request uses the slot.
        n_ctx: Tokens that the slot can hold.
        n_tokens: Tokens that the slot holds, also after its request has ended.
        session: Id of the session that uses or keeps the slot; None: no session.
        request: Id of the request that uses the slot; None: the slot is free.
    """

    id: int
    is_processing: bool
    n_ctx: int
    n_tokens: int
    session: str | None
    request: int | None


class SlotState(NamedTuple):
    """A saved or restored slot.

    Attributes:
        id: Number of the slot.
        n_tokens: Tokens that were saved or restored.
        n_bytes: Bytes that were written or read.
    """

    id: int
    n_tokens: int
    n_bytes: int


class Inspects(Completes):
    """Part of `Engine`: slots and model cards."""

    def model_info(self, model: str | None = None) -> Mapping[str, Any]:
        """Returns the entry of a loaded model in `model_list()`, with its card under `details`.

        Args:
            model: Id of a loaded model; None: the only one that is loaded.

        Returns:
            The entry: `id`, `backend`, `context`, `streams`, `bytes`, `adapters` and `details`.

        Raises:
            InferenceError: No model of that id is loaded; its `status` is `Status.NOT_FOUND`.
            ArgumentError: `model` is None and not exactly one model is loaded.
        """
        name = self._named(model)
        for entry in load(self._json(lib.sotto_engine_list_models)):
            if entry["id"] == name:
                found: Mapping[str, Any] = entry
                return found
        raise InferenceError(f"model '{name}' is not loaded: load it first", Status.NOT_FOUND)

    def slots(self, model: str | None = None) -> tuple[Slot, ...]:
        """Returns the slots of a model in order. A running step is finished first.

        Args:
            model: Id of a loaded model; None: the only one that is loaded.

        Returns:
            The slots; empty while the model is evicted.

        Raises:
            InferenceError: The model is not loaded, or its backend does not number its slots.
            ArgumentError: `model` is None and not exactly one model is loaded.
        """
        return read_slots(self._ask("slots", self._slot_body(model), {}).finish().json)

    def save_slot(self, slot: int, path: StrPath, *, model: str | None = None) -> SlotState:
        """Saves the KV cache of a slot to a file, whole or not at all.

        Args:
            slot: Number of the slot.
            path: The file, which the current user alone may read.
            model: Id of a loaded model; None: the only one that is loaded.

        Returns:
            The tokens that were saved, and the bytes that were written.

        Raises:
            InferenceError: A request or a pinned session has the slot (`Status.BUSY`), or the slot holds no
                tokens (`Status.STATE`).
            ArgumentError: There is no such slot.
        """
        return self._act(self._slot_body(model, "save", slot, path))

    def restore_slot(self, slot: int, path: StrPath, *, model: str | None = None) -> SlotState:
        """Loads a file of `save_slot()` or `save_state()` into a slot, instead of what the slot holds.

        Args:
            slot: Number of the slot.
            path: The file.
            model: Id of a loaded model; None: the only one that is loaded.

        Returns:
            The tokens that were restored, and the bytes that were read.

        Raises:
            InferenceError: A request or a pinned session has the slot (`Status.BUSY`), or the file is damaged
                or of another model.
            ArgumentError: There is no such slot.
        """
        return self._act(self._slot_body(model, "restore", slot, path))

    def erase_slot(self, slot: int, *, model: str | None = None) -> int:
        """Empties a slot, so that the next request in it reuses nothing.

        Args:
            slot: Number of the slot.
            model: Id of a loaded model; None: the only one that is loaded.

        Returns:
            The number of tokens that the slot held.

        Raises:
            InferenceError: A request or a pinned session has the slot (`Status.BUSY`).
            ArgumentError: There is no such slot.
        """
        told = self._ask("slots", self._slot_body(model, "erase", slot), {}).finish().json
        return int(load(told)["n_erased"])

    def _act(self, body: Mapping[str, Any]) -> SlotState:
        return read_slot_state(self._ask("slots", body, {}).finish().json)

    def _named(self, model: str | None) -> str:
        return self._only_model("slots") if model is None else string("model", model)

    def _slot_body(
        self,
        model: str | None,
        action: str = "list",
        slot: int | None = None,
        path: StrPath | None = None,
    ) -> dict[str, Any]:
        """Returns the body of an operation on slots."""
        body: dict[str, Any] = {"model": self._named(model), "action": action}
        if slot is not None:
            body["id_slot"] = whole("slot", slot, _MOST_SLOTS)
        if path is not None:
            body["path"] = path_text("path", path)
        return body


def read_slots(told: str) -> tuple[Slot, ...]:
    """Reads the response to a list of slots."""
    return tuple(Slot(**one) for one in load(told)["slots"])


def read_slot_state(told: str) -> SlotState:
    """Reads the response of a slot that was saved or restored."""
    raw = load(told)
    tokens = raw["n_saved"] if "n_saved" in raw else raw["n_restored"]
    return SlotState(raw["id_slot"], tokens, raw["n_written"] if "n_written" in raw else raw["n_read"])
