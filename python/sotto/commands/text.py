"""Formats numbers as readable text."""

from __future__ import annotations

import math


def size(count: float) -> str:
    """Formats a number of bytes in B, KiB, MiB or GiB, depending on its magnitude."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def amount(count: float) -> str:
    """Formats a number of model parameters with the suffix K, M or G."""
    for unit in ("", " K", " M"):
        if count < 1000:
            return f"{count:.0f}{unit}" if count >= 100 or not unit else f"{count:.1f}{unit}"
        count /= 1000
    return f"{count:.1f} G"


def megabytes(count: float) -> str:
    """Formats a number of bytes in MB of 1,048,576 bytes, the unit of budgets; rounds up to one decimal."""
    return f"{math.ceil(count / (1 << 20) * 10) / 10:,.1f}"
