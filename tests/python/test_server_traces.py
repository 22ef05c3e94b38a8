"""Spans of answers, kept in memory by OpenTelemetry's SDK."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra 'server'")
pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from asking_app import ask
from conftest import SCRIPTED
from sotto import aio
from sotto.server import Settings, app

WORDS = "a secret of the innkeeper"
SAID = {"model": "npc", "messages": [{"role": "user", "content": WORDS}], "temperature": 0.5, "max_tokens": 3}
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

exporter = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def configured() -> Iterator[None]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield
    exporter.shutdown()


def spans(*asked: tuple[str, dict[str, Any]], **headers: str) -> list[ReadableSpan]:
    """The spans of requests to a server."""
    exporter.clear()

    async def run() -> None:
        async with aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options={})
            served = app(engine, Settings(hosts=("*",)))
            for path, body in asked:
                await ask(served, path, body, **headers)

    asyncio.run(run())
    return list(exporter.get_finished_spans())


def test_a_span_has_the_figures_of_its_answer() -> None:
    whole, stream = spans(
        ("/v1/chat/completions", SAID),
        ("/v1/chat/completions", {**SAID, "stream": True, "target_tps": 500}),
    )
    for span, streamed in ((whole, False), (stream, True)):
        told = dict(span.attributes or {})
        assert span.name == "chat npc" and span.kind is trace.SpanKind.SERVER and span.parent is None
        assert told["gen_ai.operation.name"] == "chat" and told["gen_ai.provider.name"] == "sotto"
        assert told["gen_ai.request.model"] == told["gen_ai.response.model"] == "npc"
        assert told["gen_ai.request.max_tokens"] == 3 and told["gen_ai.request.temperature"] == 0.5
        assert told["gen_ai.usage.input_tokens"] == 5 and told["gen_ai.usage.output_tokens"] == 3
        assert told["gen_ai.response.finish_reasons"] == ("length",)
        assert 0 < float(str(told["gen_ai.server.time_to_first_token"])) < 10
        assert told["sotto.stream"] is streamed and told.get("sotto.pace") == (500 if streamed else None)
        assert span.status.status_code is trace.StatusCode.UNSET
        assert "secret" not in span.to_json() and "innkeeper" not in span.to_json()


def test_a_span_belongs_to_the_trace_of_its_request() -> None:
    (span,) = spans(("/v1/completions", {"model": "npc", "prompt": WORDS}), traceparent=PARENT)
    assert span.name == "text_completion npc" and span.context is not None and span.parent is not None
    assert f"{span.context.trace_id:032x}" == PARENT[3:35] and f"{span.parent.span_id:016x}" == PARENT[36:52]
    (orphan,) = spans(("/v1/completions", {"model": "npc", "prompt": WORDS}), traceparent="00-zz-\x01-01")
    assert orphan.parent is None


def test_an_error_is_marked_without_its_message() -> None:
    (span,) = spans(("/v1/chat/completions", {**SAID, "temperature": f"{WORDS}"}))
    assert span.status.status_code is trace.StatusCode.ERROR and span.status.description is None
    assert (span.attributes or {})["error.type"] == "invalid_request_error"
    assert "secret" not in span.to_json() and not span.events


def test_other_operations_have_no_span() -> None:
    assert spans(("/tokenize", {"content": WORDS}), ("/nowhere", {})) == []


def test_the_server_works_without_opentelemetry() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from sotto.server import tracing\n"
        "assert not tracing.INSTALLED\n"
        "with tracing.incoming({'headers': []}): tracing.Trace('chat', '{}').end(None)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
