"""Sends the requests of the blocking client."""

from __future__ import annotations

import ssl
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

from ..._deadline import Deadline, DeadlineTransport
from .._json import Answer
from .._wire import MAX_ERROR, MAX_EVENT, MAX_RESPONSE, RETRY_WAITS, UNSENT, Chunks, Endpoint, encode
from ..errors import TransportError


class Stream(Iterator[dict[str, Any]]):
    """Iterates over the chunks of an answer. Closing or dropping it cancels the answer on the server.

    Any thread may close it; an iteration that waits in another thread then ends. Use it in a `with` statement
    unless it is read to its end.
    """

    def __init__(self, response: httpx2.Response, chunks: Chunks, limit: Deadline) -> None:
        self._response, self._chunks, self._limit = response, chunks, limit
        self._events = iter(httpx2.EventSource(response, MAX_EVENT))
        self._closed = False

    def __next__(self) -> dict[str, Any]:
        while not self._closed:
            try:
                with self._chunks.failures(float(self._limit)):
                    event = next(self._events, None)
                    if event is not None:
                        chunk = self._chunks.read(event.data)
                    else:
                        self._chunks.end()
            except Exception:
                if self._closed:  # another thread closed it
                    break
                self.close()
                raise
            if event is None or self._chunks.done:
                self.close()
            elif chunk is not None:
                return chunk
        raise StopIteration

    def close(self) -> None:
        """Closes the connection, which cancels the rest of the answer. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._response.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()


class Transport:
    """Connections to one server. Threads may share it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        context: ssl.SSLContext | None = None
        if endpoint.encrypted:
            context = httpx2.create_ssl_context(verify=endpoint.verify_ssl)
        self._http = httpx2.Client(
            transport=DeadlineTransport(context), headers=endpoint.headers(), follow_redirects=False
        )
        self._end = weakref.finalize(self, self._http.close)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: tuple[int, ...] = (200,),
        retry: bool = True,
        timeout: float | None = None,
    ) -> Answer:
        """Sends a request and returns its whole response.

        Args:
            method: HTTP method.
            path: Path and query, after the server's address.
            body: Value of the JSON body; None for no body.
            accept: Statuses that are not errors.
            retry: Tries again if no connection can be opened.
            timeout: Limit for the whole request in seconds; None for the client's.

        Raises:
            ApiError: The status is an error.
            DeadlineExceeded: The response was not complete in time.
            TransportError: The server cannot be reached, or the connection broke off.
        """
        limit = Deadline(self.endpoint.timeout if timeout is None else timeout)
        request = f"{method} {path.partition('?')[0]}"
        content = encode(body)
        with self.endpoint.failures(request, float(limit)):
            response = self._open(method, path, content, limit, retry)
            try:
                accepted = response.status_code in accept
                data = _bounded(response.iter_bytes(), MAX_RESPONSE if accepted else MAX_ERROR, not accepted)
            finally:
                response.close()
        if not accepted:
            self.endpoint.fail(request, response.status_code, data)
        return Answer(request, response.status_code, data)

    def stream(self, method: str, path: str, body: Any) -> Stream:
        """Sends a request and returns the stream of its response. Raises as `send()` does."""
        limit = Deadline(self.endpoint.timeout)
        request = f"{method} {path}"
        content = encode(body)
        with self.endpoint.failures(request, float(limit)):
            response = self._open(method, path, content, limit, True)
            if response.status_code == 200:
                return Stream(response, Chunks(self.endpoint, request), limit)
            try:
                data = _bounded(response.iter_bytes(), MAX_ERROR, True)
            finally:
                response.close()
        self.endpoint.fail(request, response.status_code, data)

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)

    def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        self._end()

    def _open(
        self, method: str, path: str, content: bytes | None, limit: Deadline, retry: bool
    ) -> httpx2.Response:
        headers = {"Content-Type": "application/json"} if content is not None else {}
        for wait in (*RETRY_WAITS, None) if retry else (None,):
            request = self._http.build_request(
                method,
                self.endpoint.base_url + path,
                content=content,
                headers=headers,
                extensions=limit.extensions(),
            )
            try:
                return self._http.send(request, stream=True)
            except UNSENT as error:
                if wait is None or isinstance(error.__cause__, ssl.SSLError) or limit.left() <= wait:
                    raise
                self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _bounded(pieces: Iterable[bytes], most: int, cut: bool) -> bytes:
    """Returns the pieces of a body of at most `most` bytes; cuts a longer one, or fails."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > most:
            if cut:
                return bytes(data[:most])
            raise TransportError(f"invalid response: more than {most} bytes")
    return bytes(data)
