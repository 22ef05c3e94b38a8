"""Runs a function that cannot be suspended in turns with its caller: never both at the same time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from ..base import Part

_SHORTEST_S = 0.002  # between two pauses; a pause costs about 0.05 ms
_schedules_threads = hasattr(os, "sched_setscheduler")  # a thread's class: Linux


class Stopped(BaseException):
    """Ends the function: its caller needs it no longer. No handler of `Exception` catches it."""


class Turns:
    """A function on a thread of its own, which computes only while `advance()` waits for it.

    The pipelines of diffusers compute an image in one call; a callback after each denoise step is the only
    way back to the caller. A generator cannot be resumed from inside that callback, but a thread can wait in
    it. The other way, to copy the denoise loop of each pipeline class, would have to follow every release of
    the library.

    `function` gets the object, and calls `hand_over()` and `pause()`.
    """

    def __init__(self, function: Callable[[Turns], object]) -> None:
        self._function: Callable[[Turns], object] | None = function
        self._thread: threading.Thread | None = None
        self._go, self._came = threading.Lock(), threading.Lock()  # each released by the other side
        self._go.acquire()
        self._came.acquire()
        self._part: Part | None = None
        self._error: BaseException | None = None
        self._stops = self._ended = False
        self._since = 0.0  # when the thread got its turn
        self._policy = 0

    def advance(self, cancelled: Callable[[], bool]) -> Part | None:
        """Lets the function compute until it hands a part over. Raises what the function raised.

        Args:
            cancelled: Called on the calling thread at each pause of the function.

        Returns:
            The part; None if the function ended, or was cancelled.
        """
        while not self._ended:
            self._turn()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._part is not None:
                part, self._part = self._part, None
                return part
            if not self._ended and cancelled():
                self.close()
        return None

    def close(self) -> None:
        """Ends the function, at once if it is not computing, and waits for the end of its thread."""
        self._stops = True
        while self._thread is not None and not self._ended:
            self._turn()
        self._error, self._function = None, None

    def hand_over(self, part: Part) -> None:
        """Gives the caller a part, and waits for the next turn. Raises `Stopped` after `close()`."""
        self._part = part
        self._wait()

    def pause(self) -> None:
        """Lets the caller look whether the request was cancelled, and wait while the game computes."""
        if time.perf_counter() - self._since > _SHORTEST_S:
            self._wait()

    def runs_here(self) -> bool:
        """True on the function's thread."""
        return self._thread is threading.current_thread()

    def _turn(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sotto-diffusers", daemon=True)
            self._thread.start()
        if _schedules_threads:
            self._policy = os.sched_getscheduler(0)
        self._go.release()
        self._came.acquire()
        if self._ended:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._begin_turn()
            if self._function is not None:
                self._function(self)
        except Stopped:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self._function = None
            self._ended = True
            self._came.release()

    def _wait(self) -> None:
        self._came.release()
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._go.acquire()
        if self._stops:
            raise Stopped
        if _schedules_threads and os.sched_getscheduler(0) != self._policy:
            _take_class(self._policy)
        self._since = time.perf_counter()


def _take_class(policy: int) -> None:
    """Gives this thread the scheduling class of the engine's, which the mode and the game's frame change."""
    try:
        os.sched_setscheduler(0, policy, os.sched_param(0))
    except OSError:  # a class that this process may not set
        return
