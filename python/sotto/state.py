"""KV cache states: saved to files or memory, and restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._asking import Asks
from ._call import utf8
from ._desc import Json, json_text
from ._handle import Request
from ._json import load
from ._lib import lib
from ._typing import Unpack
from ._values import wrong_type
from .errors import ArgumentError, InferenceError
from .terms import RequestOptions


class KeepsStates(Asks):
    """Part of `Engine`: KV cache states."""

    def save_state(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Prefills `messages` or `prompt` and saves the KV cache to the file `path`.

        `restore_state()` loads the file later, which saves the prefill, for example of a character sheet.
        """
        return self._ask("save_state", file_body(request_json), terms).finish().json

    def read_state(self, request_json: Json, **terms: Unpack[RequestOptions]) -> bytes:
        """Prefills `messages`, a `prompt` or a `session` and returns the KV cache, for `restore_state()`.

        Takes the body of `save_state()` without `path`; returns the bytes that the file would have.
        """
        return collect(self._ask("save_state", memory_body(request_json), terms))

    def restore_state(self, request_json: Json, state: bytes | None = None) -> str:
        """Loads a KV cache into the prefix cache of `model`, for the next prompt that starts with it.

        Args:
            request_json: `model`, and `path` if the state is in a file.
            state: The bytes of `read_state()` or `Session.state()`; None: `path` names a file.

        Returns:
            JSON with the number of `tokens` and `bytes`.

        Raises:
            SottoError: The state is damaged, cut off, or from another model, library version or set of
                options. Nothing has changed.
        """
        if state is None:
            return self._ask("restore_state", request_json, {}).finish().json
        return self._restoring(model_of(request_json), state).finish().json

    def _warm(self, model: str | None, state: bytes | None) -> None:
        """Restores the state of a session that is about to be opened, if there is one."""
        if state is not None:
            self._restoring(with_state(model), state).finish()

    def _restoring(self, model: str, state: bytes) -> Request:
        name, bytes_ = utf8("model", self._model_id(model)), utf8("state", state_bytes(state))
        arguments = (name[0], bytes_[0], lib.SOTTO_REQUEST_PRIVATE)
        return Request(self._handle, InferenceError, lib.sotto_engine_restore_state, *arguments)


def file_body(request_json: Json) -> Json:
    """Returns the body of a request for a state in a file. Raises `ArgumentError` if it has no `path`."""
    body = _read(request_json)
    if isinstance(body, Mapping) and "path" not in body:
        raise ArgumentError(
            "missing path: expected the file of the state; read_state() returns the state itself"
        )
    return request_json


def memory_body(request_json: Json) -> Json:
    """Returns the body of a request for a state in memory. Raises `ArgumentError` if it has a `path`."""
    body = _read(request_json)
    if isinstance(body, Mapping) and "path" in body:
        raise ArgumentError("invalid path: expected no path for a state in memory; save_state() takes one")
    return request_json


def session_body(session_id: str) -> dict[str, Any]:
    """Returns the body of a request for the state of a session: it ends with the session's last message."""
    return {"session": session_id, "add_generation_prompt": False}


def model_of(request_json: Json) -> str:
    """Returns the model of a request's body. Raises `ArgumentError` if it has none."""
    body = _read(request_json)
    model = body.get("model") if isinstance(body, Mapping) else None
    if not isinstance(model, str):
        raise ArgumentError("missing model: expected the id of a loaded model in request_json")
    return model


def with_state(model: str | None) -> str:
    """Returns the model of a session that is opened with a state. Raises `ArgumentError` if it has none."""
    if model is None:
        raise ArgumentError("missing model: expected the id of the model that the state is of")
    return model


def state_bytes(state: object) -> bytes:
    """Returns a state. Raises `TypeError` if it is neither bytes nor a buffer of bytes."""
    if not isinstance(state, bytes | bytearray | memoryview):
        raise wrong_type("state", state, "bytes")
    return bytes(state)


def collect(request: Request) -> bytes:
    """Waits for a request and returns its data. Raises the request's error if it failed."""
    parts: list[bytes] = []
    with request:
        while (event := request.next()).kind != "request_done":
            parts.append(event.data)
    return b"".join(parts)


def _read(request_json: Json) -> Any:
    is_read = isinstance(request_json, Mapping)
    return request_json if is_read else load(json_text("request_json", request_json))
