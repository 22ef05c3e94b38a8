"""`AnnIndex`: finds the vectors nearest to a query by cosine distance."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, Literal

from . import _vectors
from ._call import array, check, guarded, new, struct, unpack, utf8
from ._desc import MOST_U32, MOST_U64, StrPath, path_text
from ._handle import Unique
from ._lib import lib
from ._values import choice, truth, whole, wrong_type
from ._vectors import Labels, Vector, Vectors
from .errors import ArgumentError, SottoError, Status

Storage = Literal["f32", "f16", "i8"]
Filter = Callable[[int], object]
Progress = Callable[[int, int], object]

_STORAGE = {"f32": lib.SOTTO_INDEX_F32, "f16": lib.SOTTO_INDEX_F16, "i8": lib.SOTTO_INDEX_I8}
_MAX_DIM = 16_384


class AnnIndex(Unique):
    """An approximate nearest neighbour index (HNSW) over vectors with labels. Needs no engine and no model.

    >>> index = AnnIndex(dim=3)
    >>> index.insert([0.1, 0.2, 0.3], label_id=42)
    >>> index.build()
    >>> index.search([0.1, 0.2, 0.3], k=5)
    [(42, 0.0)]

    A new index must be built before it can be searched. After `build()`, `insert()` links each vector at
    once, and the next search finds it; no further build is needed. Any thread may use an index: searches
    never wait, and run while another thread inserts.
    """

    def __init__(
        self,
        dim: int,
        max_elements: int = 0,
        *,
        storage: Storage = "f32",
        m: int = 16,
        ef_construction: int = 200,
        seed: int = 0,
    ) -> None:
        """Creates an empty index.

        Args:
            dim: Dimensions of a vector, 1 to 16,384.
            max_elements: Maximum number of vectors. 0: no limit.
            storage: "f32", "f16" (half the memory; distances are off by at most about 0.001) or "i8" (a
                quarter; off by about 0.01).
            m: Links per vector, 2 to 128. More links take more memory and find more.
            ef_construction: Candidates per insertion, 1 to 65,536. More make a better graph, slower.
            seed: Seed of the graph's random layers.

        Raises:
            ArgumentError: An argument is out of range. Also a `ValueError`.
        """
        desc = struct(
            "sotto_index_desc",
            dim=whole("dim", dim, _MAX_DIM),
            max_elements=whole("max_elements", max_elements, MOST_U64),
            storage=choice("storage", storage, _STORAGE),
            m=whole("m", m, MOST_U32),
            ef_construction=whole("ef_construction", ef_construction, MOST_U32),
            seed=whole("seed", seed, MOST_U64),
        )
        out = new("sotto_index **")
        check(lib.sotto_index_create(desc, out))
        self._own(out[0])

    def _own(self, pointer: Any) -> None:
        self._pointer = pointer
        self._end = weakref.finalize(self, lib.sotto_index_destroy, pointer)
        self._dim: int = self._info().dim

    def __enter__(self) -> AnnIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Returns the number of vectors."""
        return int(self._info().size)

    def __contains__(self, label_id: object) -> bool:
        """Returns True if a vector has the label."""
        found = new("int32_t *")
        self._call(lib.sotto_index_contains, whole("label_id", label_id, MOST_U64), found)
        return bool(found[0])

    def __repr__(self) -> str:
        if self.closed:
            return f"<AnnIndex dim={self._dim} closed>"
        return f"<AnnIndex dim={self._dim} size={len(self)}>"

    @property
    def closed(self) -> bool:
        """True if the index was closed."""
        return not self._end.alive

    @property
    def storage(self) -> Storage:
        """How vectors are stored: "f32", "f16" or "i8"."""
        stored = self._info().storage
        found: Storage
        for found in ("f32", "f16", "i8"):
            if _STORAGE[found] == stored:
                return found
        raise SottoError(f"unknown storage {stored}: update this package", Status.UNSUPPORTED)

    @property
    def built(self) -> bool:
        """True if the index can be searched."""
        return bool(self._info().built)

    @property
    def memory(self) -> int:
        """Bytes of host memory, without mapped files."""
        return int(self._info().memory)

    def close(self) -> None:
        """Frees the index. Waits for calls of other threads on it; stops a running build. May be repeated."""
        self._end()

    def dim(self) -> int:
        """Returns the dimensions that the index was created with."""
        return self._dim

    def insert(self, vector: Vector, label_id: int) -> None:
        """Inserts one vector.

        Args:
            vector: `dim` numbers: a list, or an array of float32, which is not copied.
            label_id: Label that searches return, 0 to 2**64 - 1, not yet in the index.

        Raises:
            ArgumentError: A wrong number of values, a value that is not finite, only zeros, or a label that
                is in the index: use `update()` to replace its vector. Also a `ValueError`.
            SottoError: The index has `max_elements` vectors.
        """
        values = _vectors.vector("vector", vector, self._dim)
        label = array("uint64_t[]", [whole("label_id", label_id, MOST_U64)])
        self._call(lib.sotto_index_insert, values, self._dim, label, 1)

    def insert_batch(self, vectors: Vectors, label_ids: Labels) -> None:
        """Inserts several vectors. All are checked before the first is inserted.

        Args:
            vectors: A list of vectors, or a C-contiguous array of float32 with one row per vector, which is
                not copied.
            label_ids: A label for each vector: integers, or an array of uint64 or int64.

        Raises:
            ArgumentError: As `insert()`; the message names the position. Also a `ValueError`.
            SottoError: The index would exceed `max_elements`.
        """
        values, count = _vectors.vectors("vectors", vectors, self._dim)
        labels, label_count = _vectors.labels("label_ids", label_ids)
        if label_count != count:
            raise ArgumentError(
                f"invalid label_ids of length {label_count}: expected {count}, one per vector"
            )
        self._call(lib.sotto_index_insert, values, self._dim, labels, count)

    def update(self, vector: Vector, label_id: int) -> None:
        """Replaces the vector of a label. A search during the call may miss the label.

        Args:
            vector: As in `insert()`.
            label_id: A label of the index.

        Raises:
            ArgumentError: As `insert()`. Also a `ValueError`.
            SottoError: The index has no such label.
        """
        values = _vectors.vector("vector", vector, self._dim)
        self._call(lib.sotto_index_update, values, self._dim, whole("label_id", label_id, MOST_U64))

    def remove(self, label_id: int) -> None:
        """Removes a label and its vector.

        Raises:
            SottoError: The index has no such label.
        """
        self._call(lib.sotto_index_remove, whole("label_id", label_id, MOST_U64))

    def build(self, *, progress: Progress | None = None, threads: int = 1) -> None:
        """Links the inserted vectors into the graph. Required once before the first search.

        Ctrl-C and an exception in `progress` stop the build; another `build()` continues it.

        Args:
            progress: Called as progress(done, total) about every 20 ms and at the end. None: not called.
            threads: Number of threads, 1 to 256. With one, equal inserts and seeds give equal graphs.

        Raises:
            SottoError: The index was closed during the build.
        """

        def report(_self: object, done: int, total: int) -> int:
            if progress is not None:
                progress(done, total)
            return 0

        if progress is not None and not callable(progress):
            raise wrong_type("progress", progress, "a function")
        raised: list[BaseException] = []
        reporter = guarded("sotto_index_progress_fn", report, 1, raised)  # lets Python see Ctrl-C
        desc = struct("sotto_build_desc", threads=max(1, whole("threads", threads, 256)), progress=reporter)
        self._call_raising(raised, lib.sotto_index_build, desc)

    def search(
        self,
        query: Vector,
        k: int,
        *,
        ef: int = 0,
        allowed: Iterable[int] | None = None,
        filter: Filter | None = None,
    ) -> list[tuple[int, float]]:
        """Returns the labels of the vectors nearest to a query.

        Args:
            query: `dim` numbers: a list, or an array of float32, which is not copied.
            k: Number of matches wanted. If the index has fewer vectors, all are returned; 0 returns [].
            ef: Candidates that the search keeps, at least `k`: more find better matches and take longer.
                0: 64. The search is exact if the index has at most `ef` vectors.
            allowed: Labels that may be returned. None: all.
            filter: Called as filter(label); only labels for which it is true are returned.

        Returns:
            A list of (label, distance), nearest first. The distance is 1 - cosine, 0 to 2.

        Raises:
            ArgumentError: As `insert()`. Also a `ValueError`.
            SottoError: The index was not built.
        """
        return self._search("query", _vectors.vector("query", query, self._dim), 1, k, ef, allowed, filter)[0]

    def search_batch(
        self,
        queries: Vectors,
        k: int,
        *,
        ef: int = 0,
        allowed: Iterable[int] | None = None,
        filter: Filter | None = None,
    ) -> list[list[tuple[int, float]]]:
        """Searches for several queries. Returns one list of (label, distance) for each.

        Args:
            queries: As `vectors` of `insert_batch()`.
            k: As in `search()`.
            ef: As in `search()`.
            allowed: As in `search()`.
            filter: As in `search()`.

        Returns:
            What `search()` returns for each query.

        Raises:
            ArgumentError: As `insert_batch()`. Also a `ValueError`.
            SottoError: The index was not built.
        """
        values, count = _vectors.vectors("queries", queries, self._dim)
        return self._search("queries", values, count, k, ef, allowed, filter)

    def search_into(self, queries: Vectors, label_ids: Any, distances: Any, *, ef: int = 0) -> list[int]:
        """Searches for several queries and writes the matches to arrays.

        Args:
            queries: As `vectors` of `insert_batch()`.
            label_ids: Out: an array of uint64 or int64 with a row for each query and k columns.
            distances: Out: an array of float32 of the same shape.
            ef: As in `search()`.

        Returns:
            The number of matches of each query. Columns beyond it are left unchanged.

        Raises:
            ArgumentError: An array has the wrong type or shape. Also a `ValueError`.
            SottoError: The index was not built.
        """
        values, count = _vectors.vectors("queries", queries, self._dim)
        labels, k = _vectors.output("label_ids", "uint64_t[]", label_ids, "QLql", count)
        floats, columns = _vectors.output("distances", "float[]", distances, "f", count)
        if columns != k:
            raise ArgumentError(f"invalid distances of {columns} columns: expected {k}, as label_ids")
        counts = array("uint32_t[]", count)
        desc = struct("sotto_search_desc", k=k, ef=whole("ef", ef, MOST_U32))
        self._call(lib.sotto_index_search_batch, desc, values, self._dim, count, labels, floats, counts)
        return unpack(counts, count) if count else []

    def save(self, path: StrPath) -> None:
        """Writes the index to a file, atomically: readers see the old file or the new one.

        Raises:
            SottoError: The file cannot be written; an older file remains.
        """
        text = utf8("path", path_text("path", path))
        self._call(lib.sotto_index_save, text[0])

    @staticmethod
    def load(path: StrPath, *, mmap: bool = False) -> AnnIndex:
        """Returns the index in a file of `save()`, built if it was. Checks the whole file.

        Args:
            path: Path of the file.
            mmap: True leaves the vectors in the file, which must not be written to while the index lives;
                `save()` may replace it. Vectors that are added later are in memory.

        Raises:
            SottoError: The file cannot be read, is not an index, or is damaged.
        """
        flags = lib.SOTTO_INDEX_MAPPED if truth("mmap", mmap) else 0
        text, out = utf8("path", path_text("path", path)), new("sotto_index **")
        check(lib.sotto_index_load(text[0], flags, out))
        index = AnnIndex.__new__(AnnIndex)
        index._own(out[0])
        return index

    def _info(self) -> Any:
        info = struct("sotto_index_info")
        self._call(lib.sotto_index_get_info, info)
        return info

    def _search(
        self,
        name: str,
        values: Any,
        count: int,
        k: int,
        ef: int,
        allowed: Iterable[int] | None,
        filter: Filter | None,
    ) -> list[list[tuple[int, float]]]:
        wanted = min(whole("k", k, MOST_U64), len(self))
        raised: list[BaseException] = []
        desc = struct("sotto_search_desc", k=wanted, ef=whole("ef", ef, MOST_U32))
        kept: list[Any] = []  # what the description points to
        if allowed is not None:
            labels, desc.allowed_count = _vectors.labels("allowed", allowed)
            desc.allowed = labels
            kept.append(labels)
        if filter is not None:
            if not callable(filter):
                raise wrong_type("filter", filter, "a function")
            accepts = filter
            function = guarded(
                "sotto_index_filter_fn", lambda _self, label: 1 if accepts(label) else 0, 0, raised
            )
            desc.filter = function
            kept.append(function)
        labels, distances = array("uint64_t[]", count * wanted), array("float[]", count * wanted)
        counts = array("uint32_t[]", count)
        search = lib.sotto_index_search_batch
        self._call_raising(raised, search, desc, values, self._dim, count, labels, distances, counts)
        return [
            [(labels[at], distances[at]) for at in range(row * wanted, row * wanted + counts[row])]
            for row in range(count)
        ]

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        if self.closed:
            raise SottoError("the index is closed; create or load another", Status.STATE)
        check(function(self._pointer, *args))

    def _call_raising(self, raised: list[BaseException], function: Callable[..., int], *args: Any) -> None:
        """Calls `function`, and raises the first error that its callbacks raised."""
        try:
            self._call(function, *args)
        except SottoError:
            if not raised:
                raise
        if raised:
            raise raised[0]
