"""`SamplingParams`: how tokens are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from .._values import invalid
from .errors import ValidationError

_MAX_SEED = (1 << 32) - 1


@dataclass(slots=True)
class SamplingParams:
    """Sampling parameters, with the defaults of the reference interface.

    Attributes:
        temperature: 0: always the likeliest token.
        top_k: Number of the likeliest tokens that are kept; 0: all.
        top_p: Nucleus sampling, 0 to 1; 1: all.
        min_p: Drops tokens less likely than this times the likeliest, 0 to 1; 0: none.
        min_keep: Minimum number of tokens that each sampler leaves.
        repeat_penalty: Divides the logits of tokens that occurred; 1: off.
        repeat_last_n: Tokens that the three penalties look back on; -1: the whole context.
        presence_penalty: Subtracted from the logit of each token that occurred.
        frequency_penalty: Subtracted from a token's logit once for each time that it occurred.
        seed: 0 to 4,294,967,295; None or -1: random.

    Raises:
        ValidationError: A value is out of range.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0
    min_keep: int = 1
    repeat_penalty: float = 1.1
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, (kinds, least, most, expected) in _RANGES.items():
            value = getattr(self, name)
            if name == "seed" and value is None:
                continue
            fits = isinstance(value, kinds) and not isinstance(value, bool)
            if not fits or not math.isfinite(value) or not least <= value <= most:
                raise ValidationError(invalid(name, value, expected))

    def changed(self, values: Mapping[str, Any]) -> SamplingParams:
        """Returns a copy with other values; a value of None leaves the field."""
        given = {name: value for name, value in values.items() if value is not None}
        return replace(self, **given) if given else self

    def body(self) -> dict[str, Any]:
        """Returns the fields of a request."""
        found = asdict(self)
        if found["seed"] is None:
            del found["seed"]
        return found


_NUMBER = (int, float)
_RANGES: dict[str, tuple[tuple[type, ...], float, float, str]] = {
    "temperature": (_NUMBER, 0, 100, "a number from 0 to 100"),
    "top_k": ((int,), 0, 2**31 - 1, "an integer from 0, which keeps all tokens"),
    "top_p": (_NUMBER, 0, 1, "a number from 0 to 1"),
    "min_p": (_NUMBER, 0, 1, "a number from 0 to 1"),
    "min_keep": ((int,), 1, 1000, "an integer from 1 to 1000"),
    "repeat_penalty": (_NUMBER, 0.01, 10, "a number from 0.01 to 10; 1 is off"),
    "repeat_last_n": ((int,), -1, 2**31 - 1, "an integer from -1, the whole context"),
    "presence_penalty": (_NUMBER, -10, 10, "a number from -10 to 10"),
    "frequency_penalty": (_NUMBER, -10, 10, "a number from -10 to 10"),
    "seed": ((int,), -1, _MAX_SEED, f"an integer from -1 to {_MAX_SEED}, or None"),
}
NAMES = tuple(field.name for field in fields(SamplingParams))
