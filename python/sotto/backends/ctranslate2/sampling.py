"""The sampling fields of a request, as CTranslate2 names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError

_TEMPERATURE, _TOP_K, _TOP_P = 1.0, 0, 1.0  # if a request does not say: as the table of requests has them
_OFF: dict[str, tuple[object, ...]] = {  # fields that the library lacks, with the values that change nothing
    "min_p": (0,),
    "typical_p": (1,),
    "top_n_sigma": (-1,),
    "min_keep": (0,),
    "repeat_last_n": (-1,),
    "seed": (-1,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "dry_multiplier": (0,),
    "xtc_probability": (0,),
    "dynatemp_range": (0,),
    "mirostat": (0,),
    "samplers": (),
    "logit_bias": ({}, []),
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "n_probs": (0,),
    "response_format": ({"type": "text"},),
    "json_schema": (),
    "grammar": ("",),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "reasoning_effort": ("none",),
    "reasoning_budget_tokens": (-1,),
    "n_keep": (-1,),
    "lora": ([],),
    "suffix": ("",),
    "echo": (False,),
    "context_overflow": ("truncate", "error"),
}


def refuse_missing(body: Mapping[str, Any]) -> None:
    """Raises `ArgumentError` if a request has a field that the library cannot honour."""
    for name, off in _OFF.items():
        if name in body and body[name] not in off:
            raise ArgumentError(
                f"{name} is not supported by the backend ctranslate2: leave it out, or use a GGUF model"
            )


def sampling_of(body: Mapping[str, Any], vocabulary: int) -> dict[str, Any]:
    """Returns the options of `generate_batch()`. Temperature 0 is greedy.

    Args:
        body: The request's fields.
        vocabulary: Tokens of the model, the most that `top_k` can keep.
    """
    temperature, top_p = float(body.get("temperature", _TEMPERATURE)), float(body.get("top_p", _TOP_P))
    made: dict[str, Any] = {"repetition_penalty": float(body.get("repeat_penalty", 1))}
    if temperature == 0 or top_p == 0 or body.get("top_k") == 1:
        return {**made, "sampling_topk": 1}
    return {
        **made,
        "sampling_temperature": temperature,
        "sampling_topk": min(int(body.get("top_k", _TOP_K)), vocabulary),
        "sampling_topp": top_p,
    }
