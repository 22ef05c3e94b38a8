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
        if is_async(self._function):
            given = await self._function(inquiry.text)
        else:
            given = await value_of(lambda: self._listed(inquiry.text))
            if inspect.isawaitable(given):
                given = await given
        return read_hits(given)

    def close(self) -> None:
        """Does nothing."""

    def _listed(self, query: str) -> Any:
        given = self._function(query)
        return read_hits(given) if inspect.isgenerator(given) else given  # which runs on this thread, too
