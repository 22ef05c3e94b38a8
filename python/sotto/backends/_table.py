"""The function table of `sotto/module.h` over a `Backend`. Functions are static; `self` finds the objects."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Generator
from functools import cache
from typing import Any

from .._call import as_handle, blob, callback, of_handle, struct, text, utf8
from .._handle import Handle, inside
from .._lib import lib
from .._values import invalid, wrong_type
from ..errors import ArgumentError, SottoError, Status
from .base import OPERATIONS, WITH_DATA, Backend, Cancelled, Model, ModelInfo, Part, Request, Source

_LOG = logging.getLogger("sotto.backends")
_live: set[Table] = set()  # that engines may call
_said = threading.local()  # reasons, valid until the next call on the same thread
_BITS = {name: getattr(lib, f"SOTTO_OPERATION_{name.upper()}") for name in OPERATIONS}
_NAMES = {getattr(lib, f"SOTTO_OP_{name.upper()}"): name for name in OPERATIONS}
_MOST = {"weights": 1 << 62, "compute": 1 << 62, "host": 1 << 62, "streams": 1 << 16, "context": 1 << 31}
_WHOLE_PROMPTS = 1 << 16  # prompt tokens of a step: a model with begin() gets whole prompts
_FINISHES = {None: lib.SOTTO_FINISH_STOP, "stop": lib.SOTTO_FINISH_STOP, "length": lib.SOTTO_FINISH_LENGTH}


class Table:
    """A backend as one engine calls it."""

    def __init__(self, backend: Backend, engine: Any) -> None:
        self.backend = backend
        self.engine = engine  # the native one
        self.models: set[Opened] = set()
        self.handle = as_handle(self)
        self.desc = struct("sotto_backend", name=backend.name, self=self.handle, **_functions())
        _live.add(self)

    def forget(self) -> None:
        """Ends: no engine calls it any longer."""
        _live.discard(self)
        self.desc = None  # which keeps the handle, and so this, alive


def add(handle: Handle, backend: object) -> None:
    """Adds a backend to an engine."""
    if not isinstance(backend, Backend):
        raise wrong_type("backend", backend, "an instance of a subclass of sotto.backends.Backend")
    if not isinstance(backend.name, str) or not backend.name:
        raise ArgumentError(invalid("backend.name", backend.name, "a str that is not empty"))
    table = Table(backend, handle.pointer)
    try:
        handle.call(lib.sotto_engine_add_backend, table.desc)
    except Exception:  # not on Ctrl-C: the engine may have taken it
        table.forget()
        raise


class Opened:
    """An open model, with the texts that the engine may still read."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.streams: set[Stream] = set()
        self.held: list[Any] = []
        self.handle = as_handle(self)


class Stream:
    """One request while it is answered: the generator, and what its last step said."""

    def __init__(self, model: Model, request: Request) -> None:
        self.request = request
        self.units = units_of(model, request)
        self.cached = max(0, min(int(request.cached), self.units - 1))
        self.left = self.units - self.cached
        self.held: list[Any] = []
        self.handle = as_handle(self)
        self.answer: Any = _generator(model, request)
        self.begun = False

    def step(self, item: Any, ends: Callable[[], bool], ahead: bool) -> None:
        """Takes the next value of the generator into a `sotto_step_item`."""
        self.held.clear()
        self.request._ends, self.request._ahead = ends, ahead
        try:
            part = next(self.answer)
        except StopIteration as end:
            if not (end.value is None and ends()):  # it returned because it was cancelled
                self._finish(item, end.value)
        else:
            self._say(item, part)
        finally:
            self.request._ends = None

    def _hold(self, name: str, value: str | bytes) -> Any:
        if isinstance(value, str):
            try:
                value = value.encode()
            except UnicodeEncodeError as error:
                raise ValueError(
                    f"{self.request.op}() gave text that is no Unicode: {error.reason}"
                ) from None
        view = utf8(name, value)
        self.held.append(view)
        return view[0]

    def _work(self, item: Any, units: int) -> None:
        item.evaluated = min(units, self.left)
        self.left -= item.evaluated
        item.remaining = self.left

    def _say(self, item: Any, part: object) -> None:
        is_token = isinstance(part, str) or (isinstance(part, Part) and bool(part.text))
        if isinstance(part, str):
            part = Part(part)
        if not isinstance(part, Part) or not isinstance(part.text, str):
            raise TypeError(f"{self.request.op}() yielded {part!r:.80}: expected a str or a Part")
        if is_token and self.request.op not in WITH_DATA:
            self._work(item, self.left)  # the prompt is evaluated
        else:
            self._work(item, max(0, min(part.units, self.left - 1)))  # the last unit ends the prompt, or all
        if part.text:
            item.text = self._hold("text", part.text)
        item.generated = int(bool(part.text) if self.request.op in WITH_DATA else is_token)
        if part.data:
            item.data = self._hold("data", bytes(part.data))
            item.data_info = self._hold("info", json.dumps(dict(part.info or {}), allow_nan=False))

    def _finish(self, item: Any, value: object) -> None:
        self._work(item, self.left)
        if self.request.op in WITH_DATA:
            if not isinstance(value, dict):
                raise TypeError(f"{self.request.op}() returned {value!r:.80}: expected a dict, the response")
            item.result = self._hold("result", json.dumps(value, ensure_ascii=False, allow_nan=False))
            item.finish = lib.SOTTO_FINISH_STOP
        elif isinstance(value, str | None) and value in _FINISHES:
            item.finish = _FINISHES[value]
        else:
            raise ValueError(f'{self.request.op}() returned {value!r:.80}: expected None, "stop" or "length"')


def units_of(model: Model, request: Request) -> int:
    """Returns what `Model.units()` says, checked."""
    units = model.units(request)
    if not isinstance(units, int) or not 1 <= units < 1 << 31:
        raise ValueError(f"units() returned {units!r:.80}: expected a whole number from 1 on")
    return units


def _generator(model: Model, request: Request) -> Generator[Any, None, Any]:
    made = getattr(model, request.op)(request)
    if not hasattr(made, "__next__"):
        raise TypeError(f"{request.op}() returned {made!r:.80}: expected a generator; use yield")
    return made  # type: ignore[no-any-return]


def status_of(error: BaseException) -> int:
    """Returns the status that an exception of a backend becomes."""
    if isinstance(error, Cancelled):
        return int(Status.CANCELLED)
    if isinstance(error, SottoError) and error.status is not None and error.status < 0:
        cancelled = error.status == Status.CANCELLED  # of a request of its own
        return int(Status.INFERENCE if cancelled else error.status)
    if isinstance(error, MemoryError):
        return int(Status.MEMORY)
    if isinstance(error, NotImplementedError):
        return int(Status.UNSUPPORTED)
    return int(Status.INFERENCE)


def _reason(error: BaseException) -> Any:
    said = " ".join(str(error).split()) or "no reason given"
    named = said if isinstance(error, SottoError) else f"{type(error).__name__}: {said}"
    return utf8("reason", named.encode(errors="replace"))


def _guarded(default: int) -> Callable[[Callable[..., int | None]], Callable[..., int]]:
    """Turns exceptions into a status and a reason, the last argument; logs the traceback."""

    def wrap(function: Callable[..., int | None]) -> Callable[..., int]:
        def call(*args: Any) -> int:
            try:
                with inside(of_handle(args[0]).engine):
                    return function(*args) or 0
            except BaseException as error:  # nothing may unwind into the engine
                if not isinstance(error, SottoError):
                    _LOG.exception("a backend raised in %s()", function.__name__.removeprefix("_"))
                _said.reason = _reason(error)
                args[-1][0] = _said.reason[0]
                status = status_of(error)
                return default if status == Status.INFERENCE and default else status

        return call

    return wrap


def _source(desc: Any, *, reports: bool) -> Source:
    options = text(desc.options)
    report, context = desc.progress, desc.context
    return Source(
        path=text(desc.path),
        options=json.loads(options) if options else {},
        device=text(desc.device),
        report=(lambda done: bool(report(context, done))) if reports else None,
    )


def _describe(held: list[Any], found: object, operations: tuple[str, ...], info: Any) -> None:
    if not isinstance(found, ModelInfo):
        raise TypeError(f"the model's info is {found!r:.80}: expected a ModelInfo")
    for name, most in _MOST.items():
        value = getattr(found, name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < most:
            raise ValueError(f"ModelInfo.{name} is {value!r:.40}: expected a whole number from 0 on")
    info.weights, info.compute, info.host = found.weights, found.compute, found.host
    info.streams, info.context = found.streams, found.context
    info.operations = sum(_BITS[name] for name in operations)
    if found.description:
        held.append(utf8("description", json.dumps(dict(found.description))))
        info.description = held[-1][0]


@_guarded(lib.SOTTO_ERROR_MODEL)
def _open(self: Any, source: Any, model: Any, info: Any, reason: Any) -> None:
    table: Table = of_handle(self)
    given = _source(source, reports=True)
    try:
        made = table.backend.open(given)
    finally:
        given._report = None  # the engine's callback is gone
    if not isinstance(made, Model):
        raise TypeError(f"open() returned {made!r:.80}: expected a Model")
    if not made.operations():
        raise TypeError(
            f"{type(made).__name__} implements no operation: expected one of {', '.join(OPERATIONS)}"
        )
    opened = Opened(made)
    try:
        _describe(opened.held, made.info, made.operations(), info)
        if type(made).begin is not Model.begin:
            info.capabilities = lib.SOTTO_CAPABILITY_BATCHABLE
            info.min_step_tokens = _WHOLE_PROMPTS
    except BaseException:
        _quietly("close", made.close)
        raise
    table.models.add(opened)
    model[0] = opened.handle


@_guarded(lib.SOTTO_ERROR_MODEL)
def _measure(self: Any, source: Any, info: Any, reason: Any) -> None:
    table: Table = of_handle(self)
    found = table.backend.measure(_source(source, reports=False))
    if found is not None:
        _said.description = []
        _describe(_said.description, found, (), info)


def _close(self: Any, model: Any) -> None:
    table: Table = of_handle(self)
    opened: Opened = of_handle(model)
    table.models.discard(opened)
    with inside(table.engine):
        _quietly("close", opened.model.close)
    opened.handle = None  # or it would keep itself alive


@_guarded(lib.SOTTO_ERROR_INFERENCE)
def _stream_open(self: Any, model: Any, desc: Any, stream: Any, info: Any, reason: Any) -> None:
    opened: Opened = of_handle(model)
    op = _NAMES.get(desc.op)
    if op is None:
        raise SottoError("this backend renders no template and has no tokenizer", Status.UNSUPPORTED)
    made = Stream(opened.model, Request(op, blob(desc.body).decode(), desc.index))
    info.prompt_tokens, info.cached_tokens = made.units, made.cached
    info.dropped = max(0, int(made.request.dropped))
    opened.streams.add(made)
    stream[0] = made.handle


def _stream_close(self: Any, model: Any, stream: Any) -> None:
    opened: Opened = of_handle(model)
    made: Stream = of_handle(stream)
    opened.streams.discard(made)
    close = getattr(made.answer, "close", None)
    if close is not None:
        with inside(of_handle(self).engine):
            _quietly(made.request.op, close)
    made.request.clear()
    made.held.clear()
    made.answer = made.handle = None  # or it would keep itself alive


@_guarded(lib.SOTTO_ERROR_INFERENCE)
def _step(self: Any, model: Any, step: Any, reason: Any) -> int:
    gate, context, thread = step.gate, step.context, threading.get_ident()
    ahead = bool(step.flags & lib.SOTTO_STEP_COMPUTE_AHEAD)

    def ends() -> bool:
        return threading.get_ident() == thread and bool(gate(context))

    streams: list[Stream] = [of_handle(step.items[at].stream) for at in range(step.count)]
    _begin(of_handle(model), [stream for stream in streams if not stream.begun])
    for at, stream in enumerate(streams):
        item = step.items[at]
        try:
            stream.step(item, ends, ahead)
        except Exception as error:
            _LOG.exception("a backend raised in %s()", stream.request.op)
            item.status = status_of(error)
            stream.held.append(_reason(error))
            item.reason = stream.held[-1][0]
    return int(lib.SOTTO_OK)


def _begin(opened: Opened, streams: list[Stream]) -> None:
    """Calls `Model.begin()` with the requests that begin. If it raises, they fail in this step."""
    for stream in streams:
        stream.begun = True
    try:
        if streams:
            opened.model.begin([stream.request for stream in streams])
    except Exception as error:
        for stream in streams:
            stream.answer = _raising(error)


def _raising(error: Exception) -> Generator[Any, None, Any]:
    raise error
    yield


def _release(self: Any) -> None:
    table: Table = of_handle(self)
    table.forget()


def _quietly(what: str, function: Callable[[], object]) -> None:
    try:
        function()
    except Exception:
        _LOG.exception("a backend raised while %s() was closed", what)


@cache
def _functions() -> dict[str, Any]:
    """The callbacks, made once: they live as long as the process."""
    failed = lib.SOTTO_ERROR_INTERNAL
    return {
        "open": callback("sotto_backend_open_fn", _open, failed),
        "measure": callback("sotto_backend_measure_fn", _measure, failed),
        "close": callback("sotto_backend_close_fn", _close),
        "stream_open": callback("sotto_stream_open_fn", _stream_open, failed),
        "stream_close": callback("sotto_stream_close_fn", _stream_close),
        "step": callback("sotto_step_fn", _step, failed),
        "release": callback("sotto_backend_release_fn", _release),
    }
