"""`Summarizer`: turns that left a conversation become one memory, in the background."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..engine import Engine
from ..errors import SottoError
from .memory import Memories

_LOG = logging.getLogger("sotto.npc")
_ASKED = (
    "Summarize this conversation in at most three short sentences, for the memory of {name}. Write what was "
    "agreed, promised and learned, with the names. Write nothing else.\n\n{talk}"
)
_IMPORTANCE = 0.7


class Summarizer:
    """Summarizes turns on a thread of its own, at the priority "background".

    Args:
        engine: Engine with the model.
        model: Id of the model.
    """

    def __init__(self, engine: Engine, model: str) -> None:
        self._engine = engine
        self._model = model
        self._thread = ThreadPoolExecutor(1, "sotto-npc-summary")
        self._last: Future[None] | None = None

    def begin(self, name: str, turns: Sequence[Mapping[str, Any]], memories: Memories) -> None:
        """Summarizes turns and adds the result to the memories of `name`. Returns at once.

        A summary that fails is logged; the exchanges themselves are memories already.
        """
        who = {"assistant": name}
        said = "\n".join(f"{who.get(one['role'], 'Visitor')}: {one['content']}" for one in turns)
        self._last = self._thread.submit(self._summarize, _ASKED.format(name=name, talk=said), memories)

    def wait(self) -> None:
        """Waits until all summaries are made."""
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        """Waits for the summary that is being written, and drops those that wait."""
        self._thread.shutdown(cancel_futures=True)

    def _summarize(self, asked: str, memories: Memories) -> None:
        try:
            made = self._engine.chat(
                asked, model=self._model, max_tokens=128, temperature=0, priority="background"
            )
            memories.add(made.text, "summary", _IMPORTANCE)
        except SottoError:
            _LOG.exception("no summary of a conversation: the model failed")
