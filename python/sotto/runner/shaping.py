"""Responses of `Runner`, from those of the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .responses import (
    CalledFunction,
    ChatCompletionChunkResponse,
    ChatCompletionResponse,
    Choice,
    ChunkChoice,
    CompletionChoice,
    CompletionResponse,
    Delta,
    Logprobs,
    ResponseLogprob,
    ResponseMessage,
    ToolCallResponse,
    ToolCallType,
    TopLogprob,
    Usage,
)

Json = Mapping[str, Any]


def chat_response(told: Json, model: str, session_id: str | None = None) -> ChatCompletionResponse:
    """Returns the response of a chat."""
    return ChatCompletionResponse(
        told["id"],
        [chat_choice(one) for one in told["choices"]],
        told["created"],
        model,
        fingerprint(told),
        "chat.completion",
        usage_of(told),
        session_id=session_id,
    )


def chat_choice(told: Json) -> Choice:
    """Returns one answer of a chat, or of a prompt that is one."""
    message = told.get("message") or {"content": told.get("text")}
    made = ResponseMessage(
        message.get("content"),
        "assistant",
        tool_calls(message.get("tool_calls")),
        message.get("reasoning_content"),
    )
    return Choice(told["finish_reason"], told["index"], made, logprobs(entries(told)))


def text_response(told: Json, model: str, before: str, count: int) -> CompletionResponse:
    """Returns the response of a text completion.

    Args:
        told: The engine's response.
        model: Name of the model.
        before: Text before each answer.
        count: Number of answers to return: the likeliest ones.
    """
    choices = list(told["choices"])
    if count < len(choices):
        choices = sorted(choices, key=_mean_logprob, reverse=True)[:count]
    made = [
        CompletionChoice(one["finish_reason"], at, before + (one.get("text") or ""), logprobs(entries(one)))
        for at, one in enumerate(choices)
    ]
    created = told["created"]
    return CompletionResponse(
        told["id"], made, created, model, fingerprint(told), "text_completion", usage_of(told)
    )


def chunk_response(
    told: Json, model: str, usage: Usage | None = None, session_id: str | None = None
) -> ChatCompletionChunkResponse:
    """Returns a chunk of a streamed answer."""
    choices = [chunk_choice(one) for one in told["choices"]]
    return ChatCompletionChunkResponse(
        told["id"],
        choices,
        told["created"],
        model,
        fingerprint(told),
        "chat.completion.chunk",
        usage,
        session_id,
    )


def chunk_choice(told: Json) -> ChunkChoice:
    """Returns the next part of one answer."""
    delta = told.get("delta")
    if delta is None:
        delta = {"content": told.get("text")}
    made = Delta(
        delta.get("content"), "assistant", tool_calls(delta.get("tool_calls")), delta.get("reasoning_content")
    )
    found = [entry(one) for one in entries(told) or ()]
    return ChunkChoice(told.get("finish_reason"), told["index"], made, found[0] if found else None)


def fingerprint(told: Json) -> str:
    """Returns the build that answered; "" if the backend does not name it."""
    return str(told.get("system_fingerprint") or "")


def usage_of(told: Json) -> Usage:
    """Returns the counts and times of a response."""
    counts, times = told.get("usage") or {}, told.get("timings") or {}
    prompt, made = int(counts.get("prompt_tokens", 0)), int(counts.get("completion_tokens", 0))
    return usage(prompt, made, times.get("prompt_ms", 0.0) / 1000, times.get("predicted_ms", 0.0) / 1000)


def usage(prompt: int, made: int, prompt_s: float, made_s: float) -> Usage:
    """Returns counts and times, with their rates."""
    total = prompt_s + made_s
    return Usage(
        made,
        prompt,
        prompt + made,
        _rate(prompt + made, total),
        _rate(prompt, prompt_s),
        _rate(made, made_s),
        total,
        prompt_s,
        made_s,
    )


def tool_calls(told: Sequence[Json] | None) -> list[ToolCallResponse] | None:
    """Returns the calls of a message, or of a part of it; None: none."""
    if not told:
        return None
    return [
        ToolCallResponse(
            one.get("index", at),
            one.get("id") or "",
            ToolCallType.Function,
            CalledFunction(one["function"].get("name") or "", one["function"].get("arguments") or ""),
        )
        for at, one in enumerate(told)
    ]


def logprobs(found: Sequence[Json] | None) -> Logprobs | None:
    """Returns log probabilities; None: they were not requested."""
    return None if found is None else Logprobs([entry(one) for one in found])


def entries(choice: Json) -> Sequence[Json] | None:
    """Returns the entries of a choice's log probabilities."""
    if "completion_probabilities" in choice:
        found: Sequence[Json] = choice["completion_probabilities"]
        return found
    return (choice.get("logprobs") or {}).get("content")


def entry(told: Json) -> ResponseLogprob:
    """Returns the log probability of a token."""
    top = [
        TopLogprob(one.get("id", -1), float(one["logprob"]), one["token"])
        for one in told.get("top_logprobs") or ()
    ]
    return ResponseLogprob(told["token"], float(told["logprob"]), told.get("bytes"), top)


def _mean_logprob(choice: Json) -> float:
    values = [float(one["logprob"]) for one in entries(choice) or ()]
    return sum(values) / len(values) if values else -math.inf


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
