"""Figures as people read them."""

from __future__ import annotations

import math


def size(count: float) -> str:
    """Bytes, in the unit that suits them."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def amount(count: float) -> str:
    """A number of parameters."""
    for unit in ("", " K", " M"):
        if count < 1000:
            return f"{count:.0f}{unit}" if count >= 100 or not unit else f"{count:.1f}{unit}"
        count /= 1000
    return f"{count:.1f} G"


def megabytes(count: float) -> str:
    """Bytes, in the megabytes that budgets are given in. Never fewer than there are."""
    return f"{math.ceil(count / (1 << 20) * 10) / 10:,.1f}"
