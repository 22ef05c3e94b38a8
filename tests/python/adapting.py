"""What tests of LoRA adapters have in common: requests to the tiny model, and what it computes."""

from __future__ import annotations

import json
from typing import Any

import sotto

SEED, RANK, SPREAD = 1, 4, 0.1
LITTLE = 2  # tokens that prompts of other tests begin with, too
NAMED: dict[str, Any] = {"temperature": 0, "logprobs": 20}


def ask(prompt: str = "hello there", tokens: int = 8, **fields: Any) -> dict[str, Any]:
    return {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "cache_prompt": False, **NAMED, **fields}


def logprobs(engine: sotto.Engine, **fields: Any) -> Any:
    """The twenty likeliest tokens at each of eight places, and their log probabilities."""
    answer = json.loads(engine.llm_text_completion(ask(**fields)))
    return answer["choices"][0]["logprobs"]["top_logprobs"]


def text(engine: sotto.Engine, **fields: Any) -> str:
    return str(json.loads(engine.llm_text_completion(ask(**fields)))["choices"][0]["text"])


def cached(engine: sotto.Engine, **fields: Any) -> int:
    usage = json.loads(engine.llm_text_completion(ask(cache_prompt=True, **fields)))["usage"]
    return int(usage["prompt_tokens_details"]["cached_tokens"])


def close(left: Any, right: Any) -> bool:
    """Whether the log probabilities agree to 1e-3, at the places up to the first of other tokens."""
    first = left[0].keys() & right[0].keys()
    return len(first) > 15 and all(abs(left[0][one] - right[0][one]) < 1e-3 for one in first)
