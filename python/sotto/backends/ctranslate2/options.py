"""The load options of the backend."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..._values import invalid
from ...errors import ArgumentError

_MOST_THREADS, _MOST_SECONDS = 256, 86_400


@dataclass(frozen=True, slots=True)
class Options:
    """Checked load options."""

    compute_type: str = "default"
    threads: int = 1
    vad: bool = True
    max_seconds: float = 3600

    @staticmethod
    def read(given: Mapping[str, Any]) -> Options:
        """Returns the options. Raises `ArgumentError` for an unknown name or a bad value."""
        known = [field.name for field in fields(Options)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
                raise ArgumentError(f"unknown option '{name}': {hint}")
        made = Options(**given)
        _check("threads", made.threads, int, 1, _MOST_THREADS)
        _check("max_seconds", made.max_seconds, (int, float), 1, _MOST_SECONDS)
        if not isinstance(made.vad, bool):
            raise ArgumentError(invalid("vad", made.vad, "true or false"))
        _check_type(made.compute_type)
        return made


def _check(name: str, value: Any, kind: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        raise ArgumentError(invalid(name, value, f"a number from {least} to {most}"))


def _check_type(name: object) -> None:
    import ctranslate2

    able = {*ctranslate2.get_supported_compute_types("cpu"), "default", "auto"}
    if name not in able:
        raise ArgumentError(
            invalid("compute_type", name, f"one of {', '.join(sorted(able))} on this processor")
        )
