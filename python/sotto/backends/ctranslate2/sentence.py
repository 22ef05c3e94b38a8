"""Reads what sentence-transformers keeps beside the weights: pooling, normalisation, maximum length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ModelLoadError, Status

POOLINGS = ("mean", "cls")
_FLAGS = {  # of 1_Pooling/config.json, before version 6 of the package
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_RUN = ("Transformer", "Pooling", "Normalize")  # modules that the backend performs
_UNLIMITED = 1 << 30  # tokens; a tokenizer without a limit names a greater one
_DEFAULT_LENGTH = 512


@dataclass(frozen=True, slots=True)
class SentenceConfig:
    """How token vectors become the vector of a text.

    Attributes:
        pooling: "mean" of the tokens, or "cls": the first token. Others are not supported.
        normalize: True if vectors have the length 1.
        max_length: Maximum tokens of a text, special tokens included; more are cut off.
        lower: True if texts are changed to lower case.
    """

    pooling: str = "mean"
    normalize: bool = False
    max_length: int = _DEFAULT_LENGTH
    lower: bool = False

    @classmethod
    def read(cls, folder: Path) -> SentenceConfig:
        """Returns the configuration of a converted model.

        Raises `ModelLoadError` if a file is damaged, or a module is not supported.
        """
        bert = _object(folder / "sentence_bert_config.json")
        modules = _modules(folder)
        pooled = _object(folder / "1_Pooling" / "config.json")
        return cls(
            pooling=_pooling(pooled) if pooled else "mean",
            normalize="Normalize" in modules,
            max_length=_max_length(folder, bert),
            lower=bert.get("do_lower_case") is True,
        )


def _modules(folder: Path) -> list[str]:
    file = folder / "modules.json"
    listed = _read(file, [])
    try:
        names = [str(module["type"]).rpartition(".")[2] for module in listed]
    except (TypeError, KeyError):
        raise _damaged(file) from None
    for name in names:
        if name not in _RUN:
            raise ModelLoadError(
                f"'{file}' has a module {name}: expected one of {', '.join(_RUN)}", Status.UNSUPPORTED
            )
    return names


def _pooling(given: Mapping[str, Any]) -> str:
    """Returns the name of the pooling; several are joined by "+"."""
    if "pooling_mode" in given:
        mode = given["pooling_mode"]
        return "+".join(map(str, mode)) if isinstance(mode, list) else str(mode)
    return "+".join(name for flag, name in _FLAGS.items() if given.get(flag) is True)


def _max_length(folder: Path, bert: Mapping[str, Any]) -> int:
    known = [
        bert.get("max_seq_length"),
        _object(folder / "config.json").get("max_position_embeddings"),
        _object(folder / "tokenizer_config.json").get("model_max_length"),
    ]
    return min(
        (size for size in known if type(size) is int and 2 < size < _UNLIMITED), default=_DEFAULT_LENGTH
    )


def _object(file: Path) -> dict[str, Any]:
    value = _read(file, {})
    if not isinstance(value, dict):
        raise _damaged(file)
    return value


def _read(file: Path, default: Any) -> Any:
    if not file.is_file():
        return default
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise _damaged(file) from None


def _damaged(file: Path) -> ModelLoadError:
    return ModelLoadError(f"'{file}' is damaged: convert the model again with `sotto convert`")
