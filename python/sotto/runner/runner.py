"""`Runner`: several models behind the interface of mistral.rs, on one engine."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from .._json import load
from .._values import string, truth, typed, whole, wrong_type
from ..engine import Engine
from .answering import Answering
from .errors import RunnerError, translated
from .loading import Loader, keeps_prefixes, placement_of
from .managing import Manages
from .models import PagedCacheType, Which
from .refusals import refuse
from .registry import Entry, Registry
from .requests import ChatCompletionRequest, CompletionRequest, EmbeddingRequest
from .responses import (
    ChatCompletionResponse,
    CompletionResponse,
    ImageGenerationResponse,
    ImageGenerationResponseFormat,
    SpeechGenerationResponse,
)
from .searching import EMBEDDERS, SearchCallback
from .sessions import Sessions
from .source import name_of
from .streams import ChunkStream
from .templates import Template
from .toolkit import ToolCallback
from .tools import CodeExecutionConfig, McpClientConfigPy
from .toolset import Toolset, checked_embedder, checked_search

_MAX_SEED = (1 << 64) - 1
_MAX_TOKEN = 2**31 - 1


class Runner(Manages):
    """Loads models and answers requests in this process. Use it as a context manager, or call `close()`.

    All methods are thread-safe, and wait; requests of several threads are decoded in one batch. A model is
    named by its alias, or by the id in its `Which`. Errors are `RunnerError`, a `ValueError`; arguments of a
    wrong type raise `TypeError`. What mistral.rs has and llama.cpp has not is refused with an error that
    names the nearest feature.

    Args:
        which: The first model, which is the default.
        max_seqs: Answers that run at once, 1 to 64; further ones wait.
        no_kv_cache: True: no request reuses the KV cache of an earlier one.
        prefix_cache_n: 0: the same. Else the slots of a model keep the KV cache of their last sequences.
        token_source: Token for Hugging Face: "literal:TOKEN", "env:VARIABLE", "path:FILE", "cache" or "none".
        speculative_gamma: Draft tokens of a step; at most 15 are used. Ignored without `which_draft`.
        which_draft: Small model with the same vocabulary, whose drafts the models check.
        chat_template: Jinja text, or a JSON file with "chat_template", for models without a template.
        jinja_explicit: File with a Jinja text, for all models.
        num_device_layers: `["0:NUM"]`: layers on the device; None: all.
        in_situ_quant: Type that models are quantized to, such as "Q4K"; None: as they are.
        anymoe_config: Refused.
        pa_gpu_mem: Memory of the KV cache in MB. `pa_ctxt_len` and `pa_gpu_mem_usage` win over it.
        pa_gpu_mem_usage: Share of the device's memory for models, above 0 to 1. `pa_ctxt_len` wins over it;
            0.9 on a CUDA card if none of the three is set.
        pa_ctxt_len: Tokens of the KV cache of a model, for all its sequences together.
        pa_blk_size: Refused.
        pa_cache_type: `PagedCacheType.Auto`.
        no_paged_attn: Accepted: the KV cache has no pages.
        paged_attn: Refused.
        seed: Seed of sampled answers; None: random.
        enable_search: True: a chat with `web_search_options` may search.
        search_embedding_model: Model that ranks what is found: "embedding_gemma", which is downloaded, or
            "sotto/minilm", which are added to the models, or the id of a model in `engine`. None: the first
            loaded model that embeds; without one, words alone.
        search_callback: What searches: a function that gets the query and returns mappings with "title",
            "description", "url" and "content", or another source of [`Search`](../guide/search.md), such as a
            `WebSource`.
        tool_callbacks: Functions of tools by name. Each gets the name and the arguments, and returns text, or
            a `File`.
        mcp_client_config: MCP servers, which are connected now, and closed with the runner.
        code_execution_config: How code runs in chats with `enable_code_execution`; None: it does not.
        engine: The engine to load models into; None: one of the runner's own.
        options: Further load options of all models, which win; see [Model options](options.md).
        alias: Id of the first model; None: that of `which`.

    Raises:
        RunnerError: An argument is invalid, or a model cannot be loaded.
        TypeError: An argument has the wrong type.

    >>> with Runner(Which.GGUF("models", "npc-Q4_K_M.gguf")) as runner:
    ...     request = ChatCompletionRequest([{"role": "user", "content": "Hello!"}], "default")
    ...     print(runner.send_chat_completion_request(request).choices[0].message.content)
    """

    def __init__(
        self,
        which: Which,
        max_seqs: int = 16,
        no_kv_cache: bool = False,
        prefix_cache_n: int = 16,
        token_source: str = "cache",
        speculative_gamma: int = 32,
        which_draft: Which | None = None,
        chat_template: str | None = None,
        jinja_explicit: str | None = None,
        num_device_layers: list[str] | None = None,
        in_situ_quant: str | None = None,
        anymoe_config: object = None,
        pa_gpu_mem: int | None = None,
        pa_gpu_mem_usage: float | None = None,
        pa_ctxt_len: int | None = None,
        pa_blk_size: int | None = None,
        pa_cache_type: PagedCacheType | None = None,
        no_paged_attn: bool = False,
        paged_attn: bool = False,
        seed: int | None = None,
        enable_search: bool = False,
        search_embedding_model: str | None = None,
        search_callback: SearchCallback | None = None,
        tool_callbacks: Mapping[str, ToolCallback] | None = None,
        mcp_client_config: McpClientConfigPy | None = None,
        code_execution_config: CodeExecutionConfig | None = None,
        *,
        engine: Engine | None = None,
        options: Mapping[str, Any] | None = None,
        alias: str | None = None,
    ) -> None:
        if anymoe_config is not None:
            refuse("anymoe_config")
        if engine is not None:
            typed("engine", engine, Engine)
        with translated():
            name_of(which)
            prefixes = keeps_prefixes(no_kv_cache, prefix_cache_n)
            self._tools = Toolset(tool_callbacks)
            searches = checked_search(enable_search, search_embedding_model, search_callback)
            start = None if seed is None else whole("seed", seed, _MAX_SEED)
            template = Template(chat_template, jinja_explicit)
            gamma = whole("speculative_gamma", speculative_gamma, 2**31 - 1)
            if which_draft is not None and gamma < 1:
                raise RunnerError(
                    "invalid speculative_gamma '0': expected an integer from 1 with which_draft"
                )
            placement = placement_of(
                max_seqs,
                num_device_layers,
                pa_gpu_mem,
                pa_gpu_mem_usage,
                pa_ctxt_len,
                pa_blk_size,
                pa_cache_type,
                no_paged_attn,
                paged_attn,
                engine,
            )
            self._loader = Loader(engine, placement, template, token_source, in_situ_quant, options)
        self._registry = Registry(self._loader.load, self._loader.unload)
        self._sessions = Sessions()
        self._answering = Answering(self._loader.engine, self._sessions, self._tools, prefixes, start)
        self._end = weakref.finalize(self, _close, self._registry, self._loader)
        self._end.atexit = False  # an interpreter that ends closes its engines
        try:
            with translated():
                self._tools.open_code(code_execution_config, self._loader.engine, max(8, max_seqs))
                self._tools.open_servers(mcp_client_config)
                if which_draft is not None:
                    self._loader.set_draft(which_draft, gamma)
                self.add_model(which, alias)
                if searches:
                    self._open_search(search_callback, search_embedding_model)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._end.alive:
            return "<sotto.runner.Runner, closed>"
        return f"<sotto.runner.Runner, models: {', '.join(self.list_models())}>"

    def close(self) -> None:
        """Cancels answers, unloads the models, ends processes and connections. A second call does nothing."""
        self._end()
        with translated():
            self._tools.close()

    # Requests

    @translated()
    def send_chat_completion_request(
        self, request: ChatCompletionRequest, model_id: str | None = None
    ) -> ChatCompletionResponse | ChunkStream:
        """Answers a chat.

        Args:
            request: The request.
            model_id: Id of the model; None: that of the request.

        Returns:
            The response; with `stream=True` an iterator over its chunks, a context manager with `close()`.

        Raises:
            RunnerError: The request is invalid, or the model failed.
        """
        typed("request", request, ChatCompletionRequest)
        entry = self._pick(model_id, request.model)
        return self._run(entry, lambda one: self._answering.chat(request, one))

    @translated()
    def send_chat_completion_request_to_model(
        self, request: ChatCompletionRequest, model_id: str
    ) -> ChatCompletionResponse | ChunkStream:
        """Answers a chat with a model. See `send_chat_completion_request()`."""
        return self.send_chat_completion_request(request, string("model_id", model_id))

    @translated()
    def send_completion_request(
        self, request: CompletionRequest, model_id: str | None = None
    ) -> CompletionResponse:
        """Continues a text. Arguments and errors are those of `send_chat_completion_request()`."""
        typed("request", request, CompletionRequest)
        entry = self._pick(model_id, request.model)
        return self._run(entry, lambda one: self._answering.text(request, one))

    @translated()
    def send_completion_request_to_model(
        self, request: CompletionRequest, model_id: str
    ) -> CompletionResponse:
        """Continues a text with a model. See `send_completion_request()`."""
        return self.send_completion_request(request, string("model_id", model_id))

    @translated()
    def send_embedding_request(
        self, request: EmbeddingRequest, model_id: str | None = None
    ) -> list[list[float]]:
        """Returns a vector for each text of a request. Needs a model that embeds."""
        typed("request", request, EmbeddingRequest)
        return self._run(self._pick(model_id), lambda one: self._answering.embed(request, one))

    @translated()
    def generate_image(
        self,
        prompt: str,
        response_format: ImageGenerationResponseFormat,
        height: int = 720,
        width: int = 1280,
        model_id: str | None = None,
        save_file: str | None = None,
    ) -> ImageGenerationResponse:
        """Raises `RunnerError`: no model of a runner draws. The arguments are those of mistral.rs."""
        string("prompt", prompt)
        typed("response_format", response_format, ImageGenerationResponseFormat)
        for name, value in (("height", height), ("width", width)):
            whole(name, value, 2**16)
        if save_file is not None:
            string("save_file", save_file)
        self._pick(model_id)
        refuse("generate_image")

    @translated()
    def generate_audio(self, prompt: str, model_id: str | None = None) -> SpeechGenerationResponse:
        """Raises `RunnerError`: no model of a runner speaks. The arguments are those of mistral.rs."""
        string("prompt", prompt)
        self._pick(model_id)
        refuse("generate_audio")

    # Tokens

    @translated()
    def tokenize_text(
        self, text: str, add_special_tokens: bool, enable_thinking: bool | None, model_id: str | None = None
    ) -> list[int]:
        """Returns the tokens of a text. `enable_thinking` has no effect on text without a template."""
        if not isinstance(text, str):
            raise wrong_type("text", text, "a str")
        if enable_thinking is not None:
            truth("enable_thinking", enable_thinking)
        body = {"content": text, "add_special": truth("add_special_tokens", add_special_tokens)}

        def ask(one: Entry) -> list[int]:
            told = load(self._loader.engine.tokenize({"model": one.id, **body}))
            tokens: list[int] = told["tokens"]
            return tokens

        return self._run(self._pick(model_id), ask)

    @translated()
    def detokenize_text(
        self, tokens: list[int], skip_special_tokens: bool, model_id: str | None = None
    ) -> str:
        """Returns the text of tokens."""
        if isinstance(tokens, str | bytes | Mapping):
            raise wrong_type("tokens", tokens, "a list of integers")
        ids = [whole(f"tokens[{at}]", one, _MAX_TOKEN) for at, one in enumerate(tokens)]
        special = not truth("skip_special_tokens", skip_special_tokens)

        def ask(one: Entry) -> str:
            body = {"model": one.id, "tokens": ids, "special": special}
            return str(load(self._loader.engine.detokenize(body))["content"])

        return self._run(self._pick(model_id), ask)

    @translated()
    def max_sequence_length(self, model_id: str | None = None) -> int | None:
        """Returns the tokens of one sequence, prompt and answer together; None: the backend has no limit."""
        entry = self._pick(model_id)
        found = self._run(entry, lambda one: self._loader.engine.model_info(one.id).get("context"))
        return int(found) if found else None

    @translated()
    def send_re_isq(self, dtype: str, model_id: str | None = None) -> None:
        """Quantizes a model in safetensors to another type, and reloads it. A GGUF file is not changed."""
        entry = self._pick(model_id)
        if self._loader.requantize(entry, dtype):
            if entry.status == "loaded":
                self._registry.unload(entry.id)
            self._registry.reload(entry.id)

    # Internal

    def _open_search(self, source: Any, embedder: str | None) -> None:
        engine = self._loader.engine
        if embedder in EMBEDDERS and not engine.model_is_loaded(embedder):
            self.add_model(EMBEDDERS[embedder], embedder)
        self._tools.open_search(engine, source, checked_embedder(engine, embedder))


def _close(registry: Registry, loader: Loader) -> None:
    registry.close()
    loader.close()
