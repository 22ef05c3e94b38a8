"""Enumerations of the fleet's interface. Each value is the string that is sent."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from .errors import ValidationError


class _Wire(str, Enum):
    """An enumeration whose members are their strings, also in `str()` and `format()`."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Backend(_Wire):
    """Inference engine of a workload."""

    OLLAMA = "ollama"
    VLLM = "vllm"
    VLLM_OMNI = "vllm-omni"
    SGLANG = "sglang"
    LLAMACPP = "llamacpp"


class TaskType(_Wire):
    """Modality of a workload. The control plane's default is `TEXT2TEXT`.

    `RERANKER`, `CLASSIFICATION` and `REWARD` have no synchronous OpenAI route; jobs serve them.
    """

    TEXT2TEXT = "text2text"
    EMBEDDING = "embedding"
    TEXT2IMAGE = "text2image"
    TEXT2AUDIO = "text2audio"
    AUDIO2TEXT = "audio2text"
    RERANKER = "reranker"
    CLASSIFICATION = "classification"
    REWARD = "reward"
    TEXT2VIDEO = "text2video"
    IMAGE2IMAGE = "image2image"
    IMAGE2VIDEO = "image2video"
    OMNI = "omni"
    FORECAST = "forecast"


class OnDrift(_Wire):
    """What `ensure()` does if the workload exists and differs from the spec."""

    RECONCILE = "reconcile"
    FAIL = "fail"
    DRY_RUN = "dry_run"
    WARN = "warn"
    IGNORE = "ignore"


class ExecutionPolicy(_Wire):
    """How the control plane schedules a workload."""

    FIXED = "fixed"
    SCHEDULED = "scheduled"
    AUTOSCALING = "autoscaling"


_Member = TypeVar("_Member", bound=_Wire)


def member(kind: type[_Member], name: str, value: object) -> _Member:
    """Returns the member of an enumeration for a member or its string.

    Raises:
        ValidationError: `value` is neither; the message names the parameter `name` and the values.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise ValidationError(f"invalid {name} '{str(value)[:100]}': expected one of {known}") from None
