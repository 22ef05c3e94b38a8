"""`Entry` and `Match`: what a store holds, and what a query finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ._json import dump


class Entry(NamedTuple):
    """One memory of a store.

    Attributes:
        id: Id, unique in the store.
        namespace: Namespace, such as a character's name; "" is the default one.
        key: Title or trigger.
        value: The memory.
        priority: Set by the game; 1.0 by default.
        importance: From 0 to 1; 0.5 by default.
        created_ms: Milliseconds since 1970, or of the game's own clock.
        accessed_ms: Time of the last access that was recorded.
        metadata: What filters read.
        embedding: The vector, if it was asked for and there is one.
    """

    id: str
    namespace: str
    key: str
    value: str
    priority: float
    importance: float
    created_ms: int
    accessed_ms: int
    metadata: Mapping[str, Any]
    embedding: tuple[float, ...] | None = None


class Match(NamedTuple):
    """An entry that a query found.

    Attributes:
        entry: The entry.
        score: Mean of relevance, priority, recency and importance by the query's weights.
        relevance: Cosine, BM25 as a fraction of the best match's, or both fused, by the kind of query.
        recency: 1 for an entry that was accessed now; halves with each half-life.
        similarity: Cosine of the embeddings, -1 to 1; None if either has none.
        text_score: BM25, larger is better; None if the entry does not match the text.
    """

    entry: Entry
    score: float
    relevance: float
    recency: float
    similarity: float | None
    text_score: float | None


def read_entry(told: Mapping[str, Any]) -> Entry:
    """Returns the entry of a JSON object."""
    fields = {name: told.get(name) for name in Entry._fields}
    if (vector := fields["embedding"]) is not None:
        fields["embedding"] = tuple(vector)
    return Entry(**fields)  # type: ignore[arg-type]


def read_match(told: Mapping[str, Any]) -> Match:
    """Returns the match of a JSON object."""
    return Match(read_entry(told), *(told.get(name) for name in Match._fields[1:]))  # type: ignore[arg-type]


def dump_entry(entry: Entry) -> str:
    """Returns an entry as JSON."""
    fields = entry._asdict()
    if entry.embedding is None:
        del fields["embedding"]
    return dump("entry", fields)
