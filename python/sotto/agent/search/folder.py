"""`FolderSource`: searches the text files of a folder, such as a rulebook or lore."""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from ..._desc import StrPath, path_text
from ..._handle import Unique
from ..._values import invalid, string, typed, whole, wrong_type
from ...errors import ArgumentError
from ...store import Store
from ..threads import value_of
from . import files
from .base import Inquiry
from .chunks import PASSAGE, Passage, passages
from .embedding import Cancelled, Embedding, Vectors
from .hit import Hit, clean
from .index import PassageIndex

_log = logging.getLogger("sotto.agent")
_MOST = 1 << 30
_BATCH = 500  # passages, or names
_MAX_PASSAGES = 10_000  # of a file; the rest is not found


class _Indexed(NamedTuple):
    """A file as it was indexed: checksum, and the embedding model; empty: none."""

    checksum: str
    model: str


@dataclass
class _Batch:
    """Files that are written to the index in one transaction, which waits for the disk once."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    vectors: Vectors = field(default_factory=list)
    files: dict[str, _Indexed] = field(default_factory=dict)


class FolderSource(Unique):
    """Searches the text files of a folder and its subfolders. Needs no network.

    Each search first looks for files that were added, changed or removed, and indexes these alone. Links,
    hidden files and files that are too large are left out; `skipped` says why. The first search of a large
    folder takes long if there is an embedding model: call `refresh()` before, or keep the index in a store.

    Args:
        folder: The folder.
        patterns: Names of the files, without regard to case.
        store: Keeps the index for the next run, and stays open; None: a temporary one, in memory or on disk
            as the system keeps temporary files. Embeddings need a store of the model's `dim`.
        namespace: Namespace in the store. It holds nothing else.
        max_files: Maximum number of files.
        max_file_bytes: Maximum size of a file in bytes.
        max_bytes: Maximum size of all files in bytes.
        passage: Maximum characters of a passage.

    Raises:
        ArgumentError: The folder does not exist, or an argument is out of range.

    >>> rules = Search(engine, FolderSource("data/rules"), name="look_up_rule")
    """

    ranked = True

    def __init__(
        self,
        folder: StrPath,
        *,
        patterns: Iterable[str] = ("*.txt", "*.md"),
        store: Store | None = None,
        namespace: str = "sotto.search",
        max_files: int = 1000,
        max_file_bytes: int = 1 << 20,
        max_bytes: int = 64 << 20,
        passage: int = PASSAGE,
    ) -> None:
        self.folder = os.path.realpath(os.path.expanduser(path_text("folder", folder)))
        if not os.path.isdir(self.folder):
            raise ArgumentError(invalid("folder", self.folder, "a folder that exists"))
        if isinstance(patterns, str) or not isinstance(patterns, Iterable):
            raise wrong_type("patterns", patterns, 'several texts, such as ("*.txt", "*.md")')
        if store is not None:
            typed("store", store, Store)
        if whole("passage", passage, 100_000) < 100:
            raise ArgumentError(invalid("passage", passage, "an integer from 100 to 100000"))
        self._limits = files.Limits(
            tuple(string("patterns", one) for one in patterns),
            whole("max_files", max_files, _MOST),
            whole("max_file_bytes", max_file_bytes, _MOST),
            whole("max_bytes", max_bytes, _MOST),
        )
        self._passage = passage
        self._index = PassageIndex(store, string("namespace", namespace))
        self._known: dict[str, _Indexed] | None = None  # what is indexed, by name; None: not read yet
        self._stamps: dict[str, files.Stamp] = {}  # of files that need not be read again
        self._skipped: Mapping[str, str] = {}
        self._lock = threading.Lock()  # guards the index and all fields above

    def __repr__(self) -> str:
        return f"<sotto.agent.FolderSource {self.folder!r}>"

    @property
    def skipped(self) -> Mapping[str, str]:
        """Files that the last search left out, and why: at most 1,000."""
        return MappingProxyType(dict(self._skipped))

    async def find(self, inquiry: Inquiry) -> list[Hit]:
        """Returns the passages that fit best, best first."""
        found: list[Hit] = await value_of(lambda: self._find(inquiry))
        return found

    def refresh(self, embedding: Embedding | None, cancelled: Callable[[], bool] = lambda: False) -> int:
        """Indexes what has changed. Waits for the disk and for the embedding model.

        Args:
            embedding: The embedding model; None: words alone.
            cancelled: Returns True if the work ends early; what is indexed stays.

        Returns:
            The number of files that were indexed or removed.
        """
        vector = None if embedding is None else embedding.vectors(["size"], cancelled)[0]
        with self._lock:
            return self._refresh(embedding if self._open(vector) else None, cancelled)

    def close(self) -> None:
        """Deletes a temporary index; another search makes it again."""
        with self._lock:
            self._index.close()
            self._forget()

    def _find(self, inquiry: Inquiry) -> list[Hit]:
        embedding = inquiry.embedding
        vector = None if embedding is None else embedding.vectors([inquiry.text], inquiry.cancelled)[0]
        with self._lock:
            embeds = self._open(vector)
            self._refresh(embedding if embeds else None, inquiry.cancelled)
            found = self._index.find(inquiry.text, vector if embeds else None, inquiry.limit)
        return [Hit(one.entry.key, one.entry.value, one.entry.metadata["where"], one.score) for one in found]

    def _open(self, vector: Sequence[float] | None) -> bool:
        """Opens the index, and reads what it holds. Returns True if passages get embeddings."""
        store = self._index.opened
        embeds = self._index.open(0 if vector is None else len(vector))
        if self._index.opened is not store:
            self._forget()
        if self._known is None:
            held = [one.metadata for one in self._index]
            self._known = {one["file"]: _Indexed(one["hash"], one["model"]) for one in held}
        return embeds

    def _refresh(self, embedding: Embedding | None, cancelled: Callable[[], bool]) -> int:
        assert self._known is not None
        listing = files.Listing(self._limits)
        seen: set[str] = set()
        batch = _Batch()
        changes = 0
        try:
            for file in files.walk(self.folder, listing):
                if cancelled():
                    raise Cancelled
                seen.add(file.name)
                changes += self._update(file, embedding, listing, batch, cancelled)
                if len(batch.entries) >= _BATCH:
                    self._write(batch)
        finally:
            self._write(batch)
        gone = [one for one in self._known if one not in seen]
        self._drop(gone)
        changes += len(gone)
        for name in listing.skipped.keys() - self._skipped.keys():
            _log.warning("the search leaves out '%s': %s", name, listing.skipped[name])
        self._skipped = listing.skipped
        return changes

    def _update(
        self,
        file: files.File,
        embedding: Embedding | None,
        listing: files.Listing,
        batch: _Batch,
        cancelled: Callable[[], bool],
    ) -> bool:
        """Adds a file to a batch if its content has changed. Returns True if it has."""
        assert self._known is not None
        known = self._known.get(file.name)
        embedded = known is not None and (embedding is None or known.model == embedding.model)
        if embedded and self._stamps.get(file.name) == file.stamp:
            return False
        data = files.read(file, listing.limits.max_file_bytes)
        checksum = hashlib.sha256(b"%d " % self._passage + data).hexdigest()
        text = files.text_of(data)
        if text is None:
            listing.skipped[file.name] = "not a text"
        changed = not (embedded and known is not None and known.checksum == checksum)
        if changed:
            now = _Indexed(checksum, "" if embedding is None else embedding.model)
            parts = passages(clean(text or ""), self._passage)
            entries = [_entry(file.name, now, one) for one in itertools.islice(parts, _MAX_PASSAGES)]
            if embedding is not None:
                shown = [f"{one['key']}\n{one['value']}" for one in entries]
                batch.vectors += embedding.vectors(shown, cancelled)
            batch.entries += entries
            batch.files[file.name] = now
        if text is not None and not file.stamp.young:
            self._stamps[file.name] = file.stamp
        return changed

    def _write(self, batch: _Batch) -> None:
        """Writes the files of a batch, and empties it."""
        assert self._known is not None
        entries, vectors, added = batch.entries, batch.vectors, batch.files
        batch.entries, batch.vectors, batch.files = [], [], {}
        self._drop([one for one in added if one in self._known])
        self._index.add(entries, vectors or None)
        self._known.update(added)

    def _drop(self, names: Sequence[str]) -> None:
        """Removes files from the index."""
        assert self._known is not None
        for at in range(0, len(names), _BATCH):
            some = list(names[at : at + _BATCH])
            self._index.remove({"file": {"in": some}})
            for name in some:
                del self._known[name]

    def _forget(self) -> None:
        self._known, self._stamps = None, {}


def _entry(name: str, file: _Indexed, passage: Passage) -> dict[str, Any]:
    title = passage.heading or os.path.splitext(os.path.basename(name))[0]
    where = f"{name}:{passage.line}"
    metadata = {"file": name, "hash": file.checksum, "model": file.model, "where": where}
    return {"key": title, "value": passage.text, "metadata": metadata}
