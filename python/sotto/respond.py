"""OpenAI's Responses API: conversations that the engine stores, a response after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ._desc import Json
from ._json import load
from ._lib import lib
from ._typing import Unpack
from ._values import string, wrong_type
from .completion import Completes, ToolCall, Usage
from .stream import TokenStream
from .terms import RequestOptions

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Response(NamedTuple):
    """A whole response.

    Attributes:
        text: What the model says; "" if it only calls tools.
        id: The response's id, for `previous` of a later one.
        status: "completed", or "incomplete" if `max_output_tokens` or the context cut it.
        usage: Token counts.
        reasoning: Text that the model generated before its answer.
        tool_calls: Complete calls of tools.
        raw: The response of the API.
    """

    text: str
    id: str
    status: Literal["completed", "incomplete"]
    usage: Usage
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    raw: Mapping[str, Any] = _NOTHING


class Responds(Completes):
    """Part of `Engine`: responses, whose conversations the engine stores."""

    def llm_respond(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers a request of OpenAI's Responses API and returns the response as JSON.

        `previous_response_id` continues the conversation of a stored response; `instructions` is the system
        message of this response alone. The engine stores 4,096 responses, of together 64 MiB, unless `store`
        is false, and then drops the least recently used.

        Args:
            request_json: The request: `model`, `input`, and further fields.
            **terms: See `RequestOptions`.

        Returns:
            The response: `{"id": "resp-...", "object": "response", "output": [...], "usage": {...}, ...}`.

        Raises:
            ValueError: The request is invalid, or the previous response is not stored.
            InferenceError: The model is not loaded, or failed.
        """
        return self._ask("respond", request_json, terms).finish().json

    def llm_respond_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Answers a request of OpenAI's Responses API; returns its stream of events.

        The events are JSON: "response.created", "response.output_text.delta", ..., "response.completed".
        Arguments and errors are those of `llm_respond()`.
        """
        return TokenStream(self._ask("respond", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    def respond(
        self,
        said: str | Sequence[Mapping[str, Any]],
        *,
        model: str | None = None,
        previous: Response | str | None = None,
        instructions: str | None = None,
        **fields: Any,
    ) -> Response:
        """Answers what is new in a conversation, and waits for the whole answer.

        Args:
            said: The user's text, or items of the Responses API.
            model: Id of a loaded model; None: the only one that is loaded.
            previous: The response that this one continues, or its id; None: a new conversation.
            instructions: System message of this response alone; None: none.
            **fields: Fields of the Responses API (`max_output_tokens`, `tools`, `text`, ...), and `priority`,
                `deadline` and `target_tps` as in `RequestOptions`.

        Returns:
            The response.

        Raises:
            ArgumentError: A field is misspelt or out of range, `previous` is not stored, or `model` is None
                and not exactly one model is loaded.
            InferenceError: The model failed.
        """
        body, options = self._respond_body(said, model, previous, instructions, fields)
        return read_response(self._ask("respond", body, options).finish().json)

    def _respond_body(
        self,
        said: str | Sequence[Mapping[str, Any]],
        model: str | None,
        previous: Response | str | None,
        instructions: str | None,
        fields: Mapping[str, Any],
    ) -> tuple[dict[str, Any], RequestOptions]:
        if not isinstance(said, (str, Sequence)):
            raise wrong_type("said", said, "a text, or a list of items")
        more: dict[str, Any] = {"input": said if isinstance(said, str) else list(said)}
        if previous is not None:
            named = previous.id if isinstance(previous, Response) else previous
            more["previous_response_id"] = string("previous", named)
        if instructions is not None:
            more["instructions"] = string("instructions", instructions)
        return self._with_model("chat", model, fields, **more)


def read_response(response: str) -> Response:
    """Reads a response of the Responses API."""
    raw = load(response)
    texts = {"message": "", "reasoning": ""}
    calls = []
    for item in raw["output"]:
        if item["type"] in texts:
            texts[item["type"]] += "".join(part["text"] for part in item["content"])
        elif item["status"] == "completed":
            calls.append(ToolCall(item["name"], load(item["arguments"]), item["call_id"]))
    counts = raw["usage"]
    usage = Usage(
        counts["input_tokens"], counts["output_tokens"], counts["input_tokens_details"]["cached_tokens"]
    )
    return Response(texts["message"], raw["id"], raw["status"], usage, texts["reasoning"], tuple(calls), raw)
