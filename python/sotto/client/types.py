"""Dataclasses of responses, and `StopType`.

The fields of the reference interface come first, in its order; further fields have defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class StopType(Enum):
    """Reason why a completion stopped: the values of `stop_type`."""

    NONE = "none"  # not stopped yet
    EOS = "eos"  # end-of-sequence token
    LIMIT = "limit"  # `n_predict`, `max_tokens` or the context
    WORD = "word"  # a stop string; `stopping_word` has it


@dataclass
class Message:
    """A chat message. `content` is None if the message has tool calls alone."""

    role: str
    content: str | None
    tool_calls: list[dict[str, Any]] | None = None
    reasoning_content: str | None = None


@dataclass
class Choice:
    """One completion: `message` of a chat, `text` of a native completion.

    `finish_reason` is "stop", "length" or "tool_calls". `tokens` are ids, with `return_tokens`; `logprobs` is
    the server's form, with `n_probs` or `logprobs`.
    """

    index: int
    message: Message | None = None
    text: str | None = None
    finish_reason: str | None = None
    stop_type: StopType | None = None
    stopping_word: str | None = None
    tokens: list[int] | None = None
    logprobs: Any = None


@dataclass
class Usage:
    """Token counts."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass
class Timings:
    """Times in milliseconds, and tokens per second. `cache_n` is the number of reused prompt tokens."""

    prompt_n: int = 0
    prompt_ms: float = 0.0
    prompt_per_token_ms: float = 0.0
    prompt_per_second: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0
    predicted_per_token_ms: float = 0.0
    predicted_per_second: float = 0.0
    cache_n: int = 0


@dataclass
class CompletionResponse:
    """A whole response. `object` is "chat.completion" or "text_completion"; `raw` is the server's JSON."""

    id: str
    object: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = None
    timings: Timings | None = None
    system_fingerprint: str | None = None
    raw: Any = field(default=None, repr=False)


@dataclass
class EmbeddingData:
    """One vector; `index` is the position of its input."""

    index: int
    embedding: list[float]
    object: str = "embedding"


@dataclass
class EmbeddingsResponse:
    """Vectors, in the order of the inputs."""

    object: str
    data: list[EmbeddingData]
    model: str
    usage: Usage


@dataclass
class RerankResult:
    """Relevance of one document; `index` is its position in the request."""

    index: int
    relevance_score: float
    document: str | None = None


@dataclass
class RerankResponse:
    """Results, the most relevant first."""

    model: str
    results: list[RerankResult]
    usage: Usage | None = None


@dataclass
class TokenizeResponse:
    """Token ids; with `with_pieces`, dicts of `id` and `piece`."""

    tokens: list[Any]


@dataclass
class HealthStatus:
    """State of the server: "ok", "loading" or "error". The counts are None if the server reports none."""

    status: str
    slots_idle: int | None = None
    slots_processing: int | None = None


@dataclass
class SlotInfo:
    """State of a slot. `prompt` is empty unless the server reveals prompts; `raw` is the server's JSON."""

    id: int
    is_processing: bool
    n_ctx: int
    n_predict: int
    params: dict[str, Any]
    prompt: str = ""
    raw: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class LoraAdapter:
    """A loaded adapter and its scale."""

    id: int
    path: str
    scale: float


@dataclass
class ModelInfo:
    """A model of the server. `multimodal` is True if it accepts images or sound."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "llamacpp"
    meta: dict[str, Any] | None = None
    status: Any = None
    multimodal: bool = False
