"""Sends the requests of the blocking clients."""

from __future__ import annotations

import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from typing import Any

import httpx2

from .._deadline import Deadline, DeadlineTransport
from ._answers import Chunks
from ._readiness import Wait
from ._wire import MAX_EVENT, MAX_RESPONSE, Call, Credential, Reply, Steps, T, fail, failures
from .errors import ApiError
from .types import TextChunk


class Connection:
    """Connections to one control plane. Threads may share it."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        context = httpx2.create_ssl_context() if base_url.startswith("https:") else None
        self._http = httpx2.Client(transport=DeadlineTransport(context), follow_redirects=False)
        self._end = weakref.finalize(self, self._http.close)
        self.sleep = time.sleep

    def run(self, steps: Steps[T], credential: Credential, timeout: float) -> T:
        """Sends the requests that `steps` yields, and returns its result."""
        try:
            call = next(steps)
            while True:
                call = steps.send(self.send(call, credential, timeout))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def send(self, call: Call, credential: Credential, timeout: float) -> Reply:
        """Sends a request and returns the whole response, of any status."""
        limit = Deadline(timeout)
        with (
            failures(call, self.base_url, credential, float(limit)),
            closing(self._open(call, credential, limit)) as response,
        ):
            data = bytearray()
            for piece in response.iter_bytes():
                data += piece
                if len(data) > MAX_RESPONSE:
                    raise ApiError(f"{call.method} {call.path}: invalid response: too long")
            return Reply(response.status_code, bytes(data))

    def stream(self, call: Call, credential: Credential, timeout: float) -> TextStream:
        """Sends a request and returns the stream of its response. Raises the error of an error status."""
        limit = Deadline(timeout)
        with failures(call, self.base_url, credential, float(limit)):
            response = self._open(call, credential, limit)
            if response.status_code == 200:
                return TextStream(self.base_url, response, call, credential, limit)
            try:
                reply = Reply(response.status_code, response.read()[:MAX_EVENT])
            finally:
                response.close()
        fail(call, reply, credential)

    def wait(self, call: Call, credential: Credential, wait: Wait) -> None:
        """Waits until the workload is ready; reconnects if the connection ends before."""
        while True:
            error: ApiError | None = None
            try:
                events = self._events(call, credential, wait)
            except ApiError as found:
                error = found
            else:
                with closing(events):
                    while (event := next(events)) is not None:
                        if isinstance(event, ApiError):
                            error = event
                            break
                        if wait.take(event):  # outside of `failures`: a callback may raise anything
                            return
            self.sleep(wait.pause(error))

    def close(self) -> None:
        """Closes all connections. A second call does nothing."""
        self._end()

    def _events(
        self, call: Call, credential: Credential, wait: Wait
    ) -> Generator[str | ApiError | None, None, None]:
        """Opens a stream of events. Yields their data; an error if the connection fails; None at its end."""
        limit = Deadline(wait.left())
        with failures(call, self.base_url, credential, float(limit)):
            response = self._open(call, credential, limit)
            if response.status_code != 200:
                try:
                    reply = Reply(response.status_code, response.read()[:MAX_EVENT])
                finally:
                    response.close()
                fail(call, reply, credential)
        wait.connected()

        def read() -> Generator[str | ApiError | None, None, None]:
            with closing(response):
                events = iter(httpx2.EventSource(response, MAX_EVENT))
                while True:
                    try:
                        with failures(call, self.base_url, credential, float(limit)):
                            event = next(events, None)
                    except ApiError as error:
                        yield error
                        return
                    yield None if event is None else event.data

        return read()

    def _open(self, call: Call, credential: Credential, limit: Deadline) -> httpx2.Response:
        content = call.content()
        headers = {"Accept-Encoding": "identity", "User-Agent": "sotto-fleet", **credential.header()}
        if content is not None:
            headers["Content-Type"] = "application/json"
        request = self._http.build_request(
            call.method,
            self.base_url + call.path,
            content=content,
            headers=headers,
            extensions=limit.extensions(),
        )
        return self._http.send(request, stream=True)


class TextStream(Iterator[TextChunk]):
    """Iterates over the chunks of a completion. Closing or dropping it cancels the rest of the answer."""

    def __init__(
        self, base_url: str, response: httpx2.Response, call: Call, credential: Credential, limit: Deadline
    ) -> None:
        self._response, self._chunks = response, Chunks(call, credential)
        self._failures: Any = lambda: failures(call, base_url, credential, float(limit))
        self._events = iter(httpx2.EventSource(response, MAX_EVENT))
        self._closed = False

    def __next__(self) -> TextChunk:
        while not self._closed:
            try:
                with self._failures():
                    event = next(self._events, None)
                    chunk = None if event is None else self._chunks.read(event.data)
                    if event is None:
                        self._chunks.end()
            except BaseException:
                self.close()
                raise
            if event is None or self._chunks.done:
                self.close()
            elif chunk is not None:
                return chunk
        raise StopIteration

    def close(self) -> None:
        """Closes the connection. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._response.close()

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()
