"""Words of a configuration of HAProxy: what may stand in one without a quote."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+/?")


def checked_name(what: str, value: object) -> str:
    """Returns a name of a server. Raises `ValueError` if HAProxy would read it as more than one word."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(
            f"invalid {what} '{value!s:.100}': expected 1 to 100 of A-Z a-z 0-9 . _ -, no sign first"
        )
    return value


def checked_path(what: str, value: object) -> str:
    """Returns an absolute path. Raises `ValueError` for one with other signs than those of slugs."""
    if not isinstance(value, str) or not _PATH.fullmatch(value) or len(value) > 1000:
        raise ValueError(f"invalid {what} '{value!s:.100}': expected /, then names of A-Z a-z 0-9 . _ ~ -")
    return value
