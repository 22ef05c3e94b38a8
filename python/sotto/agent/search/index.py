"""`PassageIndex`: passages in a store, found by words and by embedding."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..._handle import Unique
from ...entry import Entry, Match
from ...store import Store
from .embedding import Vectors


class PassageIndex(Unique):
    """Passages in a store of the application, or in one in a temporary folder. Belongs to its caller's lock.

    `Store.query()` ranks: by BM25, and, if the passages have embeddings, by cosine, fused by rank.

    Args:
        store: Store of the application, which is not closed; None: a temporary one.
        namespace: Namespace of the passages.
    """

    def __init__(self, store: Store | None, namespace: str) -> None:
        self._given = store
        self._namespace = namespace
        self._store: Store | None = None  # the temporary one
        self._dim = 0
        self._pid = os.getpid()

    def open(self, dim: int) -> bool:
        """Prepares for embeddings of `dim` numbers; 0: for none.

        Returns:
            True if the passages can have embeddings of this size. A temporary store with another size starts
            again, without passages.
        """
        if self._given is not None:
            return dim > 0 and int(self._given.info()["dim"]) == dim
        if self._pid != os.getpid():  # a forked child; the files belong to its parent
            self._store, self._pid = None, os.getpid()
        if self._store is None or (dim and dim != self._dim):
            self.close()
            self._store, self._dim = _temporary(dim), dim
        return dim > 0

    @property
    def opened(self) -> Store | None:
        """The store; None: `open()` was not called yet."""
        return self._given if self._given is not None else self._store

    @property
    def _open_store(self) -> Store:
        found = self.opened
        assert found is not None
        return found

    def add(self, entries: Sequence[Mapping[str, Any]], vectors: Vectors | None) -> None:
        """Adds passages, all or none of them: entries of a store without a namespace."""
        if entries:
            whole = [{**one, "namespace": self._namespace} for one in entries]
            self._open_store.insert_many(whole, embeddings=vectors)

    def remove(self, where: Mapping[str, Any]) -> None:
        """Removes passages by their metadata."""
        self._open_store.delete_where(namespace=self._namespace, where=where)

    def __iter__(self) -> Iterator[Entry]:
        return self._open_store.list(namespace=self._namespace)

    def find(self, text: str, vector: Sequence[float] | None, limit: int) -> list[Match]:
        """Returns the passages that fit a text best, best first."""
        return self._open_store.query(text, embedding=vector, namespace=self._namespace, limit=limit)

    def close(self) -> None:
        """Deletes the temporary store. A second call does nothing."""
        store, self._store = self._store, None
        if store is not None and self._pid == os.getpid():
            store.close()
            _delete(store.folder, self._pid)


def _temporary(dim: int) -> Store:
    folder = tempfile.mkdtemp(prefix="sotto-search-")
    try:
        store = Store.open(secrets.token_hex(8), dim=dim or None, folder=folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(store, _delete, folder, os.getpid())
    return store


def _delete(folder: str, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
