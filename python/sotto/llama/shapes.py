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


class TextShape:
    """Shapes text completions, and the chunks of one.

    Args:
        name: Name of the model.
        before: Put before the text of the response, or of the first chunk.
        offset: Characters before the answer, from which `text_offset` counts.
    """

    def __init__(self, name: str, before: str, offset: int) -> None:
        self._name = name
        self._before = before
        self._offset = offset

    def whole(self, response: Json, prompt_tokens: int) -> Json:
        """Returns a text completion."""
        choices = [self._choice(one) for one in response["choices"]]
        return {
            **_head(response, self._name),
            "choices": choices,
            "usage": _usage(response, prompt_tokens),
        }

    def chunk(self, chunk: Json) -> Json | None:
        """Returns the next chunk of a text completion; None: it has no choice."""
        if not chunk.get("choices"):
            return None
        return {**_head(chunk, self._name), "choices": [self._choice(one) for one in chunk["choices"]]}

    def _choice(self, choice: Json) -> Json:
        before, self._before = self._before, ""
        return {
            "text": before + (choice.get("text") or ""),
            "index": choice["index"],
            "logprobs": self._placed(choice.get("logprobs")),
            "finish_reason": choice.get("finish_reason"),
        }

    def _placed(self, logprobs: Json | None) -> Json | None:
        """Returns log probabilities with the place of each token's text."""
        if logprobs is None:
            return None
        offsets = []
        for token in logprobs["tokens"]:
            offsets.append(self._offset)
            self._offset += len(token)
        return {**logprobs, "text_offset": offsets}


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
