"""The load options of a pipeline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..._image_data import MAX_PIXELS
from ..._typing import Self
from ..._values import invalid
from ...errors import ArgumentError

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}  # of a value, by dtype
MAX_STEPS = 1000
_MOST_THREADS = 256
_VARIANT = re.compile("[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True, slots=True)
class Options:
    """Checked load options."""

    dtype: str = "float32"
    variant: str = ""  # of the weight files, such as "fp16"
    threads: int = 1
    steps: int = 0  # 0: the pipeline's own
    tiling: bool = True  # of the autoencoder
    max_pixels: int = 0  # of an image; 0: twice the pipeline's own size

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Returns the options. Raises `ArgumentError` for an unknown name or a bad value."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{near[0]}'?" if near else f"expected one of {', '.join(known)}"
                raise ArgumentError(f"unknown option '{name}': {hint}")
        made = cls(**given)
        made._check()
        return made

    def _check(self) -> None:
        if not isinstance(self.dtype, str) or self.dtype not in BYTES:
            raise ArgumentError(invalid("dtype", self.dtype, f"one of {', '.join(BYTES)}"))
        if not isinstance(self.variant, str) or (self.variant and not _VARIANT.fullmatch(self.variant)):
            raise ArgumentError(invalid("variant", self.variant, "letters and digits, such as 'fp16'"))
        if not isinstance(self.tiling, bool):
            raise ArgumentError(invalid("tiling", self.tiling, "true or false"))
        _check_whole("threads", self.threads, 1, _MOST_THREADS)
        _check_whole("steps", self.steps, 0, MAX_STEPS)
        _check_whole("max_pixels", self.max_pixels, 0, MAX_PIXELS)


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ArgumentError(invalid(name, value, f"a whole number from {least} to {most}"))
