"""`Ranking`: splits hits into passages, and ranks these in a temporary store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from ..._handle import Unique
from .base import Inquiry
from .chunks import passages
from .embedding import Cancelled
from .hit import Hit
from .index import PassageIndex

MAX_PASSAGES = 2000  # of all hits; the rest is left out
MAX_EMBEDDED = 64  # passages that are embedded: the best ones by words


class Ranking(Unique):
    """Ranks hits. Thread-safe."""

    def __init__(self) -> None:
        self._index = PassageIndex(None, "hits")
        self._lock = threading.Lock()  # guards the index

    def rank(self, hits: Sequence[Hit], inquiry: Inquiry) -> list[Hit]:
        """Returns the passages of hits, the best first. Those without any of the words come last.

        Args:
            hits: Hits with texts of any length.
            inquiry: What is searched for.
        """
        found = _split(hits)
        if len(found) < 2:
            return found
        embedding = inquiry.embedding
        with self._lock:
            if embedding is None or len(found) > MAX_EMBEDDED:
                found = self._order(found, inquiry.text, None, None)
            if embedding is None:
                return found
            best = found[:MAX_EMBEDDED]
            texts = [inquiry.text, *(f"{one.title}\n{one.text}" for one in best)]
            query, *vectors = embedding.vectors(texts, inquiry.cancelled)
            if inquiry.cancelled():
                raise Cancelled
            return [*self._order(best, inquiry.text, query, vectors), *found[MAX_EMBEDDED:]]

    def close(self) -> None:
        """Deletes the temporary store."""
        with self._lock:
            self._index.close()

    def _order(
        self,
        hits: list[Hit],
        query: str,
        vector: Sequence[float] | None,
        vectors: list[Sequence[float]] | None,
    ) -> list[Hit]:
        self._index.open(0 if vector is None else len(vector))
        try:
            entries = [
                {"key": one.title, "value": one.text, "metadata": {"at": at}} for at, one in enumerate(hits)
            ]
            self._index.add(entries, vectors)
            matches = self._index.find(query, vector, len(hits))
        finally:
            self._index.remove({})
        order = {match.entry.metadata["at"]: match.score for match in matches}
        ranked = [replace(hits[at], score=score) for at, score in order.items()]
        return ranked + [hit for at, hit in enumerate(hits) if at not in order]


def _split(hits: Sequence[Hit]) -> list[Hit]:
    """Returns a hit for each passage, the first passages of each hit first."""
    split = [list(passages(hit.text)) for hit in hits]
    rows = max(map(len, split), default=0)
    every = (
        replace(hit, text=parts[row].text, title=hit.title or parts[row].heading)
        for row in range(rows)
        for hit, parts in zip(hits, split, strict=True)
        if row < len(parts)
    )
    return [hit for hit, _ in zip(every, range(MAX_PASSAGES), strict=False)]
