"""JSON Schemas of bodies and answers, from the files that the engine's reference has them in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]

_TERMS: Schema = {
    "priority": {
        "description": "Priority of the request.",
        "enum": ["foreground", "normal", "background", None],
    },
    "deadline_ms": {
        "description": "Milliseconds from now until the answer is due; orders requests of one priority.",
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 1e12,
    },
    "target_tps": {
        "description": "Pace of the answer in tokens per second; 0: as fast as possible.",
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 1e9,
    },
}
_STREAM: Schema = {
    "description": "Answers with server-sent events.",
    "type": ["boolean", "null"],
}
EVENT: Schema = {  # one of a stream
    "type": "object",
    "required": ["data"],
    "properties": {
        "event": {"type": "string", "description": "The type of the event, where the API has one."},
        "data": {"type": "string", "description": "JSON, or [DONE]."},
    },
}
ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "type"],
            "properties": {
                "code": {"type": "integer", "description": "The status."},
                "message": {"type": "string"},
                "type": {"type": "string"},
            },
        }
    },
}


def engine_schemas() -> Schema:
    """Returns the schemas of the engine as components, named "request.chat", "result.chat_completion", ..."""
    made: Schema = {}
    for name in ("request", "result"):
        text = files(__package__).joinpath(f"{name}s.json").read_text(encoding="utf-8")
        text = text.replace('"#/$defs/', f'"#/components/schemas/{name}.')
        made.update({f"{name}.{key}": schema for key, schema in json.loads(text)["$defs"].items()})
    return made


def reference(name: str) -> Schema:
    """Returns a reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def body_of(
    schemas: Mapping[str, Any], operation: str, required: tuple[str, ...], changed: Mapping[str, Any]
) -> Schema:
    """Returns the schema of a body: that of an operation of the engine, and the fields of the server.

    Args:
        schemas: The components.
        operation: Name of the operation.
        required: Fields without which the server refuses the body.
        changed: Fields that the server takes in another form; None: it does not take the field.
    """
    properties = {**schemas[f"request.{operation}"]["properties"], **_TERMS, **changed}
    if "stream" in properties and "stream" not in changed:
        properties["stream"] = _STREAM
    kept = {name: schema for name, schema in properties.items() if schema is not None}
    return {"type": "object", "properties": kept, "required": list(required)}
