"""Request fields of llama-server as fields of the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import HttpError
from .setup import Setup

SAMPLING = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "min_keep", "seed",
    "repeat_penalty", "repeat_last_n", "frequency_penalty", "presence_penalty", "dry_multiplier", "dry_base",
    "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers", "xtc_probability", "xtc_threshold",
    "dynatemp_range", "dynatemp_exponent", "mirostat", "mirostat_tau", "mirostat_eta", "samplers",
)  # fmt: skip
_SHARED = (
    "stop", "ignore_eos", "n_probs", "post_sampling_probs", "return_tokens", "n_keep", "cache_prompt",
    "grammar", "grammar_type", "json_schema", "response_format", "session", "on_budget", "id_slot",
    "n_discard", "return_progress", "timings_per_token",
)  # fmt: skip
COMPLETION = ("prompt", "input_prefix", "input_suffix", "input_extra")
CHAT = (
    "messages", "tools", "tool_choice", "parallel_tool_calls", "reasoning_format", "reasoning_effort",
    "reasoning_budget_tokens", "reasoning_budget_message", "chat_template_kwargs", "add_generation_prompt",
    "continue_final_message", "logprobs", "top_logprobs", "n", "stream_options",
)  # fmt: skip
_CLAMPED: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 100),
    "top_k": (0, 2**31 - 1),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "typical_p": (0, 1),
    "xtc_probability": (0, 1),
    "xtc_threshold": (0, 1),
    "mirostat": (0, 2),
}  # llama-server brings these into their range instead of refusing them
_LIMITS = ("max_tokens", "max_completion_tokens", "n_predict")


def body(fields: Mapping[str, Any], setup: Setup, names: tuple[str, ...]) -> dict[str, Any]:
    """Returns the engine's request for a request of llama-server. Fields that neither knows are left out.

    Args:
        fields: The request.
        setup: Defaults.
        names: Fields of the operation, besides those of all answers.
    """
    made = {"model": fields["model"], "context_overflow": setup.overflow, **setup.defaults}
    for name in (*SAMPLING, *_SHARED, *names):
        if fields.get(name) is not None:
            made[name] = _clamped(name, fields[name])
    if "dry_base" in made and _number(made["dry_base"]) and made["dry_base"] < 1:
        made["dry_base"] = setup.defaults.get("dry_base", 1.75)
    if isinstance(made.get("stop"), list):
        made["stop"] = [text for text in made["stop"] if text != ""]
    for name in ("stop", "grammar"):  # empty: none
        if name in made and made[name] in ("", []):
            del made[name]
    if made.get("json_schema") is not None and made.get("grammar") is not None:
        del made["grammar"]
    if (limit := max_tokens(fields, setup)) >= 0:
        made["max_tokens"] = max(limit, 1)
    return made


def with_defaults(op: str, text: str, setup: Setup) -> str:
    """Returns a request of the engine with the defaults that its routes did not set."""
    if op not in ("chat", "respond"):
        return text
    body = json.loads(text)
    limit = "max_output_tokens" if op == "respond" else "max_tokens"
    names = (limit, "max_completion_tokens") if op == "chat" else (limit,)
    asked = next((body[name] for name in names if body.get(name) is not None), None)
    if setup.max_tokens > 0 and asked is None:
        body[limit] = setup.max_tokens
    overflow = {} if op == "respond" and "truncation" in body else {"context_overflow": setup.overflow}
    return json.dumps({**overflow, **setup.defaults, **body})


def max_tokens(fields: Mapping[str, Any], setup: Setup) -> int:
    """Returns the most tokens of the answer to a request; -1: no limit. Raises `HttpError` 400."""
    for name in ("n_predict", "max_completion_tokens", "max_tokens"):
        if (asked := fields.get(name)) is not None:
            if isinstance(asked, bool) or not isinstance(asked, int) or not -1 <= asked < 2**31:
                raise HttpError(
                    400,
                    f"invalid {name} '{json.dumps(asked)[:100]}': expected an integer from -1; -1: no limit",
                )
            return asked if asked >= 0 else setup.max_tokens
    return setup.max_tokens


def _clamped(name: str, value: Any) -> Any:
    if name not in _CLAMPED or not _number(value):
        return value
    least, most = _CLAMPED[name]
    return min(max(value, least), most)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
