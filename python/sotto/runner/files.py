"""`Files`: the files that the tools of a chat produce."""

from __future__ import annotations

import base64
import mimetypes
import os
import threading
from collections.abc import Sequence
from dataclasses import replace

from ..agent import Call, CallContext, SandboxFile
from ._methods import ERROR
from .responses import File, FileSource
from .tools import RequestedFile

MAX_BODY = 1 << 20  # bytes of a body in a response
_PREVIEW = 256  # characters


class Files:
    """Files that the tools of a chat produce, by call. Thread-safe.

    Args:
        turn: Number of the turn in its session, from 1.
    """

    def __init__(self, turn: int) -> None:
        self._turn = turn
        self._lock = threading.Lock()  # guards the files
        self._files: dict[tuple[int, str], list[File]] = {}  # by round and id of the call

    def keep(self, given: File, context: CallContext) -> File:
        """Keeps the file of a callback under an id of its own."""
        body = (
            base64.b64decode(given.data_base64)
            if given.data_base64 is not None
            else (given.text or "").encode()
        )
        return self._add(
            replace(given, id=f"file-{os.urandom(8).hex()}", bytes=len(body)), given.text, context
        )

    def keep_written(self, given: SandboxFile, context: CallContext) -> File:
        """Keeps a file that code wrote, under the id that the model knows."""
        name, text = given.name, _text(given.data)
        data = base64.b64encode(given.data).decode() if text is None else None
        kind = mimetypes.guess_type(name)[0]
        suffix = os.path.splitext(name)[1].lstrip(".") or None
        where = FileSource("", 1, 1)
        made = File(given.id, name, suffix, kind, len(given.data), where, text, data, None)
        return self._add(made, text, context)

    def of(self, call: Call) -> list[str]:
        """Returns the ids of the files of a call."""
        with self._lock:
            return [one.id for one in self._files.get((call.round, call.id), ())]

    def all(self) -> list[File]:
        """Returns all files."""
        with self._lock:
            return [one for files in self._files.values() for one in files]

    def response(self, wanted: Sequence[RequestedFile]) -> list[File]:
        """Returns the files of a response: without large bodies, and with placeholders for missing files."""
        made = self.all()
        names = {one.name for one in made}
        whole = [one if one.bytes <= MAX_BODY else replace(one, text=None, data_base64=None) for one in made]
        return whole + [self._missing(one.name) for one in wanted if one.name not in names]

    def _add(self, made: File, text: str | None, context: CallContext) -> File:
        where = FileSource(context.tool, context.round, self._turn)
        kept = replace(made, source=where, preview=None if text is None else text[:_PREVIEW])
        with self._lock:
            self._files.setdefault((context.round, context.call_id), []).append(kept)
        return kept

    def _missing(self, name: str) -> File:
        said = f"no tool wrote the file '{name}'"
        where = FileSource("", 0, self._turn)
        return File(f"file-{os.urandom(8).hex()}", name, ERROR, None, 0, where, said, None, None)


def _text(data: bytes) -> str | None:
    """Returns a body as text; None: it is binary."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
