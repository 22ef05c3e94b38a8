"""`Metrics`: figures of an engine and of its server, in the text format of Prometheus."""

from __future__ import annotations

import json
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from .. import aio
from . import figures
from .outcomes import Outcome

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self, engine: aio.Engine) -> None:
        self._registry = CollectorRegistry()
        self._sums = figures.Sums()
        self._http = Counter(
            "sotto_http_requests", "HTTP requests.", ("method", "route", "status"), registry=self._registry
        )  # fmt: skip
        self._first = Histogram(
            "sotto_time_to_first_token_seconds", "Time to first token of an answer.", ("model",),
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._registry.register(_Reading(engine, self._sums))

    def count(self, method: str, route: str, status: int) -> None:
        """Counts an HTTP request. `route`: the path as the route declares it; empty: no such route."""
        self._http.labels(method if method in _METHODS else "other", route or "none", str(status)).inc()

    def add(self, outcome: Outcome) -> None:
        """Adds the figures of an answer."""
        if outcome.first_s is not None and not outcome.error:
            self._first.labels(outcome.model).observe(outcome.first_s)
        self._sums.add(outcome)

    def text(self) -> bytes:
        """Returns all metrics. Begins a new window for rates since the last scrape."""
        told = generate_latest(self._registry)
        # llama-server calls its maximum a counter, whose name the official client would end with _total.
        return told.replace(b"TYPE llamacpp:n_tokens_max gauge", b"TYPE llamacpp:n_tokens_max counter")


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _Reading(Collector):
    """Reads the engine when it is scraped."""

    def __init__(self, engine: aio.Engine, sums: figures.Sums) -> None:
        self._engine, self._sums = engine, sums

    def describe(self) -> list[Metric]:
        """Returns nothing: names are not checked by reading an engine."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        now, memory = self._engine.stats(), self._engine.memory()
        yield from figures.ours(now, memory)
        yield from figures.llama_cpp(now, self._sums)
        yield from figures.gateway(now, memory, json.loads(self._engine.model_list()))
