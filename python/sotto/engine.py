"""`Engine`: loads models, runs requests, and changes settings while requests run."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from . import log
from ._asking import Progress, naming
from ._call import new, struct, utf8
from ._checks import Checks
from ._desc import MOST_U32, MOST_U64, Json, StrPath, engine_flags, megabytes, model_desc, path_text
from ._handle import SLICE_MS, Handle, Request
from ._lib import lib
from ._opens_sessions import OpensSessions
from ._ops import Op
from ._typing import Unpack
from ._values import choice, number, string, truth, whole
from .adapters import Adapts
from .backend import AddsBackends, BackendNames, UnknownBackend
from .data import MakesData
from .errors import ModelLoadError, SottoError
from .event import Event, read_event
from .frame import Frames
from .gpu import SharesGpu, require_device
from .guard import Guard, Guardrails, pointer_of
from .images import MakesImages
from .kvstore import KeepsStores
from .memory import Memory, Plan, read_memory, read_plan
from .mode import MODES, Mode
from .quantize import Quantizes
from .respond import Responds
from .save_game import SavesGames
from .settings import Settings
from .slots import Inspects
from .stream import TokenStream
from .terms import RequestOptions


class Engine(
    MakesData,
    MakesImages,
    Responds,
    SavesGames,
    OpensSessions,
    Quantizes,
    Inspects,
    Adapts,
    AddsBackends,
    Frames,
    Settings,
    SharesGpu,
    KeepsStores,
    Checks,
):
    """Runs models inside this process, beside a game. Use it as a context manager, or call `close()`.

    All methods are thread-safe. Methods that wait release the GIL. Methods that request an answer take its
    `RequestOptions` as keyword arguments: `target_tps`, `priority` and `deadline`. 1 MB is 1,048,576 bytes.

    Args:
        device: "auto", "cpu", "vulkan" or "cuda"; also a device index ("cuda0") or UUID ("cuda:UUID").
        backends: JSON strings made by `Backend`; None: one in-process backend, "local".
        mode: Scheduling mode, see `set_scheduling_mode()`.
        target_tps: Pace of each stream in tokens per second; 0: no pacing.
        vram_budget_mb: Memory budget of all models in MB; 0: no limit. See `set_vram_budget_mb()`.
        module_dir: Folder of backend modules; None: the library's folder.
        threads: Maximum threads per step; 0: at most one per core, tuned for throughput.
        trace_capacity: Number of slices kept for `trace()`; 0: no trace.
        deterministic: Makes each answer depend on its request alone, not on concurrent requests; slower.
        gates: Steps also wait at gates (wait points inside a step) while the game works on a frame and
            leaves no core free. By default, only if their threads cannot be made to yield to the game's.
        max_requests: Maximum number of live requests; 0: 65,536.
        record_path: File that records requests with their text, reported frames and scheduling decisions,
            for `sotto.replay()`. The engine creates it, readable by the current user only. It must not
            exist, so that a restart keeps the recording of a crash.
        kv_spill_dir: Folder of the file for spilled KV caches of parked streams, which disappears with the
            engine; None: the system's temporary folder. A lost KV cache is prefilled again.
        kv_spill_memory_mb: Spilled KV caches kept in memory before the file is used, in MB; 0: 64.
        store_dir: Folder of the stores of `kvstore_create()`; None: the user's data folder.
        guardrails: Configuration as for `Guard`, which requests and answers keep to; None: no guardrails.

    Raises:
        ArgumentError: An argument is out of range, `record_path` exists, or `device` is not supported here.

    >>> with Engine() as engine:
    ...     engine.load_model("sotto/house")
    ...     response = engine.llm_chat_completion(request_json)
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
        self._names = BackendNames(backends)
        self._guard = None if guardrails is None else Guard(guardrails)
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
            guard=pointer_of(self._guard),
        )
        require_device(device, module_dir)
        self._device = device
        self._open_stores(store_dir)
        log.settle()
        self._handle = Handle(desc)
        self._taking = threading.Lock()  # held by the thread that takes events from the queue
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
        """Cancels live requests, unloads all models and frees all memory. A second call does nothing.

        Waits for a running step of an added backend, and logs every 2 seconds what it waits for.
        """
        self._handle.close()
        self._close_stores()
        if self._converted is not None:
            self._converted.cleanup()

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
        """Loads a model and waits until it is ready. Does nothing if it is already loaded.

        Args:
            model_id: "sotto/house", "sotto/tavern", "sotto/minilm", "sotto/matting", a GGUF file's path, or a
                Hugging Face id: `org/name`, `org/name:QUANT` or `org/name/file.gguf`. Downloaded if not
                cached. Any name if `path` is set.
            path: Path of the GGUF file, or of an ONNX file of a model that removes backgrounds.
            backend: Name of the backend that runs the model; None: "onnx" for a file that ends in .onnx, else
                the first available one.
            options: JSON object of load options.
            progress: Called with "download" or "load" and a fraction from 0 to 1.

        Raises:
            ModelLoadError: The model was not found, or it could not be downloaded or loaded.
        """
        self._handle.require()
        name, where = self._find(model_id, path, progress)
        backend, options = self._names.settings(name, backend, options, where)
        desc = model_desc(name, where, backend, options, flags=lib.SOTTO_REQUEST_PRIVATE)
        with naming(name, where):
            loading = Request(self._handle, ModelLoadError, lib.sotto_engine_load_model, desc)
            loading.finish(None if progress is None else lambda done: progress("load", done))
        if path is None:
            self._adapt(name)

    def _adapt(self, name: str) -> None:
        """Loads the adapter of "sotto/tavern", if that is the model; unloads the model if this fails."""
        from ._tavern import ADAPTER, TAVERN

        if name != TAVERN or self.lora_list(name):
            return
        try:
            self.lora_load(name, ADAPTER)
        except BaseException:
            self.unload_model(name)
            raise

    def plan_model(
        self,
        model_id: StrPath,
        *,
        budget_mb: int = 0,
        path: StrPath | None = None,
        backend: str | None = None,
        options: Json | None = None,
    ) -> Plan:
        """Computes the memory needs of a model, and how it would fit, without loading or downloading it.

        Other arguments and errors are those of `load_model()`. `budget_mb` is the memory available to this
        model alone; 0: the rest of the engine's budget.
        """
        self._handle.require()
        budget = megabytes("budget_mb", budget_mb)
        name, where = self._here(model_id, path)
        backend, options = self._names.settings(name, backend, options, where)
        desc = model_desc(name, where, backend, options, flags=lib.SOTTO_REQUEST_PRIVATE)
        with naming(name, where):
            plan = Request(self._handle, ModelLoadError, lib.sotto_engine_plan_model, desc, budget)
            return read_plan(plan.finish().json)

    def unload_model(self, model_id: StrPath) -> None:
        """Unloads a model and waits until its memory is freed. Requests that still run on it fail."""
        name = utf8("model_id", self._model_id(model_id))
        unload, private = lib.sotto_engine_unload_model, lib.SOTTO_REQUEST_PRIVATE
        Request(self._handle, ModelLoadError, unload, name[0], private).finish()

    def model_list(self) -> str:
        """Returns the loaded models as a JSON array of OpenAI model objects."""
        return self._json(lib.sotto_engine_list_models)

    def model_is_loaded(self, model_id: StrPath) -> bool:
        """Returns True if the model is loaded; False also if the id names an unknown backend."""
        self._handle.require()
        try:
            name = self._model_id(model_id)
        except UnknownBackend:
            return False
        return name in self._models()

    # Blocking requests

    def llm_chat_completion(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Answers an OpenAI chat completion request and returns the chat completion as JSON.

        The request field `on_budget` applies if an evicted model must be reloaded and the budget is full:
        "wait" for free memory (default), "fail" at once, or "shrink" (wait; may reload at reduced quality).
        """
        return self._ask("chat", request_json, terms).finish().json

    def llm_chat_completion_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Answers an OpenAI chat completion request; returns a stream of chunks."""
        return TokenStream(self._ask("chat", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    def llm_text_completion(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Continues the raw prompt of an OpenAI text completion request, without a chat template."""
        return self._ask("completion", request_json, terms).finish().json

    def llm_text_completion_stream(self, request_json: Json, **terms: Unpack[RequestOptions]) -> TokenStream:
        """Continues the raw prompt of a text completion request; returns a stream of chunks."""
        return TokenStream(self._ask("completion", request_json, terms, lib.SOTTO_REQUEST_CHUNKS))

    def llm_infill(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Generates the text between `input_prefix` and `input_suffix`. Needs a model trained for infill."""
        return self._ask("infill", request_json, terms).finish().json

    def tokenize(self, request_json: Json) -> str:
        """Returns the tokens of `content`: `{"tokens": [...]}`, as ids, or as objects if `with_pieces`."""
        return self._ask("tokenize", request_json, {}).finish().json

    def detokenize(self, request_json: Json) -> str:
        """Returns the text of `tokens`: `{"content": "..."}`."""
        return self._ask("detokenize", request_json, {}).finish().json

    def apply_template(self, request_json: Json) -> str:
        """Returns the prompt rendered from a chat's `messages`: `{"prompt": "..."}`."""
        return self._ask("apply_template", request_json, {}).finish().json

    # Non-blocking requests

    def submit(
        self, op: Op, request: Json, user: int = 0, *, chunks: bool = False, **terms: Unpack[RequestOptions]
    ) -> int:
        """Submits a request and returns its id, which its events carry as `request`. Never waits.

        Args:
            op: Operation: "chat", "completion", "infill", "tokenize", ...
            request: The request's JSON object.
            user: Number that each event of the request carries.
            chunks: Events carry OpenAI chunks in `json`.
            **terms: See `RequestOptions`.
        """
        flags = lib.SOTTO_REQUEST_CHUNKS if truth("chunks", chunks) else 0
        desc = self._request_desc(op, request, flags, terms, user=user, whole_response=False)
        out = new("sotto_request *")
        self._handle.call(lib.sotto_engine_submit, desc, out)
        return int(out[0])

    def events(self) -> Iterator[Event]:
        """Takes the queued events of submitted requests. Never waits; never raises for a failed request."""
        self._handle.require()
        return iter(self._take, None)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits up to `timeout` seconds (None: no limit) for an event. Never call it in a frame.

        Returns True if an event is queued.
        """
        left = -1 if timeout is None else int(number("timeout", timeout) * 1000)
        while True:
            piece = SLICE_MS if left < 0 else min(left, SLICE_MS)
            if self._handle.call(lib.sotto_engine_wait_for_events, piece) != lib.SOTTO_EMPTY:
                return True
            if left >= 0 and (left := left - piece) == 0:
                return False

    def cancel(self, request: int) -> bool:
        """Cancels a request; its "request_done" event still follows. Returns False if it is not live."""
        return self._handle.call_live(lib.sotto_engine_cancel, whole("request", request, MOST_U64))

    def set_request_tps(self, request: int, tps: float) -> bool:
        """Sets a request's pace in tokens per second from the next token on; 0: the engine's pace.

        Returns False if the request ended or never existed.
        """
        name, pace = whole("request", request, MOST_U64), number("tps", tps)
        return self._handle.call_live(lib.sotto_engine_set_request_tps, name, pace)

    def memory(self) -> Memory:
        """Returns memory use by purpose and by model, and spilled KV caches. Never waits for a model."""
        return read_memory(self._json(lib.sotto_engine_memory))

    def describe(self) -> dict[str, Any]:
        """Returns versions, device, processor, backends, and skipped modules with the reason."""
        told = self._json(lib.sotto_engine_describe)
        import json

        found: dict[str, Any] = json.loads(told)
        return found

    # Internal

    def _take(self) -> Event | None:
        if not self._taking.acquire(blocking=False):
            return None  # another thread is taking events
        try:
            status = self._handle.call(lib.sotto_engine_next_event, self._told)
            return read_event(self._told) if status == lib.SOTTO_OK else None
        finally:
            self._taking.release()
