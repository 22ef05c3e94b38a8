"""The lines translated so far, in a file beside the target: a run that was killed resumes from it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from ..._whole import write_whole
from ...errors import SottoError, Status
from .rounds import Outcome

_VERSION = 2
_SAMPLE = 1 << 20  # bytes of each end of the weights that name the model


def model_mark(folder: Path) -> str:
    """Returns a text that changes with the model: the size of its weights, and a hash of both their ends."""
    file = folder / "model.bin"
    size = file.stat().st_size
    with file.open("rb") as opened:
        mark = hashlib.sha256(opened.read(_SAMPLE))
        opened.seek(max(0, size - _SAMPLE))
        mark.update(opened.read())
    return f"{size}-{mark.hexdigest()}"


class Journal:
    """The outcomes of one language. One for another model, or with other settings, starts anew.

    Raises `SottoError` if another process has the journal open.
    """

    def __init__(self, path: Path, settings: Mapping[str, object]) -> None:
        from filelock import FileLock, Timeout

        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path.with_name(f"{path.name}.lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise SottoError(f"another process has '{path}' open: wait for it", Status.STATE) from None
        self.path = path
        self._head = json.dumps({"version": _VERSION, **settings}, sort_keys=True)
        self.found = self._read()
        self._file: IO[str] | None = None

    def _read(self) -> dict[str, Outcome]:
        """Returns what an earlier run left, without lines that are cut or damaged."""
        try:
            head, *lines = self.path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return {}
        found: dict[str, Outcome] = {}
        for line in lines if head == self._head else ():
            try:
                entry = json.loads(line)
                source = entry.pop("source")
                found[source] = Outcome(**entry)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # cut, or damaged: translated again
        return found

    def add(self, outcomes: Iterable[tuple[str, Outcome]]) -> None:
        """Appends the outcomes of source texts."""
        if self._file is None:
            self._file = self._open()
        for text, outcome in outcomes:
            self.found[key_of(text)] = outcome
            self._file.write(_line(key_of(text), outcome))
        self._file.flush()

    def _open(self) -> IO[str]:
        """Writes the journal anew, so that a cut line is gone, and leaves it open."""
        entries = [_line(key, one) for key, one in self.found.items()]
        write_whole(self.path, f"{self._head}\n{''.join(entries)}")
        return self.path.open("a", encoding="utf-8")

    def close(self, *, done: bool) -> None:
        """Closes the file, and removes it if the target is written."""
        if self._file is not None:
            self._file.close()
        if done:
            self.path.unlink(missing_ok=True)
        if os.name != "nt":  # Windows removes it at the release, and refuses to before
            Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()


def key_of(text: str) -> str:
    """Returns the key of a source text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _line(key: str, outcome: Outcome) -> str:
    return json.dumps({"source": key, **outcome._asdict()}) + "\n"
