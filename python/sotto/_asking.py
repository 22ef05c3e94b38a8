"""Base class of `Engine`: builds requests from calls, and resolves model ids to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from ._call import encode, new, struct, text
from ._desc import MOST_U64, Json, StrPath, json_text, model_desc, model_name, path_text
from ._handle import Handle, Opening, Request, Unique
from ._json import load
from ._lib import lib
from ._ops import OPS
from ._values import choice, string, whole
from .backend import REMOTE, BackendNames
from .errors import ArgumentError, InferenceError, ModelLoadError
from .terms import terms

Progress = Callable[[str, float], None]  # called with "download" or "load", and a fraction from 0 to 1
Opened = TypeVar("Opened")

_STREAMING = {"chat": "llm_chat_completion_stream()", "completion": "llm_text_completion_stream()"}
_STREAMING["respond"] = "llm_respond_stream()"


class Asks(Unique):
    """Part of `Engine`: requests and model ids."""

    _handle: Handle
    _names: BackendNames

    def _ask(self, op: str, request: Json, on: Mapping[str, Any], flags: int = 0) -> Request:
        flags |= lib.SOTTO_REQUEST_PRIVATE
        desc = self._request_desc(op, request, flags, on, name="request_json")
        return Request(self._handle, InferenceError, lib.sotto_engine_submit, desc)

    def _open(self, body: Mapping[str, Any], made: Callable[[str], Opened]) -> Opened:
        """Opens a session and returns `made(id)`. Closes the session again if the call is interrupted."""
        flags = lib.SOTTO_REQUEST_PRIVATE
        desc = self._request_desc("open_session", body, flags, {}, name="request_json")
        opening = Opening(self._handle, lambda: self._ask("close_session", {"session": body["session"]}, {}))
        try:
            opening.submit(desc)
            opening.finish()
            return made(body["session"])
        except BaseException:
            opening.undo()
            raise

    def _request_desc(
        self,
        op: str,
        request: Json,
        flags: int,
        on: Mapping[str, Any],
        *,
        user: int = 0,
        name: str = "request",
        whole_response: bool = True,
    ) -> Any:
        self._handle.require()  # before any import, which fails during interpreter shutdown
        body = json_text(name, request)
        if whole_response and not flags & lib.SOTTO_REQUEST_CHUNKS:
            refuse_stream(op, request, body)
        body = self._names.request(body)
        self._load_remote(body)
        return struct(
            "sotto_request_desc",
            op=choice("op", op, OPS),
            body=encode(name, body),
            user=whole("user", user, MOST_U64),
            flags=flags,
            **terms(on),
        )

    def _load_remote(self, body: str) -> None:
        """Loads the model of a request if it is one on a server that is not loaded yet."""
        if "::" not in body:
            return
        asked = load(body)
        model = asked.get("model") if isinstance(asked, dict) else None
        options = self._names.remote(model) if isinstance(model, str) else None
        if options is None or any(one["id"] == model for one in self._loaded()):
            return
        desc = model_desc(str(model), "", REMOTE, options, flags=lib.SOTTO_REQUEST_PRIVATE)
        with naming(str(model), ""):
            Request(self._handle, ModelLoadError, lib.sotto_engine_load_model, desc).finish()

    def _loaded(self) -> list[dict[str, Any]]:
        models: list[dict[str, Any]] = load(self._json(lib.sotto_engine_list_models))
        return models

    def _find(self, model_id: StrPath, path: StrPath | None, progress: Progress | None) -> tuple[str, str]:
        """Returns a model's id and file path. Downloads the file if it is not on this machine."""
        from ._hub import locate

        if progress is not None and not callable(progress):
            raise TypeError(f"invalid progress '{progress!r}': expected a function or None")
        name = self._model_id(model_id)
        if self._names.remote(name) is not None:
            return name, ""
        return name, path_text("path", path) if path is not None else locate(name, progress) or ""

    def _here(self, model_id: StrPath, path: StrPath | None) -> tuple[str, str]:
        """Returns id and file path of a model that is on this machine. Downloads nothing."""
        from ._hub import find

        name = self._model_id(model_id)
        if self._names.remote(name) is not None:
            return name, ""
        return name, path_text("path", path) if path is not None else find(name) or ""

    def _model_id(self, model_id: StrPath) -> str:
        return string("model_id", self._names.model("model_id", model_name("model_id", model_id)))

    def _json(self, function: Callable[..., int]) -> str:
        out = new("sotto_str *")
        self._handle.call(function, out)
        return text(out[0])


@contextmanager
def naming(model_id: str, path: str) -> Iterator[None]:
    """Context manager that adds the model and its file to the message of a `ModelLoadError`."""
    try:
        yield
    except ModelLoadError as error:
        said = str(error)
        if model_id in said and path in said:
            raise
        file = f" from '{path}'" if path and path != model_id else ""
        named = ModelLoadError(f"model '{model_id}'{file}: {said}", error.status)
        named.reason = said
        raise named from error.__cause__


def refuse_stream(op: str, request: Json, body: str) -> None:
    """Raises `ArgumentError` if a request with `"stream": true` is passed to a non-streaming call."""
    if op not in _STREAMING or '"stream"' not in body:
        return
    asked = request if isinstance(request, Mapping) else load(body)
    if isinstance(asked, Mapping) and asked.get("stream") is True:
        raise ArgumentError(
            "invalid stream 'true': expected false or no such field in a call that returns the whole answer; "
            f"use {_STREAMING[op]}"
        )
