"""The load options that all kinds of models have. Each kind adds its own beside its class."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..._typing import Self
from ..._values import invalid
from ...errors import ArgumentError

_MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Options:
    """Checked load options."""

    compute_type: str = "default"
    threads: int = 1

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Returns the options. Raises `ArgumentError` for an unknown name or a bad value."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
                raise ArgumentError(f"unknown option '{name}': {hint}")
        made = cls(**given)
        made.check()
        return made

    def check(self) -> None:
        """Raises `ArgumentError` for a bad value. A kind with options of its own extends this."""
        check_number("threads", self.threads, int, 1, _MOST_THREADS)
        _check_type(self.compute_type)


def check_number(name: str, value: Any, kind: Any, least: float, most: float) -> None:
    """Raises `ArgumentError` unless `value` is of `kind` and within the limits."""
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        raise ArgumentError(invalid(name, value, f"a number from {least} to {most}"))


def _check_type(name: object) -> None:
    import ctranslate2

    able = {*ctranslate2.get_supported_compute_types("cpu"), "default", "auto"}
    if not isinstance(name, str) or name not in able:
        raise ArgumentError(
            invalid("compute_type", name, f"one of {', '.join(sorted(able))} on this processor")
        )
