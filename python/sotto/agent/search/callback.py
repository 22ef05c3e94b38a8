"""`CallbackSource`: asks a function of the application."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..threads import is_async, value_of
from .base import Inquiry
from .hit import Hit, read_hits


class CallbackSource:
    """Asks a function or coroutine function of the application, which gets the query.

    Args:
        function: Returns hits, see `Search`. A function runs on a thread.
    """

    ranked = False

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function

    async def find(self, inquiry: Inquiry) -> list[Hit]:
        """Returns what the function returned, checked."""
        given = self._function(inquiry.text) if is_async(self._function) else None
        if given is None:
            given = await value_of(lambda: self._call(inquiry.text))
        if inspect.isawaitable(given):
            returned = await given
            given = await value_of(lambda: read_hits(returned))
        found: list[Hit] = given
        return found

    def close(self) -> None:
        """Does nothing."""

    def _call(self, query: str) -> Any:
        """Returns the hits of a function; the coroutine of a function that returns one."""
        given = self._function(query)
        return given if inspect.isawaitable(given) else read_hits(given)
