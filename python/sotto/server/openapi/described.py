"""What the document says of each route, by its method and its first path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .components import COUNT, OBJECT
from .schemas import Schema, reference

_NULL = {"type": "null"}
_ARRAYS = {"type": "array", "minItems": 1, "maxItems": 128}
_TOKENS = {"type": "array", "minItems": 1, "items": {"type": "integer", "maximum": 2147483647}}
_PROMPTS: Schema = {
    "description": "The text to continue, or several: each has its choices in the answer.",
    "anyOf": [
        reference("request.field.prompt"),
        {**_ARRAYS, "items": {"type": "string"}},
        {**_ARRAYS, "items": _TOKENS},
    ],
}


@dataclass(frozen=True)
class Described:
    """The description of a route.

    Attributes:
        summary: What it does.
        operation: The engine's operation whose fields its body has; "": the body is no operation's.
        required: Fields without which the body is refused.
        changed: Fields of the operation that the server takes in another form; None: not at all.
        is_closed: Whether fields are refused that the body does not have.
        body: Schema of another body; None: the operation's, or no body.
        takes: Content type of the body.
        form: Schema of a multipart form that is taken instead of the body; None: none is.
        answer: Component or schema of the answer; None: the answer is no JSON.
        also: Further content types of the answer.
        is_stream: Whether the answer may be a stream.
        status: Status of the answer.
        error: Component of errors.
        refused: Further statuses.
        query: Parameters of its query, which are texts and may be absent.
    """

    summary: str
    operation: str = ""
    required: tuple[str, ...] = ()
    changed: Mapping[str, Any] = field(default_factory=dict)
    is_closed: bool = False
    body: Schema | None = None
    takes: str = "application/json"
    form: Schema | None = None
    answer: str | Schema | None = None
    also: tuple[str, ...] = ()
    is_stream: bool = False
    status: int = 200
    error: str = "error"
    refused: Mapping[int, str] = field(default_factory=dict)
    query: tuple[str, ...] = ()


_TEXT_OR_BLOCKS: Schema = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object", "required": ["type"]}}]
}
_MESSAGES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"enum": ["user", "assistant", "system"]}, "content": _TEXT_OR_BLOCKS},
    },
}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, _NULL]}


def _message_body(*, counts: bool) -> Schema:
    """Returns the schema of a request of Anthropic's API."""
    properties: Schema = {
        "model": _nullable({"type": "string", "minLength": 1}),
        "messages": _MESSAGES,
        "system": _nullable(_TEXT_OR_BLOCKS),
        "tools": _nullable({"type": "array", "maxItems": 128, "items": reference("messages.tool")}),
        "tool_choice": _nullable(
            {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": ["auto", "any", "tool", "none"]},
                    "name": {"type": "string"},
                    "disable_parallel_tool_use": {"type": "boolean"},
                },
            }
        ),
        "thinking": _nullable(
            {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": ["enabled", "disabled", "adaptive", "between_tools"]},
                    "budget_tokens": {"type": "integer", "minimum": 0, "maximum": 2147483647},
                },
            }
        ),
        "output_config": _nullable(OBJECT),
    }
    if not counts:
        properties.update(
            max_tokens=reference("request.field.max_tokens"),
            stop_sequences=_nullable(
                {"type": "array", "maxItems": 16, "items": {"type": "string", "minLength": 1}}
            ),
            temperature=reference("request.field.temperature"),
            top_p=reference("request.field.top_p"),
            top_k=reference("request.field.top_k"),
            metadata=_nullable(OBJECT),
            stream={"type": ["boolean", "null"]},
        )
    return {"type": "object", "required": ["messages"], "properties": properties}


_SOUND: Schema = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
        "model": {"type": "string"},
        "language": {"type": "string", "minLength": 1, "maxLength": 32},
        "prompt": {"type": "string"},
        "response_format": {"enum": ["json", "text", "srt", "vtt", "verbose_json"]},
        "temperature": {"type": "number", "minimum": 0, "maximum": 100},
        "timestamp_granularities[]": {"type": "array", "items": {"enum": ["segment", "word"]}},
        "stream": {"enum": ["true", "false"]},
    },
}


def _spoken(summary: str) -> Described:
    return Described(
        summary,
        body=_SOUND,
        takes="multipart/form-data",
        answer="transcription",
        also=("text/plain", "text/vtt", "application/x-subrip"),
        is_stream=True,
    )


_IMAGE_FILE = {"type": "string", "contentMediaType": "application/octet-stream"}
_IMAGE_PROMPT = {"type": "string", "minLength": 1, "maxLength": 65536}
_IMAGE_BODY: Mapping[str, Any] = {  # of a request for images
    "prompt": _IMAGE_PROMPT,
    "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 16},
    "response_format": {"enum": ["b64_json", None]},
    "stream": {"type": ["boolean", "null"]},
}
_IMAGE_FORM: Schema = {
    "model": {"type": "string"},
    "output_format": {"enum": ["png", "webp"]},
    "output_compression": {"type": "integer", "minimum": 0, "maximum": 100},
    "response_format": {"const": "b64_json"},
}
_EDIT: Schema = {
    "type": "object",
    "required": ["image", "prompt"],
    "properties": {
        **_IMAGE_FORM,
        "image": _IMAGE_FILE,
        "mask": _IMAGE_FILE,
        "prompt": _IMAGE_PROMPT,
        "negative_prompt": {"type": "string"},
        "n": {"type": "integer", "minimum": 1, "maximum": 16},
        "size": {"type": "string", "pattern": "^(auto|[0-9]{2,4}x[0-9]{2,4})$"},
        "quality": {"enum": ["auto", "low", "medium", "high", "standard", "hd"]},
        "seed": {"type": "integer", "minimum": -1, "maximum": 4294967295},
        "steps": {"type": "integer", "minimum": 1, "maximum": 1000},
        "guidance_scale": {"type": "number", "minimum": 0, "maximum": 100},
        "strength": {"type": "number", "minimum": 0, "maximum": 1},
        "partial_images": {"type": "integer", "minimum": 0, "maximum": 3},
        "embed_metadata": {"enum": ["true", "false"]},
        "background": {"enum": ["auto", "opaque", "transparent"]},
        "background_model": {"type": "string", "minLength": 1},
        "stream": {"enum": ["true", "false"]},
    },
}
_CUT_OUT: Schema = {
    "type": "object",
    "required": ["image"],
    "properties": {
        **_IMAGE_FORM,
        "image": _IMAGE_FILE,
        "mask_only": {"enum": ["true", "false"]},
        "refine_edges": {"enum": ["true", "false"]},
    },
}
_SESSION = {"session": {"type": ["string", "null"], "pattern": "^[A-Za-z0-9._~:@-]{1,128}$"}}
_NO_TERMS = {"priority": None, "deadline_ms": None, "target_tps": None}
_OPENED = {**_SESSION, "on_budget": None, **_NO_TERMS}
_CHANGED = {"session": None, **_NO_TERMS}
_EDITED = {
    "session": None,
    "action": {"enum": ["rewind", "cut", "copy", "shift", "read"]},
    "from": {"type": ["integer", "null"], "minimum": 0, "maximum": 2147483647},
    "to_session": _SESSION["session"],
    **_NO_TERMS,
}
_IN_SHORT = {"anyOf": [reference("result.session"), reference("result.token_session")]}
_WHOLE = {"anyOf": [reference("result.session_messages"), reference("result.session_tokens")]}
_NAMED = {
    "type": "object",
    "required": ["model"],
    "properties": {"model": {"type": "string", "minLength": 1}},
}
_UNNAMED = {
    400: "Several models are loaded and the request names none.",
    404: "The model is not loaded.",
    501: "The server's settings turn this route off.",
}
_LLAMA = {  # routes of llama.cpp's server, whose bodies its documentation describes
    ("POST", "/completion"): "Continues a text, in the form of llama-server.",
    ("POST", "/infill"): "Writes the text between two texts, in the form of llama-server.",
    ("POST", "/tokenize"): "Returns the tokens of a text.",
    ("POST", "/detokenize"): "Returns the text of tokens.",
    ("POST", "/apply-template"): "Returns the prompt of a conversation.",
    ("POST", "/chat/completions/input_tokens"): "Counts the tokens of a conversation.",
    ("POST", "/responses/input_tokens"): "Counts the tokens of what a response continues.",
    ("POST", "/embedding"): "Embeds texts, in the form of llama-server.",
    ("GET", "/props"): "Returns properties of the server and of its model.",
    ("POST", "/props"): "Changes properties of the server, where its settings allow that.",
    ("GET", "/slots"): "Lists the slots of the model.",
    ("GET", "/lora-adapters"): "Lists the adapters of the model.",
    ("POST", "/lora-adapters"): "Sets the scales of the adapters.",
}
_PLAIN: Mapping[tuple[str, str], Described] = {
    key: Described(summary, body=OBJECT, answer={})
    if key[0] == "POST"
    else Described(summary, answer={}, query=("model",), refused=_UNNAMED)
    for key, summary in _LLAMA.items()
}
DESCRIBED: Mapping[tuple[str, str], Described] = {
    **_PLAIN,
    ("POST", "/slots/{number}"): Described(
        "Saves, restores or erases the KV cache of a slot.",
        body={"type": "object", "properties": {"filename": {"type": "string"}}},
        answer=OBJECT,
        query=("action", "model"),
    ),
    ("POST", "/models/load"): Described("Loads a model again.", body=_NAMED, answer=OBJECT),
    ("POST", "/models/unload"): Described("Unloads a model.", body=_NAMED, answer=OBJECT),
    ("GET", "/"): Described("Returns the page for people.", also=("text/html",)),
    ("GET", "/v1/stats"): Described(
        "Streams figures of the engine as server-sent events.",
        is_stream=True,
        query=("interval_ms",),
        refused={400: "The interval is invalid.", 429: "Too many clients read this stream."},
    ),
    ("GET", "/metrics"): Described("Returns metrics for Prometheus.", also=("text/plain",)),
    ("GET", "/health"): Described(
        "Says whether the server can answer.",
        answer={
            "type": "object",
            "required": ["status"],
            "properties": {"status": {"const": "ok"}, "slots_idle": COUNT, "slots_processing": COUNT},
        },
    ),
    ("GET", "/ready"): Described(
        "Says whether the server takes requests, for load balancers.",
        answer={"type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}},
        refused={404: "The server is shutting down: running answers end, new ones get status 503."},
    ),
    ("GET", "/openapi.json"): Described("Describes this API.", answer=OBJECT),
    ("GET", "/v1/models"): Described(
        "Lists the loaded models; in Anthropic's form if the request has the header anthropic-version.",
        answer={"anyOf": [reference("models"), reference("messages.models")]},
    ),
    ("GET", "/v1/models/{model:path}"): Described(
        "Describes a loaded model; in Anthropic's form if the request has the header anthropic-version.",
        answer={"anyOf": [reference("model"), reference("messages.model")]},
    ),
    ("POST", "/v1/chat/completions"): Described(
        "Answers a conversation.",
        operation="chat",
        required=("messages",),
        answer="result.chat_completion",
        is_stream=True,
    ),
    ("POST", "/v1/completions"): Described(
        "Continues texts.",
        operation="completion",
        required=("prompt",),
        changed={"prompt": _PROMPTS},
        answer="result.text_completion",
        is_stream=True,
    ),
    ("POST", "/v1/responses"): Described(
        "Answers what is new in a stored conversation.",
        operation="respond",
        required=("input",),
        answer="result.response",
        is_stream=True,
    ),
    ("POST", "/v1/embeddings"): Described(
        "Embeds texts.", operation="embed", required=("input",), answer="embeddings"
    ),
    ("POST", "/v1/rerank"): Described(
        "Ranks documents.", operation="rerank", required=("query", "documents"), answer="ranking"
    ),
    ("POST", "/v1/messages"): Described(
        "Answers a conversation, in the form of Anthropic's API.",
        body=_message_body(counts=False),
        answer="messages.message",
        is_stream=True,
        error="messages.error",
    ),
    ("POST", "/v1/messages/count_tokens"): Described(
        "Counts the tokens of a conversation.",
        body=_message_body(counts=True),
        answer={"type": "object", "required": ["input_tokens"], "properties": {"input_tokens": COUNT}},
        error="messages.error",
    ),
    ("POST", "/v1/audio/transcriptions"): _spoken("Writes what is said in a sound."),
    ("POST", "/v1/audio/translations"): _spoken("Writes what is said in a sound, in English."),
    ("POST", "/v1/images/generations"): Described(
        "Generates images from a prompt.",
        operation="image_generate",
        required=("prompt",),
        changed=_IMAGE_BODY,
        answer="images",
        is_stream=True,
    ),
    ("POST", "/v1/images/edits"): Described(
        "Generates images from another one, where a mask allows it.",
        body=_EDIT,
        takes="multipart/form-data",
        answer="images",
        is_stream=True,
    ),
    ("POST", "/v1/images/background"): Described(
        "Removes the background of an image.",
        operation="image_matte",
        required=("image",),
        changed={"response_format": _IMAGE_BODY["response_format"]},
        form=_CUT_OUT,
        answer="images",
    ),
    ("POST", "/v1/sessions"): Described(
        "Opens a session, or copies one.",
        operation="open_session",
        changed=_OPENED,
        is_closed=True,
        answer=_IN_SHORT,
        status=201,
        refused={409: "A session of this id is open."},
    ),
    ("GET", "/v1/sessions"): Described("Lists the open sessions.", answer="result.sessions"),
    ("GET", "/v1/sessions/{session}"): Described(
        "Returns the messages, or the tokens, of a session.", answer=_WHOLE
    ),
    ("PATCH", "/v1/sessions/{session}"): Described(
        "Changes a session.",
        operation="change_session",
        changed=_CHANGED,
        is_closed=True,
        answer=_IN_SHORT,
    ),
    ("POST", "/v1/sessions/{session}/edit"): Described(
        "Drops the last turns of a session, or edits a token session.",
        operation="edit_session",
        required=("action",),
        changed=_EDITED,
        is_closed=True,
        answer=_IN_SHORT,
    ),
    ("DELETE", "/v1/sessions/{session}"): Described(
        "Closes a session.",
        answer={
            "type": "object",
            "required": ["object", "session", "deleted"],
            "properties": {
                "object": {"const": "session"},
                "session": {"type": "string"},
                "deleted": {"const": True},
            },
        },
    ),
}
