"""Families of language models: how to tell them apart, and what each is best run with."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from .._gguf import read_values
from .._values import invalid
from .config import path_of
from .errors import ValidationError


class ModelFamily(Enum):
    """Families that `UnifiedLLM` knows."""

    AYA = auto()
    GEMMA = auto()
    GLM4 = auto()
    GRANITE = auto()
    MINICPM = auto()
    PHI = auto()
    MISTRAL = auto()
    QWEN3 = auto()
    GPT_OSS = auto()


@dataclass(slots=True)
class ModelConfig:
    """What a family is run with.

    Attributes:
        family: The family.
        chat_format: Name of the chat template for a file without one, see `sotto.llama.formats`.
        temperature: Default temperature.
        top_p: Default of nucleus sampling.
        top_k: Default number of candidates; 0: all.
        min_p: Default threshold relative to the likeliest token.
        max_ctx: Longest context, in tokens.
        supports_thinking: True if the model can reason before it answers.
        stop_sequences: Texts that end an answer.
    """

    family: ModelFamily
    chat_format: str | None = None
    temperature: float = 0.7
    top_p: float = 0.9
    top_k: int = 40
    min_p: float = 0.0
    max_ctx: int = 8192
    supports_thinking: bool = False
    stop_sequences: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Thinking:
    """Sampling while a model reasons, where its makers recommend other values."""

    temperature: float
    top_p: float
    top_k: int
    min_p: float


# Keys are what a lower-case file name contains; the longest key that fits counts. If only the family is
# given, its first key counts. Comments name the sources; no source was found for what is "unconfirmed".
CONFIGS = {
    # 8K context: huggingface.co/CohereForAI/aya-expanse-8b; sampling unconfirmed
    "aya": ModelConfig(ModelFamily.AYA, "command-r", 0.3, 0.9, 40, max_ctx=8192),
    # "the Gemma team" as quoted by docs.unsloth.ai, Gemma 3: temperature 1.0, top_k 64, top_p 0.95, min_p 0
    "gemma": ModelConfig(ModelFamily.GEMMA, "gemma", 1.0, 0.95, 64, max_ctx=131072),
    # huggingface.co/THUDM/glm-4-9b, generation_config.json: temperature 0.8, top_p 0.8; top_k unconfirmed
    "glm-4": ModelConfig(ModelFamily.GLM4, "glm4", 0.8, 0.8, 40, max_ctx=131072),
    # unconfirmed: the cards of ibm-granite name no sampling, and the reference interface is greedy
    "granite": ModelConfig(ModelFamily.GRANITE, "granite", 0.0, 1.0, 0, max_ctx=131072),
    # huggingface.co/openbmb/MiniCPM4-8B, "chat interface": temperature 0.7, top_p 0.7; top_k unconfirmed
    "minicpm": ModelConfig(ModelFamily.MINICPM, "chatml", 0.7, 0.7, 40, max_ctx=32768),
    # huggingface.co/mistralai/Mistral-Small-24B-Instruct-2501: "temperature=0.15"; top_p, top_k unconfirmed
    "mistral": ModelConfig(ModelFamily.MISTRAL, "mistral", 0.15, 0.95, 40, max_ctx=32768),
    # huggingface.co/mistralai/Ministral-3-3B-Instruct-2512: "a temperature below 0.1"
    "ministral": ModelConfig(ModelFamily.MISTRAL, "mistral", 0.05, 0.95, 40, max_ctx=131072),
    # unconfirmed: huggingface.co/microsoft/Phi-4-reasoning gives sampling, but its text was not found
    "phi-4": ModelConfig(
        ModelFamily.PHI, "phi4", 0.8, 0.95, 50, max_ctx=16384, stop_sequences=["<|im_end|>"]
    ),
    # huggingface.co/Qwen/Qwen3-8B, "Best Practices": 0.7, 0.8, 20; thinking (see THINKING) 0.6, 0.95, 20
    "qwen3": ModelConfig(ModelFamily.QWEN3, "chatml", 0.7, 0.8, 20, max_ctx=32768, supports_thinking=True),
    "qwen3-2507-instruct": ModelConfig(
        ModelFamily.QWEN3,
        "chatml",
        0.7,
        0.8,
        20,
        max_ctx=262144,
        stop_sequences=["<|im_end|>", "<|endoftext|>"],
    ),
    # github.com/openai/gpt-oss, README.md: "temperature=1.0 and top_p=1.0"
    "gpt-oss": ModelConfig(
        ModelFamily.GPT_OSS, "gpt-oss", 1.0, 1.0, 0, max_ctx=131072, supports_thinking=True
    ),
}
THINKING = {ModelFamily.QWEN3: Thinking(0.6, 0.95, 20, 0.0)}
_SPELLINGS = {  # other ways in which files and their metadata spell a key
    "glm4": "glm-4",
    "chatglm": "glm-4",
    "phi4": "phi-4",
    "gptoss": "gpt-oss",
    "gpt_oss": "gpt-oss",
}
_ARCHITECTURES = {  # of GGUF files, where one belongs to one family
    "chatglm": "glm-4",
    "glm4": "glm-4",
    "gemma": "gemma",
    "gemma2": "gemma",
    "gemma3": "gemma",
    "gemma3n": "gemma",
    "gpt-oss": "gpt-oss",
    "granite": "granite",
    "granitehybrid": "granite",
    "granitemoe": "granite",
    "minicpm": "minicpm",
    "minicpm3": "minicpm",
    "mistral3": "mistral",
    "qwen3": "qwen3",
    "qwen3moe": "qwen3",
}
_METADATA = ("general.architecture", "general.name", "general.basename")


def detect_model_family(model_path: str) -> ModelConfig:
    """Returns the configuration of a model's family: by the file's metadata if it decides, else by its name.

    Args:
        model_path: Path of the GGUF file, which need not exist.

    Raises:
        ValidationError: The family is unknown. Also a `ValueError`.
    """
    path = path_of(model_path)
    told = read_values(path, _METADATA)
    names = [str(told.get(name, "")).lower() for name in _METADATA[1:]]
    names += [os.path.basename(path).lower(), path.lower()]
    key = _ARCHITECTURES.get(str(told.get("general.architecture")))
    key = key or next(filter(None, map(_key_in, names)), None)
    if key is None:
        known = ", ".join(family.name for family in ModelFamily)
        expected = f"a file whose metadata or name tells its family ({known}); pass family="
        raise ValidationError(invalid("model_path", path, expected))
    if key == "qwen3" and any("2507" in name and "instruct" in name for name in names):
        key = "qwen3-2507-instruct"
    return copy_of(key)


def family_config(family: str | ModelFamily) -> ModelConfig:
    """Returns the configuration of a family by its member, or by a key such as "qwen3".

    Raises:
        TypeError: `family` is neither.
        ValidationError: The family is unknown. Also a `ValueError`.
    """
    if isinstance(family, ModelFamily):
        return next(copy_of(key) for key, config in CONFIGS.items() if config.family is family)
    if not isinstance(family, str):
        raise TypeError(f"invalid family '{family!r}': expected a str or a ModelFamily")
    key = family.lower()
    key = _SPELLINGS.get(key, key)
    if key not in CONFIGS:
        raise ValidationError(invalid("family", family, f"one of {', '.join(CONFIGS)}"))
    return copy_of(key)


def copy_of(key: str) -> ModelConfig:
    """Returns a copy of a configuration, which the caller may change."""
    found = CONFIGS[key]
    return replace(found, stop_sequences=list(found.stop_sequences))


def _key_in(name: str) -> str | None:
    found = [key for key in (*CONFIGS, *_SPELLINGS) if key in name]
    longest = max(found, key=len, default=None)
    return None if longest is None else _SPELLINGS.get(longest, longest)
