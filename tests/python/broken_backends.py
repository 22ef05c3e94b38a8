"""Backends that break their contract, each in one way; the conformance suite must fail each for that."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from typing import Any

from sotto.backends import Backend, Model, ModelInfo, Part, Request, Source

_LEAKED: list[bytearray] = []


class Good(Model):
    """Says five words."""

    info = ModelInfo(weights=1 << 20, streams=2)

    def chat(self, request: Request) -> Iterator[str | Part]:
        yield from ("one", " two", " three", " four", " five")


class Sound(Backend):
    """Keeps its contract; the others change one thing."""

    name = "sound"

    def open(self, source: Source) -> Model:
        if source.path.startswith("/no/"):
            raise FileNotFoundError(f"no model at {source.path}")
        return Good()


class RaisesInOpen(Sound):
    def open(self, source: Source) -> Model:
        raise RuntimeError("the weights are on holiday")


class OpensNothing(Sound):
    def open(self, source: Source) -> Model:
        return {"weights": 3}  # type: ignore[return-value]


class DoesNothing(Sound):
    def open(self, source: Source) -> Model:
        return Model()


class NegativeMemory(Sound):
    def open(self, source: Source) -> Model:
        made = Good()
        made.info = ModelInfo(weights=-5)
        return made


class NoMemory(Sound):
    def open(self, source: Source) -> Model:
        made = Good()
        made.info = ModelInfo()
        return made


class RaisesInStep(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            yield "one"
            raise ZeroDivisionError("of all things")

    def open(self, source: Source) -> Model:
        return self.Talker()


class YieldsNumbers(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Iterator[Any]:
            yield 42

    def open(self, source: Source) -> Model:
        return self.Talker()


class ReturnsNoGenerator(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Any:
            return "hello"

    def open(self, source: Source) -> Model:
        return self.Talker()


class SaysNothing(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            return
            yield ""

    def open(self, source: Source) -> Model:
        return self.Talker()


class NeverReturns(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            yield "one"
            while True:
                time.sleep(0.1)

    def open(self, source: Source) -> Model:
        return self.Talker()


class Leaks(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            _LEAKED.append(bytearray(b"x" * (1 << 20)))
            yield from super().chat(request)

    def open(self, source: Source) -> Model:
        return self.Talker()


class Crashes(Sound):
    class Talker(Good):
        def chat(self, request: Request) -> Iterator[str | Part]:
            ctypes.string_at(0)
            yield "one"

    def open(self, source: Source) -> Model:
        return self.Talker()


class WrongResponse(Sound):
    class Listener(Model):
        info = ModelInfo(weights=1)

        def transcribe(self, request: Request) -> Any:
            yield "so"
            return "so it goes"

    def open(self, source: Source) -> Model:
        return self.Listener()


class OneVector(Sound):
    class Embedder(Model):
        info = ModelInfo(weights=1)

        def embed(self, request: Request) -> Any:
            yield Part(units=1)
            return {"data": [{"index": 0, "embedding": [1.0]}]}

    def open(self, source: Source) -> Model:
        return self.Embedder()


class OpensAnything(Sound):
    def open(self, source: Source) -> Model:
        return Good()
