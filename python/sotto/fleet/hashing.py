"""Choice of a cell for a session, the same in every client and without a table of sessions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping


def rendezvous(key: str, cells: Mapping[str, float]) -> list[str]:
    """Returns the cells in the order in which a session is to try them.

    Weighted rendezvous hashing: each cell has a score from a hash of key and name, and the highest score
    wins, so that a cell that is lost or added moves only its own sessions. Thaler and Ravishankar, "A
    Name-Based Mapping Scheme for Rendezvous" (1996); weights as in Schindelhauer and Schomaker, "Weighted
    Distributed Hash Tables" (2005).

    Args:
        key: The session's id.
        cells: Name of a cell to its weight, usually its number of workers; cells of weight 0 are left out.

    Raises:
        ValueError: No cell has a weight above 0, or a weight is negative or not a number.

    >>> rendezvous("session-7", {"eu-1": 40, "eu-2": 40, "us-1": 80})[0]
    'us-1'
    """
    for name, weight in cells.items():
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"invalid weight of cell '{name}' '{weight}': expected a number >= 0")
    scores = {name: weight / -math.log(_uniform(key, name)) for name, weight in cells.items() if weight}
    if not scores:
        raise ValueError("invalid cells: expected at least one cell with a weight above 0")
    return sorted(scores, key=lambda name: (-scores[name], name))


def _uniform(key: str, name: str) -> float:
    """Returns a number in (0, 1) that depends on both texts alone."""
    digest = hashlib.blake2b(f"{name}\0{key}".encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "big") >> 11) + 0.5) / (1 << 53)
