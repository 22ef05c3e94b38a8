"""One answer at a time: the calls of one `Llama` that change its state wait for each other."""

from __future__ import annotations

import threading
from threading import get_ident

from .errors import LlamaError


class Turns:
    """A lock that a stream may hold. Its holder's thread gets an error instead of waiting for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: int | None = None  # the thread that must not wait; None: the lock is free

    def begin(self, thread: int | None = None) -> None:
        """Waits for the answer in progress, and begins one.

        Args:
            thread: The thread that the answer belongs to; None: this thread.

        Raises:
            LlamaError: The answer in progress is a stream of the same thread.
        """
        mine = get_ident() if thread is None else thread
        if self._holder in (mine, get_ident()):
            raise LlamaError(
                "an answer of this Llama is still being read; read it to its end, or call its close()"
            )
        self._lock.acquire()
        self._holder = mine

    def end(self) -> None:
        """Ends the answer, from any thread."""
        self._holder = None
        self._lock.release()

    def __enter__(self) -> Turns:
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
