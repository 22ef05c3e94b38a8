"""Reads what sentence-transformers keeps beside the weights: pooling, normalisation, length, prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ModelLoadError, Status
from .files import read_json

POOLINGS = ("mean", "cls")
POOLING_FOLDER = re.compile(r"\d+_Pooling")  # as sentence-transformers names it
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
        prompt: Text before each text, the model's default prompt.
    """

    pooling: str = "mean"
    normalize: bool = False
    max_length: int = _DEFAULT_LENGTH
    lower: bool = False
    prompt: str = ""

    @classmethod
    def read(cls, folder: Path) -> SentenceConfig:
        """Returns the configuration of a converted model.

        Raises `ModelLoadError` if a file is damaged, or a module is not supported.
        """
        bert = read_json(folder / "sentence_bert_config.json", dict, {})
        modules = _modules(folder)
        pooled = read_json(folder / modules.get("Pooling", "1_Pooling") / "config.json", dict, {})
        prompt = _prompt(folder)
        if prompt and pooled.get("include_prompt") is False:
            raise ModelLoadError(
                f"'{folder}' leaves the default prompt out of the pooling, which is not supported: remove "
                "default_prompt_name from config_sentence_transformers.json",
                Status.UNSUPPORTED,
            )
        return cls(
            pooling=_pooling(pooled) if pooled else "mean",
            normalize="Normalize" in modules,
            max_length=_max_length(folder, bert),
            lower=bert.get("do_lower_case") is True,
            prompt=prompt,
        )


def _modules(folder: Path) -> Mapping[str, str]:
    """Returns the folders of the modules, by class."""
    file = folder / "modules.json"
    damaged = ModelLoadError(f"'{file}' is damaged: convert the model again with `sotto convert`")
    try:
        modules = {
            str(module["type"]).rpartition(".")[2]: str(module.get("path", ""))
            for module in read_json(file, list, [])
        }
    except (AttributeError, TypeError, KeyError):
        raise damaged from None
    for name, path in modules.items():
        if name not in _RUN:
            raise ModelLoadError(
                f"'{file}' has a module {name}: expected one of {', '.join(_RUN)}", Status.UNSUPPORTED
            )
        if name == "Pooling" and not POOLING_FOLDER.fullmatch(path):
            raise damaged
    return modules


def _prompt(folder: Path) -> str:
    file = folder / "config_sentence_transformers.json"
    config = read_json(file, dict, {})
    name, prompts = config.get("default_prompt_name"), config.get("prompts")
    if name is None:
        return ""
    prompt = prompts.get(name) if isinstance(name, str) and isinstance(prompts, dict) else None
    if not isinstance(prompt, str):
        raise ModelLoadError(
            f"'{file}' is damaged: expected default_prompt_name as a name in prompts; convert the model again"
        )
    return prompt


def _pooling(given: Mapping[str, Any]) -> str:
    """Returns the name of the pooling; several are joined by "+"."""
    if "pooling_mode" in given:
        mode = given["pooling_mode"]
        return "+".join(map(str, mode)) if isinstance(mode, list) else str(mode)
    return "+".join(name for flag, name in _FLAGS.items() if given.get(flag) is True)


def _max_length(folder: Path, bert: Mapping[str, Any]) -> int:
    known = [
        bert.get("max_seq_length"),
        read_json(folder / "config.json", dict, {}).get("max_position_embeddings"),
        read_json(folder / "tokenizer_config.json", dict, {}).get("model_max_length"),
    ]
    return min(
        (size for size in known if type(size) is int and 2 < size < _UNLIMITED), default=_DEFAULT_LENGTH
    )
