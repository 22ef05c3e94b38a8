"""`sotto.Engine` for asyncio, with awaitable methods. One thread per engine posts events to the loop."""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from . import engine as blocking
from ._aio import Request as Request
from ._aio import closed, pump
from ._aio_models import Loads
from ._aio_parts import Parts
from ._aio_route import Attempt, Heard, relay_chunks
from ._aio_sessions import OpensSessions, StoredSession, TokenSession
from ._aio_streams import DeltaStream, TokenStream
from ._desc import Json, StrPath
from ._handle import Unique
from ._lib import lib
from ._ops import Op
from ._routing import Policy, content_of
from ._routing import Settings as Routes
from ._typing import Unpack
from ._values import truth
from .adapters import Lora
from .backend import AddsBackends
from .completion import Completion, read_completion
from .errors import InferenceError, SottoError
from .event import Event
from .frame import Frames
from .guard import Guardrails
from .memory import Memory
from .messages import MessagesInput, PromptInput
from .mode import Mode
from .session import (
    fork_body,
    messages_of,
    open_body,
    rewind_body,
    system_body,
    text_of,
    turn_body,
)
from .settings import Settings
from .terms import RequestOptions

for _public in (DeltaStream, Request, TokenSession, TokenStream):
    _public.__module__ = __name__


class Engine(Loads, Parts, OpensSessions, AddsBackends, Frames, Settings, Unique):
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

    async def session(
        self,
        session_id: str | None = None,
        messages: MessagesInput = None,
        *,
        model: str | None = None,
        pinned: bool = False,
        lora: Sequence[Lora] | None = None,
        state: bytes | None = None,
    ) -> Session:
        """Opens a session, as `sotto.Engine.session()` does."""
        model = self._engine._resolve(model)
        body = open_body(session_id, messages, model, pinned, lora)
        await self._warm(model, state)
        return Session(self, await self._open(body))

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

    def _deliver(self, events: list[Event]) -> None:
        for event in events:
            if request := self._asked.get(event.user):
                request.hear(event)


class Session(StoredSession):
    """`sotto.Session` for asyncio.

    >>> async with await engine.session("mara", "You are Mara.", model="sotto/house") as mara:
    ...     print(await mara.say("Is there a room?"))
    """

    _engine: Engine

    def chat(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> TokenStream:
        """Appends a turn and streams the answer, as `sotto.Session.chat()` does."""
        return self._engine.llm_chat_completion_stream(turn_body(self.id, said, request), **terms)

    def stream(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> DeltaStream:
        """Appends a turn and streams the answer as `Delta` objects."""
        return DeltaStream(self.chat(said, request, **terms))

    async def say(
        self,
        said: MessagesInput = None,
        request: Mapping[str, Any] | None = None,
        **terms: Unpack[RequestOptions],
    ) -> str:
        """Waits for the whole answer and returns its text."""
        return text_of(await self._engine.llm_chat_completion(turn_body(self.id, said, request), **terms))

    async def set_system(self, text: str) -> None:
        """Sets the system message from the next turn on, as `sotto.Session.set_system()` does."""
        await self._engine._ask("change_session", system_body(self.id, text), {}).finish()

    async def fork(self, session_id: str | None = None, keep: int | None = None) -> Session:
        """Opens a session that starts as a copy of this one, as `sotto.Session.fork()` does."""
        return Session(self._engine, await self._engine._open(fork_body(self.id, session_id, keep)))

    async def rewind(self, turns: int = 1, *, keep: int | None = None) -> None:
        """Drops the last turns, as `sotto.Session.rewind()` does."""
        await self._engine._ask("edit_session", rewind_body(self.id, turns, keep), {}).finish()

    async def messages(self) -> list[dict[str, Any]]:
        """Returns all messages of the session, in the form that `Engine.session()` takes."""
        return messages_of((await self._engine._ask("read_session", {"session": self.id}, {}).finish()).json)


class Route:
    """`sotto.routing.Route` for asyncio, with the same policies, chunks and errors.

    >>> route = sotto.aio.Route(engine, "sotto/house", "studio::qwen3", policy="remote_first", patience=1.5)
    >>> print(await route.text({"messages": [{"role": "user", "content": "Good evening."}]}))
    """

    def __init__(
        self,
        engine: Engine,
        local: str,
        remote: str,
        *,
        policy: Policy = "local_first",
        patience: float = 0,
    ) -> None:
        self._engine = engine
        self._settings = Routes(local, remote, policy, patience)

    def stream(self, request: Json, **terms: Unpack[RequestOptions]) -> AsyncIterator[str]:
        """Yields the OpenAI chunks of an answer, as `sotto.routing.Route.stream()` does.

        Closing the iterator (`aclose()`), or cancelling the task that awaits it, cancels all requests.
        """
        heard: Heard = asyncio.Queue()

        def ask(body: dict[str, Any]) -> Attempt:
            return Attempt(body, self._engine.llm_chat_completion_stream(body, **terms), heard)

        return relay_chunks(self._settings.relay(request, terms, ask), heard)

    async def text(self, request: Json, **terms: Unpack[RequestOptions]) -> str:
        """Returns the content of an answer, as `stream()` yields it, once it is complete."""
        return "".join([content_of(chunk) async for chunk in self.stream(request, **terms)])
