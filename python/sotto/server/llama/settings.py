"""`generation_settings`: what a request was answered with, by llama.cpp's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .fields import max_tokens
from .setup import Setup

_DEFAULTS: Mapping[str, Any] = {
    "seed": 4294967295,
    "temperature": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": ["\n", ":", '"', "*"],
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
    "stop": [],
    "max_tokens": -1,
    "n_predict": -1,
    "n_keep": 0,
    "n_discard": 0,
    "ignore_eos": False,
    "stream": True,
    "logit_bias": [],
    "n_probs": 0,
    "min_keep": 0,
    "grammar": "",
    "grammar_lazy": False,
    "grammar_triggers": [],
    "preserved_tokens": [],
    "chat_format": "Content-only",
    "reasoning_format": "deepseek",
    "reasoning_in_content": False,
    "generation_prompt": "",
    "samplers": [
        "penalties",
        "dry",
        "top_n_sigma",
        "top_k",
        "typ_p",
        "top_p",
        "min_p",
        "xtc",
        "temperature",
    ],
    "speculative.types": "none",
    "timings_per_token": False,
    "post_sampling_probs": False,
    "backend_sampling": False,
    "lora": [],
}
_LONG = ("dry_sequence_breakers", "stop", "logit_bias", "grammar", "grammar_lazy", "grammar_triggers",
         "preserved_tokens")  # fmt: skip


def settings(wanted: Mapping[str, Any], body: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    """Returns the settings of a request.

    Args:
        wanted: The request of the client.
        body: The engine's request for it.
        setup: Defaults.
    """
    made = {**_DEFAULTS, **{name: value for name, value in body.items() if name in _DEFAULTS}}
    if isinstance(made["stop"], str):
        made["stop"] = [made["stop"]]
    if isinstance(made["seed"], int) and made["seed"] < 0:
        made["seed"] = _DEFAULTS["seed"]
    made["logit_bias"] = [{"token": pair[0], "bias": pair[1]} for pair in body.get("logit_bias", [])]
    made["stream"] = bool(wanted.get("stream"))
    made["n_predict"] = made["max_tokens"] = max_tokens(wanted, setup)
    made["timings_per_token"] = bool(wanted.get("timings_per_token"))
    return made


def defaults(setup: Setup) -> dict[str, Any]:
    """Returns the settings of a request without fields, in the short form of `/props` and `/slots`."""
    made = settings({}, setup.defaults, setup)
    made["stream"] = True
    return {name: value for name, value in made.items() if name not in _LONG}
