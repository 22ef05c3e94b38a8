"""`token_of`: the Hugging Face token that a `token_source` names."""

from __future__ import annotations

import os
from pathlib import Path

from .._values import invalid, string
from .errors import RunnerError

CACHE = "cache"
_FORMS = '"literal:TOKEN", "env:VARIABLE", "path:FILE", "cache" or "none"'


def token_of(source: object) -> str | None:
    """Returns the token; None: no token. For "cache", returns "cache": the hub's client finds it.

    Raises:
        RunnerError: The form is unknown, the variable is not set, or the file cannot be read. The text
            has no token.
    """
    text = string("token_source", source)
    if text in (CACHE, "none"):
        return None if text == "none" else CACHE
    form, colon, value = text.partition(":")
    if not colon or form not in ("literal", "env", "path") or not value:
        shown = f"{form}:..." if colon else text
        raise RunnerError(invalid("token_source", shown, _FORMS))
    if form == "literal":
        return value
    if form == "env":
        if not (found := os.environ.get(value, "").strip()):
            raise RunnerError(invalid("token_source", text, f"a variable {value} that is set"))
        return found
    try:
        found = Path(value).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RunnerError(invalid("token_source", text, f"a file that can be read: {error}")) from None
    if not found:
        raise RunnerError(invalid("token_source", text, "a file with a token; this one is empty"))
    return found
