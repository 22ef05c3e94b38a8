"""The description of the API: it names every route, and what the server answers keeps to it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import serving
from sotto.server import Settings
from sotto.server.application import ROUTES, make
from sotto.server.openapi.described import DESCRIBED
from sotto.server.openapi.document import document
from tiny_encoder import TinyEncoder

FULL = os.environ.get("SOTTO_FULL") == "1"
EXAMPLES = 100 if FULL else 3  # of valid and of invalid requests, for each operation
LENGTHS = ("max_tokens", "max_output_tokens", "n_predict")
DESCRIBED_PATHS = {path for _, path in DESCRIBED}
TEXTS: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hello"}],
    "prompt": "Hello",
    "input": "Hello",
    "content": "Hello",
    "tokens": [300, 301],
    "model": "sotto/house",
}
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.allow_header_conformance,
    checks.negative_data_rejection,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.Served]:
    encoder = tmp_path_factory.mktemp("encoder") / "encoder.gguf"
    TinyEncoder(7).write(encoder)
    with serving.served(f"encoder={encoder}", "--timeout", "5") as running:
        yield running


def short(case: Case) -> None:
    """Limits the length of answers."""
    if isinstance(case.body, dict) and "model" not in case.path_parameters:
        for name in LENGTHS:
            asked = case.body.get(name, 1000)
            if isinstance(asked, int) and asked > 4:
                case.body[name] = 4


def sane(case: Case) -> None:
    """Gives a valid request texts that a model answers, so that its other fields decide whether it may."""
    if isinstance(case.body, dict) and not case.path.startswith("/models/"):  # which unload the model
        for name, value in TEXTS.items():
            if name in case.body:
                case.body[name] = value
        if case.path == "/v1/embeddings":
            case.body["model"] = "encoder"
        for name in ("session", "previous_response_id", "lora", "grammar", "tools"):
            if case.path != "/v1/sessions":
                case.body.pop(name, None)


def operations(url: str) -> list[Any]:
    load_all_checks()
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    found = [one.ok() for one in schema.get_all_operations()]
    aliases = {path for route in ROUTES for path in route.paths[1:] if path not in DESCRIBED_PATHS}
    return [one for one in found if one.path not in aliases]


def broken(operation: Any, mode: GenerationMode) -> list[str]:
    """Sends requests of an operation. Returns what is wrong with the answers."""
    said: list[str] = []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            sane(case)
        short(case)
        response = case.call(timeout=60)
        if response.status_code == 500:
            said.append(f"500: {response.text[:500]} {case.as_curl_command()[:1000]}")
        try:
            case.validate_response(response, checks=CHECKS)
        except FailureGroup as group:
            said.extend(f"{one} {case.as_curl_command()[:1000]}" for one in group.exceptions)

    ask()
    return said


@pytest.mark.real
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_answers_keep_to_the_description(server: serving.Served, mode: GenerationMode) -> None:
    found = []
    for operation in operations(server.url):
        if mode is GenerationMode.NEGATIVE and operation.method.upper() not in ("POST", "PATCH"):
            continue  # nothing of it can be invalid
        try:
            found += [f"{operation.label}: {said}" for said in broken(operation, mode)[:2]]
        except Exception as error:
            found.append(f"{operation.label}: {error!r}")
    assert not found, "\n\n".join(found)


def test_every_route_is_described() -> None:
    made = document(ROUTES, needs_key=True)
    named = {(route.method.lower(), path.replace(":path}", "}")) for route in ROUTES for path in route.paths}
    described = {(method, path) for path, methods in made["paths"].items() for method in methods}
    assert described == named
    ids = [one["operationId"] for methods in made["paths"].values() for one in methods.values()]
    assert len(set(ids)) == len(ids)
    assert "security" not in made["paths"]["/health"]["get"]
    assert made["paths"]["/v1/chat/completions"]["post"]["security"]
    routes = {(route.method, path) for route in ROUTES for path in route.paths}
    assert set(DESCRIBED) <= routes
    assert all(any((route.method, path) in DESCRIBED for path in route.paths) for route in ROUTES)


def test_bodies_are_those_of_the_engine() -> None:
    made = document(ROUTES, needs_key=False)
    schemas = made["components"]["schemas"]
    chat = made["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert set(chat["properties"]) - set(schemas["request.chat"]["properties"]) == {
        "priority",
        "deadline_ms",
        "target_tps",
    }
    assert chat["required"] == ["messages"]
    text = json.dumps(made)
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in schemas
    assert "#/$defs" not in text


def test_a_mounted_server_says_where_it_is() -> None:
    service: Any = SimpleNamespace(
        settings=Settings(hosts=("*",)), metrics=SimpleNamespace(count=lambda *_: None)
    )
    outer = Starlette(routes=[Mount("/sotto", make(service, ROUTES))])
    told = TestClient(outer).get("/sotto/openapi.json").json()
    assert told["servers"] == [{"url": "/sotto"}] and "/v1/models" in told["paths"]
