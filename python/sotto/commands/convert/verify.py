"""Compares a converted model with its source: some conversions end well and compute other values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import torch

_TOKENS = 16
_MAX_ERROR = 0.1  # of the values, relative; float32 has 1e-5, bfloat16 0.02
_MAX_ERROR_INT8 = 0.5  # 0.13 for the house model; a wrong model has more than 1
Values = Any  # a numpy array, tokens by logits or hidden states


def expected(model: Any) -> Values | None:
    """Returns what the source computes; None: the model is neither a decoder nor an encoder of text."""
    config = model.config
    if (
        config.is_encoder_decoder
        or model.main_input_name != "input_ids"
        or hasattr(config, "quantization_config")
    ):
        return None
    ids = torch.tensor([_sample(config.get_text_config().vocab_size)])
    with torch.no_grad():
        found = model(ids).logits if model.can_generate() else model.base_model(ids).last_hidden_state
    return found[0].float().numpy()


def check(folder: Path, right: Values, vocabulary: int, *, decoder: bool, int8: bool) -> None:
    """Raises `ValueError` if the converted model computes other values.

    Args:
        folder: The converted model.
        right: What `expected()` returned.
        vocabulary: Number of tokens of the source.
        decoder: True if `right` has logits, false if it has hidden states.
        int8: True if the weights are integers.
    """
    made = _forward(folder, _sample(vocabulary), decoder=decoder)[:, : right.shape[1]]
    error = float(np.linalg.norm(made - right) / np.linalg.norm(right))
    if not error <= (_MAX_ERROR_INT8 if int8 else _MAX_ERROR):
        raise ValueError(f"the converted model computes other values, with a relative error of {error:.2f}")


def _sample(vocabulary: int) -> list[int]:
    return [(2 * at + 1) * vocabulary // (2 * _TOKENS) for at in range(_TOKENS)]


def _forward(folder: Path, ids: list[int], *, decoder: bool) -> Values:
    if decoder:
        found = ctranslate2.Generator(str(folder)).forward_batch([ids])
    else:
        found = ctranslate2.Encoder(str(folder)).forward_batch([ids]).last_hidden_state
    return np.asarray(found.to(ctranslate2.DataType.float32))[0]
