"""Schemas of what the server itself writes: the forms of other APIs around the engine's answers."""

from __future__ import annotations

from .schemas import Schema, reference

COUNT: Schema = {"type": "integer", "minimum": 0}
OBJECT: Schema = {"type": "object"}
_VECTOR = {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]}
OWN: Schema = {  # components of the server itself
    "messages.tool": {
        "type": "object",
        "required": ["name", "input_schema"],
        "properties": {
            "name": {"type": "string"},
            "description": {"type": ["string", "null"]},
            "input_schema": OBJECT,
            "type": {"enum": ["custom", None]},
        },
    },
    "messages.error": {
        "type": "object",
        "required": ["type", "error", "request_id"],
        "properties": {
            "type": {"const": "error"},
            "error": {
                "type": "object",
                "required": ["type", "message"],
                "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            },
            "request_id": {"type": "string"},
        },
    },
    "messages.model": {
        "type": "object",
        "required": ["id", "type", "display_name", "created_at"],
        "properties": {
            "id": {"type": "string"},
            "type": {"const": "model"},
            "display_name": {"type": "string"},
            "created_at": {"type": "string"},
        },
    },
    "messages.models": {
        "type": "object",
        "required": ["data", "has_more"],
        "properties": {
            "data": {"type": "array", "items": reference("messages.model")},
            "has_more": {"const": False},
        },
    },
    "messages.message": {
        "type": "object",
        "required": ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"],
        "properties": {
            "id": {"type": "string"},
            "type": {"const": "message"},
            "role": {"const": "assistant"},
            "model": {"type": "string"},
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["type"],
                    "properties": {"type": {"enum": ["text", "thinking", "tool_use"]}},
                },
            },
            "stop_reason": {"enum": ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"]},
            "stop_sequence": {"type": ["string", "null"]},
            "usage": {
                "type": "object",
                "required": ["input_tokens", "output_tokens", "cache_read_input_tokens"],
                "additionalProperties": COUNT,
            },
        },
    },
    "embeddings": {
        "type": "object",
        "required": ["object", "data", "model", "usage"],
        "properties": {
            "object": {"const": "list"},
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["object", "index", "embedding"],
                    "properties": {"object": {"const": "embedding"}, "index": COUNT, "embedding": _VECTOR},
                },
            },
            "model": {"type": "string"},
            "usage": OBJECT,
        },
    },
    "ranking": {
        "type": "object",
        "required": ["results"],
        "properties": {
            "results": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["index", "relevance_score"],
                    "properties": {"index": COUNT, "relevance_score": {"type": "number"}},
                },
            }
        },
    },
    "model": {
        "type": "object",
        "required": ["id", "object", "created", "owned_by"],
        "properties": {
            "id": {"type": "string"},
            "object": {"const": "model"},
            "created": COUNT,
            "owned_by": {"type": "string"},
            "meta": OBJECT,
        },
    },
    "models": {
        "type": "object",
        "required": ["object", "data"],
        "properties": {
            "object": {"const": "list"},
            "data": {"type": "array", "items": reference("model")},
        },
    },
    "images": {
        "type": "object",
        "required": ["data"],
        "properties": {
            "created": COUNT,
            "data": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["b64_json"],
                    "properties": {
                        "b64_json": {"type": "string"},
                        "revised_prompt": {"type": "string"},
                        "seed": {"type": "integer"},
                    },
                },
            },
        },
    },
    "transcription": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
}
