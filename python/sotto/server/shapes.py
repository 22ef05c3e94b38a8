"""Forms of answers on the wire. `Shape` passes on what the engine writes, which is OpenAI's form."""

from __future__ import annotations

from typing import Any

from .errors import HttpError, error_object, error_text


class Shape:
    """OpenAI's form: the engine's JSON unchanged, and streams that end with `[DONE]`."""

    def whole(self, told: str) -> str:
        """Returns the body of a whole answer. `told`: the engine's response."""
        return told

    def chunk(self, told: str) -> str:
        """Returns the server-sent events for a chunk of the engine; empty: none."""
        return f"data: {told}\n\n"

    def end(self) -> str:
        """Returns the server-sent events that end a stream."""
        return "data: [DONE]\n\n"

    def ping(self) -> str:
        """Returns what keeps a stream open while the model is silent: a comment."""
        return ": ping\n\n"

    def broken(self, error: HttpError) -> str:
        """Returns the server-sent events for an error amid a stream."""
        return f"data: {error_text(error)}\n\n"

    def error(self, error: HttpError) -> dict[str, Any]:
        """Returns the body of an error."""
        return error_object(error)


class Typed(Shape):
    """The form of OpenAI's Responses API: each event carries its type as its name."""

    _TYPE = '{"type":"'

    def chunk(self, told: str) -> str:
        """Returns the event, named by its member `type`, which the engine writes first."""
        if told.startswith(self._TYPE):
            name = told[len(self._TYPE) : told.index('"', len(self._TYPE))]
            return f"event: {name}\ndata: {told}\n\n"
        return super().chunk(told)

    def end(self) -> str:
        """Returns nothing: `response.completed` is the last event."""
        return ""

    def broken(self, error: HttpError) -> str:
        """Returns an event of type `error`."""
        import json

        told = {"type": "error", "code": error.type, "message": error.message, "param": None}
        return f"event: error\ndata: {json.dumps(told)}\n\n"
