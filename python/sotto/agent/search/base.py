"""`Inquiry` and `HitSource`: what a search asks, and who answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .embedding import Embedding
from .hit import Hit


@dataclass(frozen=True)
class Inquiry:
    """What is searched for.

    Attributes:
        text: The query, on one line.
        limit: Number of hits that are of use.
        embedding: The embedding model; None: the search is by words.
        cancelled: Returns True if the result is not needed any more. May be called on any thread.
    """

    text: str
    limit: int
    embedding: Embedding | None
    cancelled: Callable[[], bool]


class HitSource(Protocol):
    """Where a search looks.

    Attributes:
        ranked: True: the hits are passages in their order; False: texts of any length that a search splits
            and ranks.
    """

    ranked: bool

    async def find(self, inquiry: Inquiry) -> list[Hit]:
        """Returns hits. Runs on the event loop, so it leaves slow work to threads."""
