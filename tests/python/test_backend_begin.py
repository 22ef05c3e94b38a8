"""Requests that begin together in a Python backend, and the backend whose package is missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import sotto
from made_backend import have
from sotto.backends import Model, ModelInfo, Part, Request
from sotto.backends.ctranslate2 import CTranslate2


def last_of(engine: sotto.Engine, body: dict[str, Any]) -> sotto.Event:
    """The last event of a chat."""
    request = engine.submit("chat", body)
    while True:
        assert engine.wait(20)
        for event in engine.events():
            if event.request == request and event.kind == "request_done":
                return event


class Choir(Model):
    """Works on the prompt until no other request begins, then answers all together."""

    info = ModelInfo(weights=1 << 20, streams=8)

    def __init__(self) -> None:
        self.begun: list[int] = []

    def begin(self, requests: Any) -> None:
        if any(request.text == "wrong" for request in requests):
            raise ValueError("this one cannot begin")
        self.begun.append(len(requests))

    def units(self, request: Request) -> int:
        return 100

    def chat(self, request: Request) -> Any:
        for _ in range(20):
            yield Part(units=4)
        yield from ("well", " met")


def test_requests_that_begin_in_a_step_are_told_together() -> None:
    choir = Choir()
    with sotto.Engine("cpu") as engine:
        have(engine, choir)
        body = {"model": "m", "messages": [{"role": "user", "content": "Sing."}], "max_tokens": 9}
        requests = {engine.submit("chat", body) for _ in range(6)}
        told: dict[int, list[sotto.Event]] = {request: [] for request in requests}
        while not all(events and events[-1].kind == "request_done" for events in told.values()):
            assert engine.wait(20)
            for event in engine.events():
                told[event.request].append(event)
        assert sum(choir.begun) == 6
        for events in told.values():  # work on the prompt is no token
            assert "".join(event.text for event in events if event.kind == "text") == "well met"
            assert events[-1].tokens == 2
        wrong = {**body, "messages": [{"role": "user", "content": "wrong"}]}
        assert "this one cannot begin" in last_of(engine, wrong).error
        assert last_of(engine, body).tokens == 2


def test_ctranslate2_that_is_missing_or_of_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(
        sotto.ArgumentError, match=r"needs ctranslate2: pip install 'sotto-runtime\[ctranslate2\]'"
    ):
        CTranslate2()
    monkeypatch.setitem(sys.modules, "ctranslate2", SimpleNamespace(__version__="3.24.0"))
    with pytest.raises(sotto.ArgumentError, match=r"ctranslate2 is 3\.24\.0: expected 4\.8; pip install"):
        CTranslate2()
