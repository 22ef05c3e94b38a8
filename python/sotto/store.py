"""`Store`: memories on disk, searched by meaning and by words."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ._call import buffer, check, new, pointer, struct, text, utf8
from ._desc import StrPath, path_text
from ._embeddings import Vector, vector, vectors
from ._handle import Unique
from ._json import dump
from ._lib import lib
from ._places import folder_of, place_of
from ._values import string, truth, whole
from .entry import Entry, Match, dump_entry, read_entry, read_match
from .errors import Status, StoreError

Ids = list[str]  # in the class, `list` is a method
Matches = list[Match]
Rows = list[dict[str, Any]]

_MAX_DIM = 16_384


class Store(Unique):
    """A store of memories on disk, for one game, character or save slot. `Store.open()` opens one.

    All methods wait for the disk and release the GIL: call them on a worker thread, never in a frame. They
    are thread-safe. What a method has written survives a crash and a power failure.

    >>> with sotto.Store.open("lore", dim=384) as store:
    ...     store.insert("The key is under the mat.", namespace="mara", embedding=vector)
    ...     for match in store.query("where is the key", embedding=asked, namespace="mara"):
    ...         print(match.score, match.entry.value)
    """

    def __init__(self, where: str, store_id: str, dim: int, flags: int) -> None:
        self.folder = where
        self.id = store_id
        out = new("sotto_store **")
        desc = struct("sotto_store_desc", folder=where, id=store_id, dim=dim, flags=flags)
        check(lib.sotto_store_open(desc, out), StoreError)
        self._pointer = out[0]
        self._pid = os.getpid()
        self._end = weakref.finalize(self, _close, out[0], self._pid)

    @classmethod
    def open(
        cls,
        store_id: StrPath,
        *,
        dim: int | None = None,
        folder: StrPath | None = None,
        create: bool = True,
        read_only: bool = False,
    ) -> Store:
        """Opens a store, and creates it if it does not exist.

        Args:
            store_id: Name of the store, a plain file name of 1 to 100 bytes; or the path of its `.db` file.
            dim: Numbers per embedding. None: as stored; a new store has no embeddings.
            folder: Folder of the store's files; None: $SOTTO_STORE_DIR, or the user's data folder.
            create: Creates the store if it does not exist.
            read_only: Reads only. Several processes may read one store at once.

        Raises:
            StoreError: The store does not exist, is open elsewhere, has another `dim`, is damaged, or cannot
                be written.
            ArgumentError: An argument is out of range, or the name is not a plain file name.
        """
        where, name = place_of(store_id, folder)
        flags = lib.SOTTO_STORE_CREATE if truth("create", create) else 0
        flags |= lib.SOTTO_STORE_READ_ONLY if truth("read_only", read_only) else 0
        return cls(where, name, 0 if dim is None else whole("dim", dim, _MAX_DIM), flags)

    @staticmethod
    def remove_files(store_id: StrPath, *, folder: StrPath | None = None) -> None:
        """Deletes all files of a store that is not open. Arguments are those of `open()`.

        Raises:
            StoreError: The store does not exist, or is open.
        """
        where, name = [utf8("store_id", one) for one in place_of(store_id, folder)]
        check(lib.sotto_store_delete(where[0], name[0]), StoreError)

    @staticmethod
    def ids(folder: StrPath | None = None) -> Ids:
        """Returns the names of the stores in a folder, sorted. `folder` is that of `open()`."""
        where, out = utf8("folder", folder_of(folder)), new("sotto_str *")
        check(lib.sotto_store_list_ids(where[0], out), StoreError)
        found: Ids = _parsed(out)
        return found

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sotto.Store {self.id!r} in {self.folder!r}{'' if self._end.alive else ', closed'}>"

    def close(self) -> None:
        """Closes the store, after the calls that run on other threads. A second call does nothing."""
        self._end()

    def info(self) -> dict[str, Any]:
        """Returns `id`, `dim`, `entries`, `embeddings`, `generation`, `file_bytes` and `read_only`."""
        found: dict[str, Any] = self._json(lib.sotto_store_info)
        return found

    # Entries

    def insert(self, value: str, *, embedding: Vector | None = None, **fields: Any) -> str:
        """Inserts one entry and returns its id.

        Args:
            value: The memory.
            embedding: `dim` numbers: a sequence or an array; None: none.
            **fields: Other fields of `Entry`, such as `key`, `namespace`, `importance` or `metadata`.

        Raises:
            StoreError: The id exists, the embedding has another number of values, or the disk is full.
            ArgumentError: A field is out of range or unknown.
        """
        given = None if embedding is None else [vector("embedding", embedding)]
        return self.insert_many([{**fields, "value": value}], embeddings=given)[0]

    def insert_many(
        self,
        entries: Iterable[Mapping[str, Any]],
        *,
        embeddings: Any = None,
        replace: bool = False,
    ) -> Ids:
        """Inserts entries, all or none of them, and returns their ids. Much faster than one by one.

        Args:
            entries: Mappings with the fields of `Entry`; `value` or `key` is required.
            embeddings: Embeddings of all entries: an array of shape (entries, dim), or a sequence of vectors;
                float32 arrays are not copied. None: those of the entries' fields `embedding`.
            replace: An entry takes the place of the one with its id.

        Raises:
            StoreError: See `insert()`.
            ArgumentError: See `insert()`.
        """
        listed = [*entries]
        body = dump("entries", {"entries": listed, "replace": truth("replace", replace)})
        data, count = pointer(0), 0
        if embeddings is not None:
            view = vectors("embeddings", embeddings, len(listed))
            data, count = buffer("float[]", view), view.nbytes // 4
        found: Ids = self._json(lib.sotto_store_insert, body, data, count)
        return found

    def get(self, entry_id: str, *, with_embedding: bool = False) -> Entry | None:
        """Returns an entry; None if no entry has the id."""
        name = utf8("entry_id", string("entry_id", entry_id))
        options = utf8(
            "options", dump("options", {"with_embedding": truth("with_embedding", with_embedding)})
        )
        try:
            return read_entry(self._json(lib.sotto_store_get, name[0], options[0]))
        except StoreError as error:
            if error.status != Status.NOT_FOUND:
                raise
            return None

    def update(self, entry_id: str, **changes: Any) -> None:
        """Changes fields of an entry; the others stay. `embedding=None` removes the embedding.

        Raises:
            StoreError: No entry has the id, or the store cannot be written.
            ArgumentError: A field is out of range or unknown.
        """
        if changes.get("embedding") is not None:
            changes["embedding"] = [*vector("embedding", changes["embedding"])]
        self._call(lib.sotto_store_update, string("entry_id", entry_id), dump("changes", changes))

    def delete(self, *entry_ids: str) -> int:
        """Deletes entries by id. Returns the number of entries deleted."""
        return self._remove({"ids": [*entry_ids]})

    def delete_where(
        self,
        *,
        namespace: str | None = None,
        key_contains: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> int:
        """Deletes the entries that match a filter, see `query()`; without one, all entries.

        Returns:
            The number of entries deleted.
        """
        return self._remove(_filter(namespace, key_contains, where))

    def list(
        self,
        *,
        namespace: str | None = None,
        key_contains: str | None = None,
        where: Mapping[str, Any] | None = None,
        with_embedding: bool = False,
    ) -> Iterator[Entry]:
        """Yields the entries that match a filter, see `query()`, in the order of their insertion.

        Reads page by page: an entry that is inserted meanwhile is yielded as well.
        """
        options: dict[str, Any] = _filter(namespace, key_contains, where)
        options |= {"limit": 1000, "with_embedding": truth("with_embedding", with_embedding)}
        while True:
            page = self._json(lib.sotto_store_list, dump("options", options))
            yield from map(read_entry, page["entries"])
            if "next" not in page:
                return
            options["after"] = page["next"]

    def count(
        self,
        *,
        namespace: str | None = None,
        key_contains: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> int:
        """Returns the number of entries that match a filter, see `query()`; without one, of all."""
        out = new("uint64_t *")
        body = dump("where", _filter(namespace, key_contains, where))
        self._call(lib.sotto_store_count, body, out)
        return int(out[0])

    def query(
        self,
        text: str = "",
        *,
        embedding: Vector | None = None,
        limit: int = 10,
        namespace: str | None = None,
        key_contains: str | None = None,
        where: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        half_life_s: float | None = None,
        now_ms: int | None = None,
        candidates: int | None = None,
        prefilter: bool = True,
        touch: bool = False,
        with_embedding: bool = False,
    ) -> Matches:
        """Finds entries by words, by embedding, or by both; without either, those accessed last.

        Args:
            text: Words to find in keys and values; an entry needs one of them.
            embedding: `dim` numbers: a sequence or an array.
            limit: Maximum number of results, 1 to 10,000.
            namespace: Only entries of this namespace.
            key_contains: Only entries whose key contains this text, without regard to case.
            where: Only entries whose metadata match: `{"place": "inn", "level": {"gte": 3}, "mood": {"in":
                ["happy", "calm"]}}`; also "eq", "ne", "gt", "lt" and "lte". "a.b" is field b of field a.
            weights: Weights of "relevance" (default 1), "priority", "recency" and "importance" (default 0).
            half_life_s: Half-life of recency in seconds; None: a day.
            now_ms: Time from which recency counts; None: the system's clock.
            candidates: Entries that each search finds before they are scored; None: 4 * limit, at least 64.
            prefilter: False: filters the candidates instead of what is searched. Faster, finds less.
            touch: Records the results as accessed at `now_ms`.
            with_embedding: The results hold their embeddings.

        Returns:
            Matches, the highest score first.

        Raises:
            StoreError: The embedding has another number of values than the store's.
            ArgumentError: An argument is out of range.
        """
        body: dict[str, Any] = _filter(namespace, key_contains, where)
        given = {
            "text": text,
            "limit": limit,
            "weights": weights,
            "half_life_s": half_life_s,
            "now_ms": now_ms,
            "candidates": candidates,
            "prefilter": truth("prefilter", prefilter),
            "touch": truth("touch", touch),
            "with_embedding": truth("with_embedding", with_embedding),
        }
        body |= {name: value for name, value in given.items() if value is not None}
        return [read_match(one) for one in self.ask(dump("query", body), embedding)]

    def ask(self, query_json: str, embedding: Vector | None = None) -> Rows:
        """Runs a query in the JSON of `sotto/store.h` and returns its results as they are."""
        data, count = pointer(0), 0
        if embedding is not None:
            view = vector("embedding", embedding)
            data, count = buffer("float[]", view), view.nbytes // 4
        found: Rows = self._json(lib.sotto_store_query, query_json, data, count)
        return found

    # Whole store

    def export_jsonl(self, path: StrPath) -> int:
        """Writes all entries, with their embeddings, to a file of JSON lines; returns their number.

        The file appears under its name once it is complete; an existing one is replaced.
        """
        from ._jsonl import write_lines

        return write_lines(path, (dump_entry(one) for one in self.list(with_embedding=True)))

    def import_jsonl(self, path: StrPath, *, replace: bool = True) -> int:
        """Inserts the entries of a file of JSON lines, 500 in a transaction; returns their number.

        Raises:
            StoreError: An id exists and `replace` is False, or the store cannot be written. Entries of
                earlier transactions stay.
            ArgumentError: A line is not an entry; the message names the line.
        """
        from ._jsonl import batches

        count = 0
        for entries in batches(path, 500):
            count += len(self.insert_many(entries, replace=replace))
        return count

    def backup(self, path: StrPath) -> None:
        """Writes all entries, with their embeddings, to one file, or atomically replaces such a file.

        Raises:
            ValueError: The path is that of a folder, a link or a device.
            StoreError: The file cannot be written.
        """
        self._call(lib.sotto_store_backup, path_text("path", path))

    def restore(self, path: StrPath) -> None:
        """Replaces all entries, in one transaction, by a `backup()` of this or any store with the same `dim`.

        Raises:
            StoreError: There is no such file, or it is damaged, no backup, of another `dim`, or of a newer
                version; or the store was opened with `read_only`. The entries are as before.
        """
        self._call(lib.sotto_store_restore, path_text("path", path))

    def compact(self) -> None:
        """Gives the disk space of deleted entries back to the system. Takes seconds if the store is large."""
        self._call(lib.sotto_store_compact)

    def check(self) -> None:
        """Reads the whole file. Raises `StoreError` if it is damaged."""
        self._call(lib.sotto_store_check)

    # Internal

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        """Calls `function(store, *args)`, each str as a `sotto_str`. Raises an error if it fails."""
        if not self._end.alive:
            raise StoreError(f"store '{self.id}' is closed; open it again", Status.STATE)
        if os.getpid() != self._pid:
            raise StoreError(
                f"store '{self.id}' belongs to the process before the fork; open it in this process",
                Status.STATE,
            )
        kept = [utf8("text", one) if isinstance(one, str) else None for one in args]
        given = [one if view is None else view[0] for view, one in zip(kept, args, strict=True)]
        status = function(self._pointer, *given)
        if status < 0 and not self._end.alive:
            raise StoreError(f"store '{self.id}' was closed during the call", Status.CANCELLED)
        check(status, StoreError)

    def _json(self, function: Callable[..., int], *args: Any) -> Any:
        out = new("sotto_str *")
        self._call(function, *args, out)
        return _parsed(out)

    def _remove(self, which: Mapping[str, Any]) -> int:
        out = new("uint64_t *")
        self._call(lib.sotto_store_remove, dump("which", which), out)
        return int(out[0])


def _filter(
    namespace: str | None, key_contains: str | None, where: Mapping[str, Any] | None
) -> dict[str, Any]:
    given = {"namespace": namespace, "key_contains": key_contains, "where": where}
    return {name: value for name, value in given.items() if value is not None}


def _parsed(out: Any) -> Any:
    import json

    return json.loads(text(out[0]))


def _close(pointer: Any, pid: int) -> None:
    if os.getpid() == pid:  # a forked child does not own the store
        lib.sotto_store_close(pointer)
