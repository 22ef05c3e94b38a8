"""`TokenStream`: an answer that arrives in chunks."""

from __future__ import annotations

import threading
import weakref

from ._handle import Request, Unique


class TokenStream(Unique):
    """Iterates over an answer's OpenAI chunks, each a JSON string.

    Each iteration waits for the next chunk and releases the GIL meanwhile. Closing the stream, or deleting
    the last reference to it, cancels the rest of the answer.

    >>> for chunk in engine.llm_chat_completion_stream(request_json):
    ...     delta = json.loads(chunk)["choices"][0]["delta"]
    ...     print(delta.get("content", ""), end="", flush=True)
    """

    def __init__(self, request: Request) -> None:
        with request:
            request.next()  # the "accepted" event; raises if the request is rejected
            self._request = request
            self._taking = threading.Lock()  # held by the thread that takes the request's events
            self._end = weakref.finalize(self, request.drop)

    def __iter__(self) -> TokenStream:
        return self

    def __next__(self) -> str:
        try:
            with self._taking:
                return self._next()
        except BaseException as error:
            cut = not self._end.alive  # close() was called while this thread waited
            self.close()
            if cut and isinstance(error, Exception):
                raise StopIteration from None
            raise

    def _next(self) -> str:
        while self._end.alive:
            event = self._request.next()
            if event.kind == "request_done":
                break
            if event.json:
                return event.json
        raise StopIteration

    def set_target_tps(self, tps: float) -> bool:
        """Sets the pace in tokens per second from the next token on; 0: the engine's.

        Returns:
            False if the answer has ended.
        """
        return self._request.set_target_tps(tps)

    def __enter__(self) -> TokenStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._end()
