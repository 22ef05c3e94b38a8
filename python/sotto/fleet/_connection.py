"""Sends the requests of the blocking clients."""

from __future__ import annotations

import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import closing, suppress

import httpx2

from .._deadline import Deadline, DeadlineTransport
from ._readiness import Wait
from ._recovery import Completion, Recovery
from ._wire import (
    BUSY,
    MAX_EVENT,
    MAX_RESPONSE,
    Call,
    Credential,
    Reply,
    Steps,
    T,
    fail,
    failures,
    retry_of,
)
from .errors import ApiError
from .types import TextChunk


class Connection:
    """Connections to one control plane. Threads may share it.

    `patience`: seconds for which an answer that was lost waits for another replica; 0: it is an error.
    """

    def __init__(self, base_url: str, patience: float = 0.0) -> None:
        self.base_url, self.patience = base_url, patience
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
        return self._whole(call, credential, Deadline(timeout))

    def complete(self, call: Call, credential: Credential, timeout: float) -> tuple[Reply, bool]:
        """Sends a request of the data plane; again, if its answer is lost or no replica is there.

        Returns the whole response, of any other status, and whether an answer was lost.
        """
        limit = Deadline(timeout)
        recovery = Recovery(self.patience, limit.left)
        while True:
            try:
                reply = self._whole(call, credential, limit)
                if reply.status not in BUSY:
                    return reply, recovery.resumed
                fail(call, reply, credential)
            except ApiError as error:
                wait = recovery.pause(error)
            self.sleep(wait)

    def stream(self, call: Call, credential: Credential, timeout: float) -> TextStream:
        """Sends a request and returns the stream of its response. Raises the error of an error status."""
        limit = Deadline(timeout)
        answer = Completion(call, credential, Recovery(self.patience, limit.left))
        return TextStream(self, answer, self.accepted(answer, credential, limit), credential, limit)

    def accepted(self, answer: Completion, credential: Credential, limit: Deadline) -> httpx2.Response:
        """Sends the request of a stream until a replica accepts it. Returns the response, unread."""
        while True:
            try:
                with failures(answer.call, self.base_url, credential, float(limit)):
                    response = self._open(answer.call, credential, limit)
                    if response.status_code == 200:
                        answer.recovery.accepted()
                        return response
                    reply = self._refusal(response)
                fail(answer.call, reply, credential)
            except ApiError as error:
                wait = answer.recovery.pause(error)
            self.sleep(wait)

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
                fail(call, self._refusal(response), credential)
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

    def _whole(self, call: Call, credential: Credential, limit: Deadline) -> Reply:
        with (
            failures(call, self.base_url, credential, float(limit)),
            closing(self._open(call, credential, limit)) as response,
        ):
            data = bytearray()
            for piece in response.iter_bytes():
                data += piece
                if len(data) > MAX_RESPONSE:
                    raise ApiError(f"{call.method} {call.path}: invalid response: too long")
            return Reply(response.status_code, bytes(data), retry_of(response.headers))

    def _refusal(self, response: httpx2.Response) -> Reply:
        """Returns a response that is no stream."""
        with closing(response):
            return Reply(response.status_code, response.read()[:MAX_EVENT], retry_of(response.headers))

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
        self,
        connection: Connection,
        answer: Completion,
        response: httpx2.Response,
        credential: Credential,
        limit: Deadline,
    ) -> None:
        self._connection, self._answer = connection, answer
        self._credential, self._limit = credential, limit
        self._closed = False
        self._read(response)

    def __next__(self) -> TextChunk:
        while not self._closed:
            try:
                chunk = self._next()
            except ApiError as error:
                chunk = self._resume(error)
            except BaseException:
                self.close()
                raise
            if chunk is not None:
                return chunk
        raise StopIteration

    def close(self) -> None:
        """Closes the connection. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._response.close()

    def _read(self, response: httpx2.Response) -> None:
        self._response = response
        self._events = iter(httpx2.EventSource(response, MAX_EVENT))

    def _next(self) -> TextChunk | None:
        """Returns the chunk of the next event, if it holds one. Closes the connection after the last one."""
        with failures(self._answer.call, self._connection.base_url, self._credential, float(self._limit)):
            event = next(self._events, None)
        if event is None:
            self._answer.end()
        chunk = None if event is None else self._answer.read(event.data)
        if event is None or self._answer.done:
            self.close()
        return chunk

    def _resume(self, error: ApiError) -> TextChunk | None:
        """Goes on with the rest of the answer from another replica. Raises the error if none takes it up."""
        resumed = False
        try:
            self._response.close()
            found = self._answer.broken(error)
            if not isinstance(found, float):
                return found
            self._connection.sleep(found)
            self._read(self._connection.accepted(self._answer, self._credential, self._limit))
            resumed = True
            return None
        finally:
            if not resumed:
                self.close()

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()
