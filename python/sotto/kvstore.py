"""Part of `Engine`: the key-value stores of the reference interface, as JSON text."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from typing import Any

from ._desc import Json, StrPath, json_text
from ._json import dump
from ._places import folder_of
from ._values import invalid, string
from .errors import ArgumentError, Status, StoreError
from .store import Store

_MAX_LIMIT = 10_000
_QUERY = ("query_embedding", "query_text", "limit", "vector_search_limit", "use_prefilter")


class KeepsStores:
    """Part of `Engine`: key-value stores with embeddings.

    The engine opens a store at its first use and closes it at its own end. See `sotto.Store` for stores
    with text search, filters and namespaces; it opens the same files.

    >>> engine.kvstore_create("lore", 3)
    >>> engine.kvstore_insert("lore", '[{"key": "greeting", "value": "Hello!", "embedding": [1, 2, 3]}]')
    >>> engine.kvstore_query("lore", '{"query_embedding": [1, 2, 3], "limit": 5}')
    """

    def _open_stores(self, folder: StrPath | None) -> None:
        """Prepares an engine for stores. `folder`: None: the user's data folder."""
        self._store_dir = folder_of(folder)
        self._stores: dict[str, Store] = {}
        self._storing = threading.Lock()  # guards _stores

    def _close_stores(self) -> None:
        with self._storing:
            stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()

    def kvstore_create(self, store_id: str, dim: int, path: StrPath | None = None) -> None:
        """Creates a store, or opens the existing one.

        Args:
            store_id: Name of the store, a plain file name of 1 to 100 bytes.
            dim: Numbers per embedding, 1 to 16,384.
            path: Folder of the store's files; None: `store_dir` of the engine. Stores in another folder must
                be created again, which opens them, before other calls know them.

        Raises:
            StoreError: The store exists with another `dim`, is open elsewhere, or cannot be written.
            ArgumentError: An argument is out of range.
        """
        name = string("store_id", store_id)
        if isinstance(dim, int) and not isinstance(dim, bool) and dim < 1:
            raise ArgumentError(invalid("dim", dim, "an integer from 1 to 16384"))
        with self._storing:
            if name in self._stores:
                folder = self._stores[name].folder
                if path is not None and os.path.realpath(path) != os.path.realpath(folder):
                    raise StoreError(
                        invalid("path", str(path), f"'{folder}', where the store of this name is open"),
                        Status.STATE,
                    )
                if self._stores[name].info()["dim"] != dim:
                    raise StoreError(
                        invalid("dim", dim, "the dim that the store was created with"), Status.STATE
                    )
                return
            self._stores[name] = Store.open(name, dim=dim, folder=self._store_dir if path is None else path)

    def kvstore_insert(self, store_id: str, entries_json: str) -> None:
        """Inserts entries, all or none of them.

        Args:
            store_id: Name of the store.
            entries_json: JSON array of objects with `key`, `value` and `embedding`; other fields of
                `sotto.Entry`, such as `priority` or `id`, are optional.

        Raises:
            StoreError: The store does not exist, or an embedding has another number of values than the store.
            ArgumentError: `entries_json` is invalid. Also a `ValueError`.
        """
        entries = _parse("entries_json", entries_json)
        if not isinstance(entries, list):
            raise ArgumentError("invalid entries_json: expected a JSON array of entries")
        for at, entry in enumerate(entries):
            _check_entry(f"entries_json[{at}]", entry)
        self._store(store_id).insert_many(entries)

    def kvstore_query(self, store_id: str, query_json: Json) -> str:
        """Finds entries by the similarity of their embeddings.

        Args:
            store_id: Name of the store.
            query_json: JSON object with `query_embedding` and, optionally, `query_text` (only entries whose
                key contains the text, without regard to case), `limit` (default 10), `vector_search_limit`
                (candidates of the vector search; default: 4 * limit, at least 64) and `use_prefilter`
                (default true: filters by `query_text` before the vector search; false: after it).

        Returns:
            A JSON array of objects with `id`, `key_text`, `similarity` (cosine), `priority` and
            `combined_score`, the mean of the two; the highest combined score first.

        Raises:
            StoreError: The store does not exist, or the embedding has another number of values.
            ArgumentError: `query_json` is invalid. Also a `ValueError`.
        """
        query = _parse("query_json", json_text("query_json", query_json))
        body, embedding = _native_query(query)
        import json

        return json.dumps(
            [
                {
                    "id": row["id"],
                    "key_text": row["key"],
                    "similarity": row["similarity"],
                    "priority": row["priority"],
                    "combined_score": row["score"],
                }
                for row in self._store(store_id).ask(dump("query_json", body), embedding)
            ]
        )

    def kvstore_get(self, store_id: str, entry_id: str) -> str:
        """Returns an entry as JSON, with its `value`, by the `id` that `kvstore_query()` returns.

        Raises:
            StoreError: The store or the entry does not exist.
        """
        entry = self._store(store_id).get(entry_id)
        if entry is None:
            raise StoreError(f"no entry '{entry_id}' in store '{store_id}'", Status.NOT_FOUND)
        fields = entry._asdict()
        del fields["embedding"]
        return dump("entry", fields)

    def kvstore_delete(self, store_id: str) -> None:
        """Deletes a store and its files.

        Raises:
            StoreError: The store does not exist, or is open elsewhere.
        """
        name = string("store_id", store_id)
        with self._storing:
            store = self._stores.pop(name, None)
            folder = self._store_dir if store is None else store.folder
            if store is not None:
                store.close()
            Store.remove_files(name, folder=folder)

    def kvstore_list(self) -> str:
        """Returns the names of all stores in `store_dir`, and of those that are open, as a JSON array."""
        import json

        with self._storing:
            return json.dumps(sorted({*Store.ids(self._store_dir), *self._stores}))

    def _store(self, store_id: str) -> Store:
        """Returns an open store. Opens it if it is in the engine's folder."""
        name = string("store_id", store_id)
        with self._storing:
            if name not in self._stores:
                self._stores[name] = Store.open(name, folder=self._store_dir, create=False)
            return self._stores[name]


def _parse(name: str, text: str) -> Any:
    import json

    if not isinstance(text, str):
        raise TypeError(f"invalid {name} '{type(text).__name__}': expected a str of JSON")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"invalid {name}: expected JSON; {error}") from None


def _check_entry(path: str, entry: Any) -> None:
    """Raises `ArgumentError` if an entry lacks one of the three fields of the reference interface."""
    if not isinstance(entry, dict):
        raise ArgumentError(f"invalid {path}: expected an object with key, value and embedding")
    for field in ("key", "value"):
        if not isinstance(entry.get(field), str):
            raise ArgumentError(f"missing {path}.{field}: expected a string")
    _check_embedding(f"{path}.embedding", entry.get("embedding"))


def _check_embedding(path: str, value: Any) -> None:
    if not isinstance(value, list) or not value:
        raise ArgumentError(
            f"missing {path}: expected an array of numbers, one for each dimension of the store"
        )
    for at, one in enumerate(value):
        if isinstance(one, bool) or not isinstance(one, (int, float)) or not math.isfinite(one):
            raise ArgumentError(invalid(f"{path}[{at}]", one, "a finite number"))
    if not any(value):
        raise ArgumentError(f"invalid {path} '[0, ...]': expected a vector that is not zero")


def _native_query(query: Any) -> tuple[Mapping[str, Any], list[float]]:
    """Returns a query in the fields of `sotto/store.h`, and its embedding."""
    if not isinstance(query, dict):
        raise ArgumentError("invalid query_json: expected a JSON object")
    for field in query:
        if field not in _QUERY:
            raise ArgumentError(f"unknown field '{field}' of query_json: expected {', '.join(_QUERY)}")
    _check_embedding("query_embedding", query.get("query_embedding"))
    body: dict[str, Any] = {"weights": {"relevance": 1, "priority": 1}, "limit": _count(query, "limit", 10)}
    if query.get("vector_search_limit") is not None:
        body["candidates"] = _count(query, "vector_search_limit", 0)
    for field, native, kind in (("query_text", "key_contains", str), ("use_prefilter", "prefilter", bool)):
        if (value := query.get(field)) is not None:
            if not isinstance(value, kind):
                raise ArgumentError(invalid(field, value, f"a JSON {'string' if kind is str else 'boolean'}"))
            body[native] = value
    return body, query["query_embedding"]


def _count(query: Mapping[str, Any], field: str, default: int) -> int:
    value = query.get(field)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_LIMIT:
        raise ArgumentError(invalid(field, value, f"an integer from 1 to {_MAX_LIMIT}"))
    return value
