"""`sotto.Engine` for asyncio, with awaitable methods. One thread per engine posts events to the loop."""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import engine as blocking
from ._aio import Request as Request
from ._aio import closed, pump
from ._aio_parts import Parts
from ._aio_route import Route as Route
from ._aio_session import Session as Session
from ._aio_streams import DeltaStream, TokenStream
from ._asking import Progress, naming
from ._desc import Json, StrPath, megabytes, model_desc
from ._handle import Unique
from ._lib import lib
from ._ops import Op
from ._typing import Unpack
from ._values import truth
from .adapters import Lora
from .backend import AddsBackends
from .completion import Completion, read_completion
from .errors import InferenceError, ModelLoadError, SottoError, Status
from .event import Event
from .frame import Frames
from .guard import Guardrails
from .memory import Memory, Plan, read_plan
from .messages import MessagesInput, PromptInput
from .mode import Mode
from .session import open_body, sizes_of
from .settings import Settings
from .terms import RequestOptions

for _public in (DeltaStream, Request, Route, Session, TokenStream):
    _public.__module__ = __name__


class Engine(Parts, AddsBackends, Frames, Settings, Unique):
    """`sotto.Engine` for asyncio. Belongs to the event loop that runs when it is created.

    Cancelling a task cancels the request that it awaits. Call all methods on the loop's thread; requests on
    another loop raise `RuntimeError`. Arguments and errors are those of `sotto.Engine`.

    >>> async with sotto.aio.Engine() as engine:
    ...     await engine.load_model("sotto/house")
    ...     print((await engine.chat("Hello!", max_tokens=40)).text)
    """

    def __init__(
        self,
        device: str = "auto",
        *,
        backends: Iterable[str] | None = None,
        mode: Mode = "balance",
        target_tps: float = 0,
        vram_budget_mb: int = 0,
        module_dir: StrPath | None = None,
        threads: int = 0,
        trace_capacity: int = 0,
        deterministic: bool = False,
        gates: bool = False,
        max_requests: int = 0,
        record_path: StrPath | None = None,
        kv_spill_dir: StrPath | None = None,
        kv_spill_memory_mb: int = 0,
        store_dir: StrPath | None = None,
        guardrails: Guardrails | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._engine = blocking.Engine(
            device,
            backends=backends,
            mode=mode,
            target_tps=target_tps,
            vram_budget_mb=vram_budget_mb,
            module_dir=module_dir,
            threads=threads,
            trace_capacity=trace_capacity,
            deterministic=deterministic,
            gates=gates,
            max_requests=max_requests,
            record_path=record_path,
            kv_spill_dir=kv_spill_dir,
            kv_spill_memory_mb=kv_spill_memory_mb,
            store_dir=store_dir,
            guardrails=guardrails,
        )
        self._handle = self._engine._handle
        self._guard = self._engine._guard
        self._numbers = itertools.count(1)
        self._asked: dict[int, Request] = {}
        deliver = weakref.WeakMethod(self._deliver)  # weak: the thread does not keep the engine alive
        self._pump = threading.Thread(
            target=pump, args=(self._handle.pointer, self._loop, deliver), name="sotto-aio", daemon=True
        )
        self._pump.start()

    def __repr__(self) -> str:
        return repr(self._engine).replace("sotto.Engine", "sotto.aio.Engine", 1)

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancels live requests, unloads all models and frees all memory. A second call does nothing."""
        await asyncio.to_thread(self._end)
        for request in list(self._asked.values()):
            request.hear(closed(request.number))

    def _end(self) -> None:
        self._handle.close()
        self._engine._close_stores()
        self._pump.join()

    # Models

    async def load_model(
        self,
        model_id: StrPath,
        *,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Loads a model, as `sotto.Engine.load_model()` does. `progress` is called on the loop's thread."""
        self._handle.require()
        name, where = await self._find(model_id, path, progress)
        backend, options = self._engine._names.settings(name, backend, options)
        number = next(self._numbers)
        desc = model_desc(name, where, backend, options, user=number)
        with naming(name, where):
            loading = self._request(number, ModelLoadError, lib.sotto_engine_load_model, desc)
            await loading.finish(None if progress is None else lambda done: progress("load", done))
        if path is None:
            await asyncio.to_thread(self._engine._adapt, name)

    async def plan_model(
        self,
        model_id: StrPath,
        *,
        budget_mb: int = 0,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
    ) -> Plan:
        """Computes the memory needs of a model without loading it, as `sotto.Engine.plan_model()` does."""
        self._handle.require()
        number, budget = next(self._numbers), megabytes("budget_mb", budget_mb)
        name, where = await asyncio.to_thread(self._engine._here, model_id, path)
        backend, options = self._engine._names.settings(name, backend, options)
        desc = model_desc(name, where, backend, options, user=number)
        with naming(name, where):
            plan = self._request(number, ModelLoadError, lib.sotto_engine_plan_model, desc, budget)
            return read_plan((await plan.finish()).json)

    async def unload_model(self, model_id: StrPath) -> None:
        """Unloads a model and waits until its memory is freed. Requests that still run on it fail."""
        await asyncio.to_thread(self._engine.unload_model, model_id)

    def model_list(self) -> str:
        """Returns the loaded models as a JSON array of OpenAI model objects."""
        return self._engine.model_list()

    def model_is_loaded(self, model_id: StrPath) -> bool:
        """Returns True if the model is loaded."""
        return self._engine.model_is_loaded(model_id)

    # Requests

    async def llm_chat_completion(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers an OpenAI chat completion request and returns the chat completion as JSON."""
        return (await self._ask("chat", request_json, terms).finish()).json

    def llm_chat_completion_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Answers an OpenAI chat completion request; returns a stream of chunks."""
        return TokenStream(self._ask("chat", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    async def llm_text_completion(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Continues the raw prompt of an OpenAI text completion request, without a chat template."""
        return (await self._ask("completion", request_json, terms).finish()).json

    def llm_text_completion_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Continues the raw prompt of a text completion request; returns a stream of chunks."""
        return TokenStream(self._ask("completion", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    async def llm_infill(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Generates the text between `input_prefix` and `input_suffix`. Needs a model trained for infill."""
        return (await self._ask("infill", request_json, terms).finish()).json

    async def chat(self, messages: MessagesInput, *, model: str | None = None, **fields: Any) -> Completion:
        """Answers messages and returns the whole answer, as `sotto.Engine.chat()` does."""
        body, options = self._engine._chat_body(messages, model, fields)
        return read_completion((await self._ask("chat", body, options).finish()).json)

    def stream(self, messages: MessagesInput, *, model: str | None = None, **fields: Any) -> DeltaStream:
        """Answers messages, part by part, as `sotto.Engine.stream()` does."""
        body, options = self._engine._chat_body(messages, model, fields)
        return DeltaStream(TokenStream(self._ask("chat", body, options, lib.SOTTO_REQUEST_CHUNKS)))

    async def complete(self, prompt: PromptInput, *, model: str | None = None, **fields: Any) -> Completion:
        """Continues a text, as `sotto.Engine.complete()` does."""
        body, options = self._engine._text_body(prompt, model, fields)
        return read_completion((await self._ask("completion", body, options).finish()).json)

    async def tokenize(self, request_json: Json) -> str:
        """Returns the tokens of `content`, as `sotto.Engine.tokenize()` does."""
        return (await self._ask("tokenize", request_json, {}).finish()).json

    async def detokenize(self, request_json: Json) -> str:
        """Returns the text of `tokens`: `{"content": "..."}`."""
        return (await self._ask("detokenize", request_json, {}).finish()).json

    async def apply_template(self, request_json: Json) -> str:
        """Returns the prompt of `messages`: `{"prompt": "..."}`."""
        return (await self._ask("apply_template", request_json, {}).finish()).json

    async def save_state(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Prefills `messages` or `prompt` and saves the KV cache, as `sotto.Engine.save_state()` does."""
        return (await self._ask("save_state", request_json, terms).finish()).json

    async def restore_state(self, request_json: Json) -> str:
        """Loads a saved KV cache, as `sotto.Engine.restore_state()` does."""
        return (await self._ask("restore_state", request_json, {}).finish()).json

    async def session(
        self,
        session_id: str | None = None,
        messages: MessagesInput = None,
        *,
        model: str | None = None,
        pinned: bool = False,
        lora: Sequence[Lora] | None = None,
    ) -> Session:
        """Opens a session, as `sotto.Engine.session()` does."""
        body = open_body(session_id, messages, self._engine._resolve(model), pinned, lora)
        return Session(self, await self._open(body))

    async def sessions(self) -> dict[str, int]:
        """Returns the ids of the open sessions, each with its number of messages."""
        return sizes_of((await self._ask("read_session", {}, {}).finish()).json)

    def submit(
        self, op: Op, request: Json, *, chunks: bool = False, **terms: Unpack[RequestOptions]
    ) -> Request:
        """Submits a request of any operation. Never waits; the `Request` has the events and the response.

        Args:
            op: Operation: "chat", "completion", "infill", "tokenize", ...
            request: The request's JSON object.
            chunks: Events carry OpenAI chunks in `json`.
            **terms: See `RequestOptions`.

        Raises:
            ArgumentError: An argument is invalid. Errors of the request itself come with its events.

        >>> request = engine.submit("tokenize", {"model": "sotto/house", "content": "Hello!"})
        >>> tokens = json.loads((await request.finish()).json)["tokens"]
        """
        flags = lib.SOTTO_REQUEST_CHUNKS if truth("chunks", chunks) else 0
        return self._ask(op, request, terms, flags)

    # Settings

    def memory(self) -> Memory:
        """Returns memory use by purpose and by model, and spilled KV caches. Never waits for a model."""
        return self._engine.memory()

    async def describe(self) -> dict[str, Any]:
        """Returns versions, device, processor, backends, and skipped modules with the reason."""
        return await asyncio.to_thread(self._engine.describe)

    # Internal

    def _ask(self, op: str, request: Json, on: RequestOptions, flags: int = 0) -> Request:
        number = next(self._numbers)
        desc = self._engine._request_desc(op, request, flags, on, user=number, name="request_json")
        return self._request(number, InferenceError, lib.sotto_engine_submit, desc)

    async def _open(self, body: Mapping[str, Any]) -> str:
        """Opens a session and returns its id. Closes the session again if the task is cancelled."""
        opening = self._ask("open_session", body, {})
        try:
            await opening.end()
        except asyncio.CancelledError:
            opening.undo(lambda: self._ask("close_session", {"session": body["session"]}, {}))
            raise
        return str(body["session"])

    def _request(
        self, number: int, error: type[SottoError], submit: Callable[..., int], *args: Any
    ) -> Request:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(
                "this engine belongs to another event loop: call the engine on the loop that created it"
            )
        request = Request(number, self, error)
        self._handle.call(submit, *args, request.name)
        self._asked[number] = request  # in time: events are delivered on this thread
        return request

    def _forget(self, request: Request) -> bool:
        return self._asked.pop(request.number, None) is not None

    async def _find(
        self, model_id: StrPath, path: StrPath | None, progress: Progress | None
    ) -> tuple[str, str]:
        cancelled = False

        def hear(what: str, done: float) -> None:
            if cancelled:
                raise SottoError("loading was cancelled", Status.CANCELLED)
            if progress is not None:
                self._loop.call_soon_threadsafe(progress, what, done)

        try:
            return await asyncio.to_thread(self._engine._find, model_id, path, hear)
        except asyncio.CancelledError:
            cancelled = True  # the download stops at its next progress callback
            raise

    def _deliver(self, events: list[Event]) -> None:
        for event in events:
            if request := self._asked.get(event.user):
                request.hear(event)
