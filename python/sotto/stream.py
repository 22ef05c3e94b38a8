"""Answers that arrive word by word."""

from __future__ import annotations

import threading
import weakref

from ._handle import Request, Unique


class TokenStream(Unique):
    """Iterates over an answer's OpenAI chunks, each a JSON string.

    An iteration waits for the next chunk and lets other threads run meanwhile. Closing the stream, or
    dropping it, cancels what is left of the answer.

    >>> for chunk in engine.llm_chat_completion_stream(request_json):
    ...     delta = json.loads(chunk)["choices"][0]["delta"]
    ...     print(delta.get("content", ""), end="", flush=True)
    """

    def __init__(self, request: Request) -> None:
        with request:
            request.next()  # accepted, or it raises here
            self._request = request
            self._taking = threading.Lock()  # one thread at a time may take a request's events
            self._end = weakref.finalize(self, request.drop)

    def __iter__(self) -> TokenStream:
        return self

    def __next__(self) -> str:
        try:
            with self._taking:
                return self._next()
        except BaseException as error:
            cut = not self._end.alive  # by close(), while this thread waited
            self.close()
            if cut and isinstance(error, Exception):
                raise StopIteration from None
            raise

    def _next(self) -> str:
        while self._end.alive:
            event = self._request.next()
            if event.kind == "done":
                break
            if event.json:
                return event.json
        raise StopIteration

    def set_target_tps(self, tps: float) -> bool:
        """The answer's pace, from the next token on. 0: the engine's. False: it is over."""
        return self._request.set_target_tps(tps)

    def __enter__(self) -> TokenStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancels what is left of the answer. A second call does nothing."""
        self._end()
