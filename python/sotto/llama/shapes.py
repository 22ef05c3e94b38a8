"""Responses in the shape of OpenAI's: the engine's, without the fields that are Sotto's own."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
_MESSAGE = ("role", "content", "reasoning_content", "tool_calls")


def _head(response: Json, name: str) -> Json:
    return {**{key: response[key] for key in ("id", "object", "created")}, "model": name}


def _usage(response: Json, prompt_tokens: int) -> Json:
    """Returns the usage. Counts the tokens if the answer was cut at a stop token."""
    told = response.get("usage")
    if told is not None:
        return {key: told[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
    made = len(response["choices"][0]["tokens"])
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": made,
        "total_tokens": prompt_tokens + made,
    }


def text_completion(response: Json, name: str, prompt_tokens: int, before: str) -> Json:
    """Returns a text completion. `before` is put before the text of each choice."""
    return {
        **_head(response, name),
        "choices": [_text_choice(one, before) for one in response["choices"]],
        "usage": _usage(response, prompt_tokens),
    }


def text_chunk(chunk: Json, name: str, before: str) -> Json | None:
    """Returns a chunk of a text completion; None: it has no choice."""
    if not chunk.get("choices"):
        return None
    return {**_head(chunk, name), "choices": [_text_choice(one, before) for one in chunk["choices"]]}


def _text_choice(choice: Json, before: str) -> Json:
    return {
        "text": before + (choice.get("text") or ""),
        "index": choice["index"],
        "logprobs": choice.get("logprobs"),
        "finish_reason": choice.get("finish_reason"),
    }


def chat_completion(response: Json, name: str, prompt_tokens: int) -> Json:
    """Returns a chat completion."""
    return {
        **_head({**response, "object": "chat.completion"}, name),
        "choices": [
            {
                "index": one["index"],
                "message": {key: one["message"][key] for key in _MESSAGE if key in one["message"]},
                "logprobs": one.get("logprobs"),
                "finish_reason": one["finish_reason"],
            }
            for one in response["choices"]
        ],
        "usage": _usage(response, prompt_tokens),
    }


def chat_chunk(chunk: Json, name: str) -> Json | None:
    """Returns a chunk of a chat; None: it has no choice."""
    if not chunk.get("choices"):
        return None
    choices = [
        {
            "index": one["index"],
            "delta": one["delta"],
            "logprobs": one.get("logprobs"),
            "finish_reason": one.get("finish_reason"),
        }
        for one in chunk["choices"]
    ]
    return {**_head(chunk, name), "choices": choices}
