"""The configuration and the sampling that the arguments of `Llama` describe."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from .._values import invalid
from .config import NAMES, LlamaConfig, path_of
from .errors import ValidationError
from .sampling import SamplingParams

_ALIASES = {"embedding": "embeddings"}  # names of llama-cpp-python
_IGNORED = frozenset(("logits_all", "last_n_tokens_size", "numa"))  # have no counterpart, and need none


def configured(
    model_path: str | os.PathLike[str], config: LlamaConfig | None, options: dict[str, Any]
) -> LlamaConfig:
    """Returns the configuration that the arguments of `Llama` describe."""
    path = path_of(model_path)
    if config is not None:
        if not isinstance(config, LlamaConfig):
            raise ValidationError(invalid("config", config, "a LlamaConfig, or None"))
        if options:
            names = ", ".join(options)
            raise ValidationError(f"invalid keywords {names}: expected none beside config; set them there")
        if path_of(config.model_path) != path:
            raise ValidationError(
                invalid("config.model_path", config.model_path, f"the path that Llama() is given, '{path}'")
            )
        return replace(config)
    given = {_ALIASES.get(name, name): value for name, value in options.items() if name not in _IGNORED}
    for name in given:
        if name not in NAMES:
            raise ValidationError(f"invalid keyword '{name}': expected one of {', '.join(NAMES[1:])}")
    if isinstance(given.get("flash_attn"), bool):
        given["flash_attn"] = int(given["flash_attn"])
    return LlamaConfig(path, **given)


def sampled(sampling: SamplingParams | None, seed: int) -> SamplingParams:
    """Returns the sampling of calls that do not say it."""
    if sampling is not None and not isinstance(sampling, SamplingParams):
        raise ValidationError(invalid("sampling", sampling, "a SamplingParams, or None"))
    found = replace(sampling or SamplingParams())
    if found.seed is None and seed >= 0:
        found.seed = seed
    return found
