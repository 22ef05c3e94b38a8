"""`/responses` as llama-server streams it."""

from __future__ import annotations

from ..openai import operation
from ..routing import Route
from ..shapes import Typed

_CUT, _COMPLETE = '{"type":"response.incomplete"', '{"type":"response.completed"'


class _LlamaTyped(Typed):
    """The form of the Responses API, in which an answer that was cut off is `response.completed` too.

    The response in this event has its own status and `incomplete_details`.
    """

    def chunk(self, told: str) -> str:
        """Returns the event."""
        return super().chunk(_COMPLETE + told[len(_CUT) :] if told.startswith(_CUT) else told)


ROUTES = (Route("POST", ("/v1/responses", "/responses"), operation("respond", _LlamaTyped())),)
