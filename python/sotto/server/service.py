"""`Service`: the state that the routes of one server share."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .. import aio
from .._ops import Op
from ..terms import RequestOptions
from .errors import HttpError, to_http
from .metrics import Metrics
from .outcomes import Outcome
from .settings import Settings
from .tracing import Trace

log = logging.getLogger("sotto.server")
_PROGRESS = '"prompt_progress"'  # in a chunk before the first token


class Service:
    """An engine, the limits of its server, and the number of requests that are being answered.

    Attributes:
        facts: What routes found out about the engine and its models, once.
        prepare: Returns the body of a request for its operation and body; sets defaults.
        known: Loads each model that the server may load, by id.
    """

    def __init__(self, engine: aio.Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.started = int(time.time())
        self.metrics = Metrics(engine)
        self.last_end = time.monotonic()  # when the last answer ended
        self.prepare: Callable[[str, str], str] = lambda op, text: text
        self.known: dict[str, Callable[[], Awaitable[None]]] = {}
        self.watchers = 0  # clients that read /v1/stats
        self._live: set[Live] = set()
        self.loading = False
        self.draining = False
        self.facts: dict[str, str] = {}

    @property
    def live(self) -> int:
        """Number of requests that are being answered."""
        return len(self._live)

    def answers(self) -> list[dict[str, Any]]:
        """Returns figures of the running answers, oldest first. Nothing of what is said is among them."""
        running = [live for live in self._live if live.outcome is not None]
        return [live.figures() for live in sorted(running, key=Live.began)]

    def drain(self) -> None:
        """Refuses requests from now on. Those that run go on."""
        self.draining = True

    def end_all(self) -> None:
        """Ends all requests with status 503."""
        for live in list(self._live):
            live.end("the server is shutting down")

    def admit(self) -> Live:
        """Counts a request until its `Live` is released.

        Raises:
            HttpError: 503 if the server is shutting down; 429 if `max_requests` are live.
        """
        if self.draining:
            raise HttpError(503, "the server is shutting down; ask another one")
        if self.live >= self.settings.max_requests:
            raise HttpError(429, f"too many requests: {self.live} are being answered; ask again later")
        live = Live(self.engine, self._ended, self.prepare)
        self._live.add(live)
        return live

    def _ended(self, live: Live) -> None:
        """Forgets a request and counts its figures."""
        self._live.discard(live)
        self.last_end = time.monotonic()
        if live.outcome is not None:
            self.metrics.add(live.outcome)

    async def fingerprint(self) -> str:
        """Returns the `system_fingerprint` of answers: the builds of llama.cpp and of this library."""
        if "fingerprint" not in self.facts:
            from .. import __version__

            backends = (await self.engine.describe()).get("backends", [])
            builds = [found for one in backends if (found := one.get("details", {}).get("build"))]
            self.facts["fingerprint"] = f"{builds[0] if builds else 'b0'}-sotto-{__version__}"
        return self.facts["fingerprint"]

    def models(self) -> list[dict[str, Any]]:
        """Returns the loaded models, as the engine lists them."""
        listed: list[dict[str, Any]] = json.loads(self.engine.model_list())
        return listed

    def adapted(self, asked: str | None) -> str | None:
        """Returns the id of the model with the LoRA adapter `asked`; None for any other name."""
        models = self.models()
        if asked is None or any(model["id"] == asked for model in models):
            return None
        for model in models:
            if any(adapter["name"] == asked for adapter in model.get("adapters", [])):
                return str(model["id"])
        return None

    def resolve(self, asked: str | None) -> str:
        """Returns the id of the loaded model for the `model` of a request.

        A server with one model answers for any id, as llama-server does, unless `strict_models` is set.

        Raises:
            HttpError: 404 if there is no such model; 503 if no model is loaded; 400 if several are loaded
                and the request names none.
        """
        ids = [model["id"] for model in self.models()]
        if asked in ids:
            return str(asked)
        if not ids:
            raise HttpError(503, "Loading model" if self.loading else "no model is loaded")
        if len(ids) == 1 and not (asked and self.settings.strict_models):
            return str(ids[0])
        if asked:
            raise HttpError(404, f"model '{asked}' is not loaded; loaded are: {', '.join(ids)}")
        raise HttpError(400, f"missing model: expected one of {', '.join(ids)}")


class Live:
    """One request that is being answered, and the figures of its answer.

    Attributes:
        outcome: The figures; None: the request was never submitted.
    """

    def __init__(
        self, engine: aio.Engine, ended: Callable[[Live], None], prepare: Callable[[str, str], str]
    ) -> None:
        self._engine = engine
        self._prepare = prepare
        self._ended = ended
        self._running: list[aio.Request] = []
        self._last: deque[str] = deque(maxlen=2)  # the chunks that have the figures of a stream
        self._chunks = 0
        self._trace: Trace | None = None
        self.outcome: Outcome | None = None

    def began(self) -> float:
        """Returns when the request was submitted, on the monotonic clock."""
        return self.outcome.began if self.outcome is not None else 0.0

    def figures(self) -> dict[str, Any]:
        """Returns the operation, its age in seconds, the chunks so far and the pace that was asked for."""
        assert self.outcome is not None
        return {
            "op": self.outcome.op,
            "seconds": round(time.monotonic() - self.outcome.began, 3),
            "chunks": self._chunks,
            "pace": self.outcome.pace,
        }

    def run(self, op: Op, text: str, options: RequestOptions, chunks: bool = False) -> aio.Request:
        """Submits the request to the engine."""
        self._running.append(self._engine.submit(op, self._prepare(op, text), chunks=chunks, **options))
        self.outcome = Outcome(op, options.get("target_tps"), chunks)
        self._trace = Trace(op, text)
        return self._running[-1]

    def follow(self, op: Op, text: str, options: RequestOptions | None = None) -> aio.Request:
        """Submits another request of the same answer."""
        self._running.append(self._engine.submit(op, self._prepare(op, text), **(options or {})))
        return self._running[-1]

    def hear(self, told: Sequence[str]) -> None:
        """Notes a response, or the next chunks of a stream."""
        self._last.extend(told)
        self._chunks += len(told)
        outcome = self.outcome
        if outcome is None or not outcome.stream or outcome.first_s is not None:
            return
        if any(_PROGRESS not in one for one in told):
            outcome.begin()

    def fail(self, error: BaseException) -> None:
        """Notes that the answer ended with an error."""
        if self.outcome is not None:
            self.outcome.error = to_http(error).type if isinstance(error, Exception) else "cancelled"

    def end(self, why: str) -> None:
        """Ends the request with an error."""
        for request in self._running:
            request.abandon(why)

    def release(self) -> None:
        """Ends the count of this request, and the request itself if it runs still."""
        for request in self._running:
            request.drop()
        if self.outcome is not None:
            self.outcome.ended = time.monotonic()
            for told in self._last:
                self.outcome.read(told)
            if self._trace is not None:
                self._trace.end(self.outcome)
        self._ended(self)
