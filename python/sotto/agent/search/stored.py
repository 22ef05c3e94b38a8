"""`StoreSource`: searches the entries of a store, such as lore or the memories of a character."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._handle import Unique
from ..._values import string, typed, wrong_type
from ...entry import Match
from ...store import Store
from ..threads import value_of
from .base import Inquiry
from .hit import Hit


class StoreSource(Unique):
    """Searches a `sotto.Store`, by words and, if its `dim` is that of the embedding model, by embedding.

    An entry is cited by `metadata["url"]`, else by the names of the store and of the entry; its title is its
    `key`. The store stays open when the search is closed.

    Args:
        store: The store.
        namespace: Entries of this namespace alone; None: all.
        where: Entries whose metadata match alone, see `Store.query()`; None: all.

    >>> lore = Search(engine, StoreSource(store, namespace="lore"))
    """

    ranked = True

    def __init__(
        self, store: Store, *, namespace: str | None = None, where: Mapping[str, Any] | None = None
    ) -> None:
        typed("store", store, Store)
        if where is not None and not isinstance(where, Mapping):
            raise wrong_type("where", where, "a mapping or None")
        self._store = store
        self._namespace = None if namespace is None else string("namespace", namespace)
        self._where = where

    def __repr__(self) -> str:
        return f"<sotto.agent.StoreSource of {self._store!r}>"

    async def find(self, inquiry: Inquiry) -> list[Hit]:
        """Returns the entries that fit best, best first."""
        found: list[Hit] = await value_of(lambda: self._find(inquiry))
        return found

    def close(self) -> None:
        """Does nothing: the store is the application's."""

    def _find(self, inquiry: Inquiry) -> list[Hit]:
        vector = None
        dim = int(self._store.info()["dim"])
        if inquiry.embedding is not None and dim:
            vector = inquiry.embedding.vectors([inquiry.text], inquiry.cancelled)[0]
        found = self._store.query(
            inquiry.text,
            embedding=vector if vector is not None and len(vector) == dim else None,
            namespace=self._namespace,
            where=self._where,
            limit=inquiry.limit,
        )
        return [self._hit(one) for one in found]

    def _hit(self, match: Match) -> Hit:
        entry = match.entry
        url = entry.metadata.get("url")
        if not isinstance(url, str):
            url = f"{self._store.id}/{entry.id}"
        return Hit(entry.key or entry.namespace, entry.value or entry.key, url, match.score)
