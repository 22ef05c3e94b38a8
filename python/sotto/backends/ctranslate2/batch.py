"""Requests that CTranslate2 generates together: one call of the library, token by token."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from ..base import Request

_LOOK_S = 0.02  # how often a waiting step looks whether its request was cancelled
_AHEAD = 2  # most tokens of a request that no step has taken, where the library may compute ahead


class Batch:
    """One call of `ctranslate2.Generator.generate_batch()`, which computes while a step waits for it.

    The library generates on a thread of its own, one token of each request at a time, and calls back after
    each token. After the last request's token the callback waits until a step asks for a token that is not
    there. So nothing is computed outside the engine's steps, unless the engine's mode allows it: then the
    library computes up to two tokens ahead, and does not wait for each token's way to the engine and back.
    """

    def __init__(self, generator: Any, prompts: Sequence[Sequence[str]], options: Mapping[str, Any]) -> None:
        shortest = min(map(len, prompts))
        self._first = [len(prompt) - shortest for prompt in prompts]  # the library's step of its first token
        self._lock = threading.Lock()
        # Wake the other thread; what they tell is checked again. Cheaper than a condition, for each token.
        self._arrived: SimpleQueue[None] = SimpleQueue()  # all tokens of a step are here
        self._wanted: SimpleQueue[None] = SimpleQueue()  # a step waits for a token, or less is needed
        self._tokens: list[deque[int]] = [deque() for _ in prompts]
        self._live = set(range(len(prompts)))  # neither ended nor cancelled
        self._asking: set[int] = set()
        self._ahead = False  # the last step allowed to compute ahead
        self._step, self._due = -1, set(self._live)  # whose tokens of this step are not here yet
        self._results = generator.generate_batch(
            [list(prompt) for prompt in prompts],
            include_prompt_in_result=False,
            asynchronous=True,
            callback=self._on_token,
            return_end_token=True,
            **options,
        )

    def _on_token(self, result: Any) -> bool:
        """Takes a token, on the library's thread. Returns True if its request needs no more."""
        at = result.batch_id
        with self._lock:
            if result.step != self._step:
                self._step = result.step
                self._due = {one for one in self._live if self._first[one] <= result.step}
            self._due.discard(at)
            needed = at in self._live
            if needed:
                self._tokens[at].append(result.token_id)
                if result.is_last:
                    self._live.discard(at)
            all_here = not self._due
        if all_here:
            self._arrived.put(None)
            while not self._goes_on():
                self._wanted.get()
        return not needed or at not in self._live

    def _goes_on(self) -> bool:
        with self._lock:
            if not self._live or any(not self._tokens[at] for at in self._asking):
                return True
            return self._ahead and all(len(self._tokens[at]) < _AHEAD for at in self._live)

    def tokens(self, at: int, request: Request) -> Generator[int, None, None]:
        """Yields the tokens of a request, and waits for each. Ends early if the request is cancelled.

        Raises the library's exception if it failed.
        """
        while (token := self._next(at, request)) is not None:
            yield token

    def _next(self, at: int, request: Request) -> int | None:
        tokens, result = self._tokens[at], self._results[at]
        self._ahead = request.may_compute_ahead()
        if tokens:  # this step's, for all but the first request of a batch; or computed ahead
            token = tokens.popleft()
            if self._ahead:
                self._wanted.put(None)
            return token
        with self._lock:
            self._asking.add(at)
        try:
            while not request.cancelled():
                self._wanted.put(None)
                with suppress(Empty):
                    self._arrived.get(timeout=_LOOK_S)
                if tokens or at not in self._live:
                    return tokens.popleft() if tokens else None
                if result.done() and not tokens:
                    result.result()  # raises, or it ended without a last token
                    return None
        finally:
            with self._lock:
                self._asking.discard(at)
        return None

    def cancel(self, at: int | None = None) -> None:
        """Lets the library end a request at its next token; without an index, all of them."""
        with self._lock:
            self._live -= self._live.copy() if at is None else {at}
        self._wanted.put(None)

    @property
    def done(self) -> bool:
        """True if the library has ended."""
        return all(result.done() for result in self._results)

    def wait(self) -> None:
        """Waits until the library has ended. Errors were told to the requests."""
        for result in self._results:
            with suppress(Exception):
                result.result()
