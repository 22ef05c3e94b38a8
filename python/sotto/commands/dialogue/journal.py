"""The lines translated so far, in a file beside the target: a run that was killed resumes from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from .rounds import Outcome

_VERSION = 1
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
    """The outcomes of one language. One for another model, or with other settings, starts anew."""

    def __init__(self, path: Path, settings: Mapping[str, object]) -> None:
        self.path = path
        self._head = json.dumps({"version": _VERSION, **settings}, sort_keys=True)
        self.found = self._read()
        self._file: IO[str] | None = None

    def _read(self) -> dict[str, Outcome]:
        """Returns what an earlier run left. Its last line may be cut."""
        try:
            head, *lines = self.path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return {}
        found: dict[str, Outcome] = {}
        for line in lines[:-1] if head == self._head else ():  # the last is cut, or empty
            entry = json.loads(line)
            source = entry.pop("source")
            found[source] = Outcome(**entry)
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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        spare = self.path.with_name(f"{self.path.name}.new")
        entries = [_line(key, one) for key, one in self.found.items()]
        spare.write_text(f"{self._head}\n{''.join(entries)}", encoding="utf-8")
        spare.replace(self.path)
        return self.path.open("a", encoding="utf-8")

    def close(self, *, done: bool) -> None:
        """Closes the file, and removes it if the target is written."""
        if self._file is not None:
            self._file.close()
        if done:
            self.path.unlink(missing_ok=True)


def key_of(text: str) -> str:
    """Returns the key of a source text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _line(key: str, outcome: Outcome) -> str:
    return json.dumps({"source": key, **outcome._asdict()}) + "\n"
