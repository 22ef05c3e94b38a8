"""Canonical slugs: lowercase ASCII letters and digits, with single hyphens between them."""

from __future__ import annotations

import re

MAX_LENGTH = 63  # characters; a label of a host name
_RUNS = re.compile(r"[a-z0-9]+")


def canonical(slug: str) -> str:
    """Returns the canonical form of a slug: 'My Slug!' becomes 'my-slug'.

    Letters of A to Z become lowercase; every run of other characters becomes one hyphen; hyphens at the ends
    are removed. The result is empty if the slug holds no ASCII letter and no digit.
    """
    lowered = "".join(one.lower() if one.isascii() else one for one in slug)
    return "-".join(_RUNS.findall(lowered))


def problem(slug: str) -> str | None:
    """Returns why a slug is unusable, or None."""
    made = canonical(slug)
    if not made:
        return "expected at least one letter a-z or one digit"
    if len(made) > MAX_LENGTH:
        return f"expected at most {MAX_LENGTH} characters"
    return None
