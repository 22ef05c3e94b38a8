"""Compares a converted model with its source: some conversions end well and compute other values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import torch

_TOKENS = 64
_MAX_ERRORS = {  # of the values, relative, by type of the weights
    "float32": 1e-3,
    "float16": 0.02,
    "bfloat16": 0.1,
    "int8": 0.5,  # a wrong model has more than 1
}
Values = Any  # a numpy array, tokens by logits or hidden states


def sample(vocabulary: int, positions: int | None) -> list[int]:
    """Returns the tokens that both models read: spread over the vocabulary, within the positions."""
    count = min(_TOKENS, positions or _TOKENS)
    return [(2 * at + 1) * vocabulary // (2 * count) for at in range(count)]


def expected(model: Any, tokens: list[int]) -> Values | None:
    """Returns what the source computes; None: the model is neither a decoder nor an encoder of text."""
    config = model.config
    if (
        config.is_encoder_decoder
        or model.main_input_name != "input_ids"
        or hasattr(config, "quantization_config")
    ):
        return None
    ids = torch.tensor([tokens])
    with torch.no_grad():
        found = model(ids).logits if model.can_generate() else model.base_model(ids).last_hidden_state
    return found[0].float().numpy()


def max_error(quantization: str | None, source: str) -> float:
    """Returns the greatest relative error of a conversion.

    Args:
        quantization: Type of the converted weights; None: that of the source.
        source: Type in which the source computes, such as "bfloat16".
    """
    made = (quantization or source).partition("_")[0]
    return max(_MAX_ERRORS.get(name, _MAX_ERRORS["bfloat16"]) for name in (made, source))


def check(folder: Path, right: Values, tokens: list[int], *, decoder: bool, most: float) -> None:
    """Raises `ValueError` if the converted model computes other values.

    Args:
        folder: The converted model.
        right: What `expected()` returned.
        tokens: What the source read.
        decoder: True if `right` has logits, false if it has hidden states.
        most: Greatest relative error, see `max_error()`.
    """
    made = _forward(folder, tokens, decoder=decoder)[:, : right.shape[1]]
    error = float(np.linalg.norm(made - right) / np.linalg.norm(right))
    if not error <= most:
        raise ValueError(f"the converted model computes other values, with a relative error of {error:.2g}")


def _forward(folder: Path, ids: list[int], *, decoder: bool) -> Values:
    if decoder:
        found = ctranslate2.Generator(str(folder)).forward_batch([ids])
    else:
        found = ctranslate2.Encoder(str(folder)).forward_batch([ids]).last_hidden_state
    return np.asarray(found.to(ctranslate2.DataType.float32))[0]
