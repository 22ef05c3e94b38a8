"""The cases of the conformance suite: each loads a backend's model and looks at one part of the contract."""

from __future__ import annotations

import base64
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..engine import Engine
from ..errors import ModelLoadError, SottoError, Status
from ..event import Event

_MODEL = "model"
_MOST_S = 20.0  # for an answer
_TEXT = ("chat", "completion", "infill")
_IMAGE = (  # a red PNG of 2 x 2 pixels
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)
_DEFAULTS: dict[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "Hello there, keeper."}], "max_tokens": 16},
    "completion": {"prompt": "Once upon a time", "max_tokens": 16},
    "infill": {"input_prefix": "Once", "input_suffix": "time", "max_tokens": 16},
    "embed": {"input": ["one", "two words"]},
    "transcribe": {"input_audio": {"data": base64.b64encode(bytes(4 * 16_000)).decode(), "format": "f32"}},
    "translate": {"input": "Hello."},
    "rerank": {"query": "one", "documents": ["one", "two words"]},
    "image_generate": {"prompt": "a lantern", "steps": 2},
    "image_matte": {"image": _IMAGE},
}
_RESPONSES = {"transcribe": ("text",), "translate": ("text", "texts"), "rerank": ("results",)}
_IMAGES = ("image_generate", "image_matte")
_FILES = (b"\x89PNG", b"RIFF")  # how the files of images begin


class Failed(AssertionError):
    """Why a case failed."""


@dataclass(frozen=True)
class Target:
    """A backend, and what its models are opened from."""

    backend: str
    model: str = "-"
    modules: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)

    def dump(self) -> str:
        """As text, for another process."""
        return json.dumps(asdict(self))

    @staticmethod
    def load(text: str) -> Target:
        """From text."""
        return Target(**json.loads(text))

    def make(self) -> Any:
        """The backend itself, if it is one in Python."""
        module, _, name = self.backend.partition(":")
        sys.path.insert(0, str(Path.cwd()))
        if not name:
            raise Failed(f"backend '{self.backend}': expected MODULE:CLASS, or --modules with a name")
        return getattr(importlib.import_module(module), name)()


class Probe:
    """An engine with the backend and a loaded model."""

    def __init__(self, target: Target, backend: Any = None) -> None:
        self.target = target
        self.engine = Engine("cpu", module_dir=target.modules)
        if target.modules is None:
            backend = target.make() if backend is None else backend
            self.engine.add_backend(backend)
        self.name = target.backend if backend is None else backend.name
        self._said: dict[int, list[Event]] = {}

    def load(self, path: str | None = None) -> None:
        """Loads the model."""
        self.engine.load_model(
            _MODEL, path=path or self.target.model, backend=self.name, options=self.target.options or None
        )

    def operations(self) -> list[str]:
        """The operations that the model performs, asked one by one."""
        return [op for op in _DEFAULTS if self.finish(self.ask(op))[-1].status != Status.UNSUPPORTED]

    def ask(self, op: str, **fields: Any) -> int:
        """Submits a request with the default body of an operation."""
        return self.engine.submit(op, {"model": _MODEL, **_DEFAULTS[op], **self.target.body, **fields})  # type: ignore[arg-type]

    def drain(self) -> None:
        """Takes the events that are there."""
        for event in self.engine.events():
            self._said.setdefault(event.request, []).append(event)

    def until(self, holds: Callable[[], bool], what: str, seconds: float = _MOST_S) -> None:
        """Waits until something holds; fails the case if it never does."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise Failed(f"{what} did not happen within {seconds:g} s")
            self.engine.wait(0.05)
            self.drain()

    def events(self, request: int) -> list[Event]:
        """What a request told so far."""
        return self._said.get(request, [])

    def finish(self, request: int) -> list[Event]:
        """Waits for the end of a request, and returns its events."""
        self.until(
            lambda: bool(self.events(request)) and self.events(request)[-1].kind == "request_done",
            f"the end of request {request}",
        )
        return self.events(request)

    def answer(self, op: str, **fields: Any) -> list[Event]:
        """The events of a request that must succeed."""
        events = self.finish(self.ask(op, **fields))
        if events[-1].status < 0:
            raise Failed(f"{op} failed with {events[-1].status!r}: {events[-1].error}")
        return events


@contextmanager
def loaded(target: Target) -> Iterator[Probe]:
    """A probe with a loaded model, closed at the end."""
    probe = Probe(target)
    try:
        probe.load()
        yield probe
    except SottoError as error:
        raise Failed(str(error)) from None
    finally:
        probe.engine.close()


def said(events: list[Event]) -> str:
    """The text of an answer."""
    return "".join(event.text for event in events if event.kind == "text")


def case_load(target: Target) -> None:
    """A model loads, says what it does, and what it takes."""
    with loaded(target) as probe:
        if not probe.operations():
            raise Failed("the model performs no operation")
        used = probe.engine.memory()["used"]
        if used <= 0:
            raise Failed("the model says that it takes no memory: set weights or compute of its info")


def case_answer(target: Target) -> None:
    """Each operation answers, with text or with a response."""
    with loaded(target) as probe:
        for op in probe.operations():
            events = probe.answer(op)
            response = json.loads(events[-1].json)
            if op in _TEXT and not said(events).strip():
                raise Failed(f"{op} answered without text")
            if op == "embed" and len(response.get("data", ())) != 2:
                raise Failed(f"embed returned {len(response.get('data', ()))} vectors in `data` for 2 texts")
            for name in _RESPONSES.get(op, ()):
                if name not in response:
                    raise Failed(f"{op} returned a response without `{name}`")
            if op in _IMAGES:
                _check_image(op, response)


def _check_image(op: str, response: dict[str, Any]) -> None:
    """Fails the case unless a response has one image."""
    images = response.get("data", ())
    if len(images) != 1 or not base64.b64decode(images[0].get("b64_json", "")).startswith(_FILES):
        raise Failed(f"{op} returned a response without one image in `data`, a PNG or WebP in `b64_json`")
    if op == "image_generate" and not isinstance(images[0].get("seed"), int):
        raise Failed(f"{op} returned an image without its `seed`")


def case_limit(target: Target) -> None:
    """max_tokens ends an answer."""
    with loaded(target) as probe:
        for op in set(probe.operations()) & set(_TEXT):
            events = probe.answer(op, max_tokens=1)
            if events[-1].tokens > 1:
                raise Failed(f"{op} generated {events[-1].tokens} tokens of 1")


def case_cancel(target: Target) -> None:
    """A cancelled request ends soon, and the next one is answered."""
    with loaded(target) as probe:
        for op in probe.operations():
            for _ in range(5):
                request = probe.ask(op)
                probe.until(lambda one=request: bool(probe.events(one)), "the start of a request")  # type: ignore[misc]
                began = time.monotonic()
                probe.engine.cancel(request)
                probe.finish(request)
                if (took := time.monotonic() - began) > 1:
                    raise Failed(f"{op} ended {took:.1f} s after it was cancelled")
            probe.answer(op)


def case_together(target: Target) -> None:
    """Eight requests at once are all answered."""
    with loaded(target) as probe:
        for op in probe.operations():
            for request in [probe.ask(op) for _ in range(8)]:
                if (last := probe.finish(request)[-1]).status < 0:
                    raise Failed(f"one of eight {op} requests failed: {last.error}")


def case_text(target: Target) -> None:
    """Odd input is answered, or refused with a reason."""
    odd = ("", " ", "\x00\x01", "🐉🔥" * 8, "שלום مرحبا", "word " * 10_000, "\ufeff\u202e", "{}[]<|im_end|>")
    with loaded(target) as probe:
        for op in set(probe.operations()) - {"transcribe", "image_matte"}:
            for text in odd:
                odd_fields: dict[str, dict[str, Any]] = {
                    "chat": {"messages": [{"role": "user", "content": text}]},
                    "completion": {"prompt": text},
                    "infill": {"input_prefix": text},
                    "image_generate": {"prompt": text},
                }
                last = probe.finish(probe.ask(op, **odd_fields.get(op, {"input": text})))[-1]
                if last.status < 0 and not last.error.strip():
                    raise Failed(f"{op} refused {text!r:.20} without a reason")
                if "broke its contract" in last.error:
                    raise Failed(last.error)
            probe.answer(op)


def case_unload(target: Target) -> None:
    """A model can be unloaded and loaded again, also amid an answer; its memory comes back."""
    with loaded(target) as probe:
        op = probe.operations()[0]
        for _ in range(5):
            request = probe.ask(op)
            probe.engine.unload_model(_MODEL)
            probe.finish(request)
            if used := probe.engine.memory()["used"]:
                raise Failed(f"{used:,} bytes are in use although the model was unloaded")
            probe.load()
        probe.answer(op)


def case_leak(target: Target) -> None:
    """The process does not grow with requests."""
    with loaded(target) as probe:
        op = probe.operations()[0]

        def grown(count: int) -> int:
            before = probe.engine.memory()["system"]
            for _ in range(count):
                probe.answer(op)
                probe._said.clear()
            after = probe.engine.memory()["system"]
            return after["process"] - before["process"] if before and after else 0

        grown(30)
        if (bytes_ := min(grown(60), grown(60))) > (8 << 20):
            raise Failed(f"the process grew by {bytes_:,} bytes in 60 answers")


def case_close(target: Target) -> None:
    """The engine can be closed amid answers, at once."""
    for wait in (0.0, 0.01, 0.1):
        probe = Probe(target)
        probe.load()
        for op in probe.operations():
            for _ in range(3):
                probe.ask(op)
        time.sleep(wait)
        began = time.monotonic()
        probe.engine.close()
        if (took := time.monotonic() - began) > 5:
            raise Failed(f"closing the engine took {took:.1f} s")


def case_engines(target: Target) -> None:
    """Two engines use one backend at the same time."""
    backend = None if target.modules else target.make()
    probes = [Probe(target, backend) for _ in range(2)]
    try:
        for probe in probes:
            probe.load()
        op = probes[0].operations()[0]
        asked = [(probe, probe.ask(op)) for _ in range(4) for probe in probes]
        for probe, request in asked:
            if (last := probe.finish(request)[-1]).status < 0:
                raise Failed(f"{op} failed in one of two engines: {last.error}")
        probes[0].engine.close()
        probes[1].answer(op)
    except SottoError as error:
        raise Failed(str(error)) from None
    finally:
        for probe in probes:
            probe.engine.close()


def case_missing(target: Target) -> None:
    """A model that does not exist is refused with a reason, if the backend reads files."""
    if target.model == "-":
        return
    probe = Probe(target)
    try:
        probe.load("/no/such/model")
    except ModelLoadError as error:
        if "no reason given" in str(error) or not str(error).strip():
            raise Failed("it refused a path that does not exist without a reason") from None
    except SottoError as error:
        raise Failed(f"it refused a path that does not exist with {type(error).__name__}: {error}") from None
    else:
        raise Failed("it opened /no/such/model")
    finally:
        probe.engine.close()


CASES: dict[str, Callable[[Target], None]] = {
    name.removeprefix("case_"): function
    for name, function in list(globals().items())
    if name.startswith("case_")
}
