"""Traces of answers by OpenTelemetry's API, where it is installed and configured; otherwise nothing.

Attributes are those of the GenAI semantic conventions, and ours, which begin with `sotto.`. A span never
holds what was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.types import Scope

from .outcomes import Outcome

try:
    from opentelemetry import context, propagate, trace
    from opentelemetry.trace import Span, SpanKind, StatusCode

    INSTALLED = True
except ModuleNotFoundError:
    INSTALLED = False

_OPERATIONS = {
    "chat": "chat",
    "respond": "chat",
    "completion": "text_completion",
    "infill": "text_completion",
    "embed": "embeddings",
}
_SETTINGS = {  # fields of a request, all of them numbers
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "n": "choice.count",
}


@contextmanager
def incoming(scope: Scope) -> Iterator[None]:
    """Makes the trace of a request's header `traceparent` the current one, unless one is current already."""
    if not INSTALLED or trace.get_current_span().get_span_context().is_valid:
        yield
        return
    carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    token = context.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


class Trace:
    """The span of one answer; nothing if no span is recorded."""

    def __init__(self, op: str, text: str) -> None:
        self._span: Span | None = None
        if not INSTALLED or op not in _OPERATIONS:
            return
        span = trace.get_tracer("sotto.server").start_span(_OPERATIONS[op], kind=SpanKind.SERVER)
        if span.is_recording():
            self._span = span
            span.set_attributes(_asked(op, text))

    def end(self, outcome: Outcome) -> None:
        """Ends the span with the figures of the answer."""
        if self._span is None:
            return
        self._span.set_attributes(_answered(outcome))
        self._span.update_name(f"{_OPERATIONS[outcome.op]} {outcome.model}".strip())
        if outcome.error:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


def _asked(op: str, text: str) -> dict[str, Any]:
    """Returns the attributes of a request."""
    told: dict[str, Any] = {
        "gen_ai.operation.name": _OPERATIONS[op],
        "gen_ai.provider.name": "sotto",
        "sotto.operation": op,
    }
    fields = json.loads(text)
    if isinstance(model := fields.get("model"), str):
        told["gen_ai.request.model"] = model
    for field, name in _SETTINGS.items():
        value = fields.get(field)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63:
            told[f"gen_ai.request.{name}"] = value
    return told


def _answered(outcome: Outcome) -> dict[str, Any]:
    """Returns the attributes of an answer; figures that are not known are absent."""
    figures = {
        "gen_ai.response.model": outcome.model or None,
        "gen_ai.response.finish_reasons": list(outcome.finishes) or None,
        "gen_ai.usage.input_tokens": outcome.prompt_tokens,
        "gen_ai.usage.output_tokens": outcome.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": outcome.cached_tokens,
        "gen_ai.server.time_to_first_token": outcome.first_s,
        "error.type": outcome.error or None,
        "sotto.stream": outcome.stream,
        "sotto.pace": outcome.pace,
        "sotto.prefill_seconds": outcome.prefill_s,
        "sotto.decode_seconds": outcome.decode_s,
        "sotto.queue_wait_seconds": outcome.waited_s,
        "sotto.parked": outcome.parked,
    }
    return {name: value for name, value in figures.items() if value is not None}
