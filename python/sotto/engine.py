"""The engine: models, requests, and what may be changed while it runs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from . import log
from ._asking import Progress, naming
from ._call import new, struct, utf8
from ._desc import MOST_U32, MOST_U64, Json, StrPath, engine_flags, megabytes, model_desc, path_text
from ._handle import SLICE_MS, Handle, Request
from ._lib import lib
from ._typing import Unpack
from ._values import choice, number, string, truth, whole
from .backend import BackendNames, UnknownBackend
from .completion import Completes
from .errors import ModelLoadError, SottoError
from .event import Event, read_event
from .gpu import SharesGpu, require_device
from .memory import Memory, Plan, read_memory, read_plan
from .messages import MessagesInput
from .mode import MODES
from .session import Session, open_body, sizes_of
from .stats import Stats, read_stats
from .stream import TokenStream
from .terms import RequestOptions
from .trace import Slice, read_trace


class Engine(Completes, SharesGpu):
    """Runs models inside this process, beside a game. Use it as a context manager, or `close()` it.

    Any thread may call anything. Calls that wait let other threads run. Those that ask for an answer take
    its `RequestOptions` by name: `target_tps`, `priority` and `deadline`.

    `deterministic`: an answer depends on its request alone, not on what else is asked for meanwhile; slower.
    `gates`: steps also wait inside while the game works on a frame and leaves no core free, not only where
    their threads cannot be made to yield to the game's. `max_requests` may be live at once; 0: 65,536.
    `record_path`: a file that records requests, reported frames and scheduling decisions. It holds the text
    of requests, and only its user may read it. The engine creates the file and raises `ArgumentError` if it
    exists, so that a restart keeps the recording of a crash. `sotto.replay()` repeats the decisions.

    `vram_budget_mb`: see `set_vram_budget_mb()`. If the budget is short, the engine parks some streams: it
    spills their KV cache to `kv_spill_memory_mb` of memory (0: 64), and beyond that to a file in
    `kv_spill_dir` (None: the system's temporary folder), which is gone with the engine. A KV cache that is
    lost is prefilled again.

    >>> with Engine() as engine:
    ...     engine.load_model("sotto/house")
    ...     response = engine.llm_chat_completion(request_json)
    """

    def __init__(
        self,
        device: str = "auto",
        *,
        backends: Iterable[str] | None = None,
        mode: str = "balance",
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
    ) -> None:
        self._names = BackendNames(backends)
        workers = struct("sotto_threads", compute_threads=whole("threads", threads, MOST_U32))
        desc = struct(
            "sotto_engine_desc",
            device=string("device", device),
            mode=choice("mode", mode, MODES),
            target_tps=number("target_tps", target_tps),
            vram_budget=megabytes("vram_budget_mb", vram_budget_mb),
            module_dir=path_text("module_dir", module_dir),
            threads=workers,
            trace_capacity=whole("trace_capacity", trace_capacity, MOST_U32),
            flags=engine_flags(deterministic, gates),
            max_requests=whole("max_requests", max_requests, MOST_U32),
            record_path=path_text("record_path", record_path),
            kv_spill_dir=path_text("kv_spill_dir", kv_spill_dir),
            kv_spill_memory=megabytes("kv_spill_memory_mb", kv_spill_memory_mb),
        )
        require_device(device, module_dir)
        self._device = device
        log.settle()
        self._handle = Handle(desc)
        self._taking = threading.Lock()  # one thread at a time may take the queue's events
        self._told = struct("sotto_event")  # guarded by _taking

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            stats, models = self.stats(), ", ".join(self._models()) or "none"
        except SottoError as error:
            return f"<sotto.Engine: {error}>"
        return f"<sotto.Engine on {self._device}, {stats.mode}, {stats.live} live requests, models: {models}>"

    def close(self) -> None:
        """Cancels what runs, unloads every model, frees everything. A second call does nothing."""
        self._handle.close()

    # Models

    def load_model(
        self,
        model_id: StrPath,
        *,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Loads a model and waits until it answers. Does nothing if it does already.

        `model_id` is "sotto/house", a GGUF file's path, or a Hugging Face id: `org/name`,
        `org/name:QUANT` or `org/name/file.gguf`, downloaded unless it is in the cache. With `path`, it is
        any name. `progress` hears of "download" and "load".
        """
        self._handle.require()
        name, where = self._find(model_id, path, progress)
        desc = model_desc(name, where, backend, options, flags=lib.SOTTO_REQUEST_PRIVATE)
        with naming(name, where):
            loading = Request(self._handle, ModelLoadError, lib.sotto_engine_load_model, desc)
            loading.finish(None if progress is None else lambda done: progress("load", done))

    def plan_model(
        self,
        model_id: StrPath,
        *,
        budget_mb: int = 0,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
    ) -> Plan:
        """Finds out what a model would take, and how it would fit, without loading or downloading it.

        The rest as in `load_model()`. `budget_mb`: what it may take, alone; 0: what the engine has left.
        """
        self._handle.require()
        budget = megabytes("budget_mb", budget_mb)
        name, where = self._here(model_id, path)
        desc = model_desc(name, where, backend, options, flags=lib.SOTTO_REQUEST_PRIVATE)
        with naming(name, where):
            plan = Request(self._handle, ModelLoadError, lib.sotto_engine_plan_model, desc, budget)
            return read_plan(plan.finish().json)

    def unload_model(self, model_id: StrPath) -> None:
        """Frees a model, and waits for that. Requests that still run on it fail."""
        name = utf8("model_id", self._model_id(model_id))
        unload, private = lib.sotto_engine_unload_model, lib.SOTTO_REQUEST_PRIVATE
        Request(self._handle, ModelLoadError, unload, name[0], private).finish()

    def model_list(self) -> str:
        """The models that answer: a JSON array of OpenAI model objects."""
        return self._json(lib.sotto_engine_list_models)

    def model_is_loaded(self, model_id: StrPath) -> bool:
        """Returns whether a model answers. An id of a backend that the engine lacks has none."""
        self._handle.require()
        try:
            name = self._model_id(model_id)
        except UnknownBackend:
            return False
        return name in self._models()

    # Answers, waited for

    def llm_chat_completion(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers an OpenAI chat completion request with a chat completion.

        Every request may have a field `on_budget`: what to do where the model has to be brought back and the
        budget has no room: "wait" for others to be done (the default), "fail" at once, or "shrink": as
        "wait", and the model may come back smaller, at a loss.
        """
        return self._ask("chat", request_json, terms).finish().json

    def llm_chat_completion_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Answers an OpenAI chat completion request, chunk by chunk."""
        return TokenStream(self._ask("chat", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    def llm_text_completion(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Continues an OpenAI text completion request's prompt, as it stands, without a template."""
        return self._ask("completion", request_json, terms).finish().json

    def llm_text_completion_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Continues a prompt, chunk by chunk."""
        return TokenStream(self._ask("completion", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    def llm_infill(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Fills the gap between `input_prefix` and `input_suffix`, with a model that was taught to."""
        return self._ask("infill", request_json, terms).finish().json

    def tokenize(self, request_json: Json) -> str:
        """The tokens of `content`: `{"tokens": [...]}`, as numbers or, `with_pieces`, as objects."""
        return self._ask("tokenize", request_json, {}).finish().json

    def detokenize(self, request_json: Json) -> str:
        """The text of `tokens`: `{"content": "..."}`."""
        return self._ask("detokenize", request_json, {}).finish().json

    def apply_template(self, request_json: Json) -> str:
        """The prompt that a chat completion's `messages` make: `{"prompt": "..."}`."""
        return self._ask("apply_template", request_json, {}).finish().json

    def save_state(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Works through `messages` or `prompt`, and saves what the model then remembers to `path`.

        A character's sheet that was saved once needs no work ever again: see `restore_state`.
        """
        return self._ask("save_state", request_json, terms).finish().json

    def restore_state(self, request_json: Json) -> str:
        """Has the model remember what `path` holds, for the next request that begins so.

        Refuses what is damaged, or of another model, library or memory.
        """
        return self._ask("restore_state", request_json, {}).finish().json

    def session(
        self,
        session_id: str | None = None,
        messages: MessagesInput = None,
        *,
        model: str | None = None,
        pinned: bool = False,
    ) -> Session:
        """Begins a conversation that the engine keeps. Without an id it gets one of its own.

        `messages` is what was said before: a character's sheet as a text, or any messages. `model` answers
        where a request names none; else that of the first request. `pinned`: see `Session.pin()`.
        """
        body = open_body(session_id, messages, model, pinned)
        return self._open(body, lambda name: Session(self, name))

    def sessions(self) -> dict[str, int]:
        """The ids of the sessions that are open, and how many messages each holds."""
        return sizes_of(self._ask("read_session", {}, {}).finish().json)

    # Answers, frame by frame

    def submit(
        self, op: str, request: Json, user: int = 0, *, chunks: bool = False, **terms: Unpack[RequestOptions]
    ) -> int:
        """Asks for a "chat", a "text" ... Never waits: returns the name that its events will carry.

        `user` comes back in each event; `chunks` has them carry OpenAI chunks in `json`.
        """
        flags = lib.SOTTO_REQUEST_CHUNKS if truth("chunks", chunks) else 0
        desc = self._request_desc(op, request, flags, terms, user=user, whole_response=False)
        out = new("sotto_request *")
        self._handle.call(lib.sotto_engine_submit, desc, out)
        return int(out[0])

    def events(self) -> Iterator[Event]:
        """What happened since last asked. Never waits, and never raises for a request that failed."""
        self._handle.require()
        return iter(self._take, None)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for an event, at most `timeout` seconds. For tools and servers, never for a frame."""
        left = -1 if timeout is None else int(number("timeout", timeout) * 1000)
        while True:
            piece = SLICE_MS if left < 0 else min(left, SLICE_MS)
            if self._handle.call(lib.sotto_engine_wait_for_events, piece) != lib.SOTTO_EMPTY:
                return True
            if left >= 0 and (left := left - piece) == 0:
                return False

    def cancel(self, request: int) -> bool:
        """Asks for a request to end; its last event still comes. False: it is over, or never was."""
        name = whole("request", request, MOST_U64)
        return self._handle.call(lib.sotto_engine_cancel, name) == 0

    def set_request_tps(self, request: int, tps: float) -> bool:
        """The pace of a request, from the next token on. 0: the engine's. False: it is over, or never was."""
        name, pace = whole("request", request, MOST_U64), number("tps", tps)
        return self._handle.call(lib.sotto_engine_set_request_tps, name, pace) == 0

    def frame_begin(self, *, busy_cores: int = 1, period: float = 0) -> None:
        """The game begins a frame's work, on so many cores; frames are due every `period` seconds."""
        desc = struct(
            "sotto_frame_begin_desc",
            busy_cores=whole("busy_cores", busy_cores, MOST_U32),
            period_ns=min(int(number("period", period) * 1e9), MOST_U64),
        )
        self._handle.call(lib.sotto_engine_frame_begin, desc)

    def frame_end(self, *, busy: float = 0, gpu: float = 0) -> None:
        """The game has done a frame's work. Seconds that it took, in all and on the GPU, where known."""
        busy_ms, gpu_ms = number("busy", busy) * 1000, number("gpu", gpu) * 1000
        desc = struct("sotto_frame_end_desc", busy_ms=busy_ms, gpu_ms=gpu_ms)
        self._handle.call(lib.sotto_engine_frame_end, desc)

    def trace(self) -> list[Slice]:
        """Returns the slices since the last call, oldest first; the engine keeps `trace_capacity` of them."""
        return list(read_trace(self._handle))

    def stats(self) -> Stats:
        """How it does: who waits and who speaks, how fast, and what it costs the game. Never waits."""
        return read_stats(self._handle)

    def memory(self) -> Memory:
        """Who has how much of the machine's memory: each use, each model, what is parked. Never waits."""
        return read_memory(self._json(lib.sotto_engine_memory))

    # Settings

    def set_scheduling_mode(self, mode: str) -> None:
        """Who comes first: "balance" (the default), "prioritize_compute" or "prioritize_graphics"."""
        self._handle.call(lib.sotto_engine_set_mode, choice("mode", mode, MODES))

    def set_vram_budget_mb(self, mb: int) -> None:
        """The ceiling on what all models take together; 0: none. `memory()` tells who has how much.

        Also where more is in use, it holds within moments: models that are idle give way, and come back when
        they are asked for; of those that speak, some give up their places for a while, and say the same.
        """
        self._handle.call(lib.sotto_engine_set_vram_budget, megabytes("mb", mb))

    def set_target_tps(self, tps: float) -> None:
        """The pace of each stream, in tokens per second, also of those under way. 0: as fast as it goes."""
        self._handle.call(lib.sotto_engine_set_target_tps, number("tps", tps))

    def describe(self) -> dict[str, Any]:
        """Versions, device, processor, backends, and which modules were passed over and why."""
        told = self._json(lib.sotto_engine_describe)
        import json

        found: dict[str, Any] = json.loads(told)
        return found

    # Inside

    def _take(self) -> Event | None:
        if not self._taking.acquire(blocking=False):
            return None  # another thread takes it
        try:
            status = self._handle.call(lib.sotto_engine_next_event, self._told)
            return read_event(self._told) if status == lib.SOTTO_OK else None
        finally:
            self._taking.release()
