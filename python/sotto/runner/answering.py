"""Answers chats and texts on the engine: the road from a request to its response."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from typing import Any

from .._json import load
from ..engine import Engine
from ..errors import InferenceError
from . import bodies, shaping
from .acting import Acting, records
from .errors import RunnerError
from .files import Files
from .permitting import permissions
from .registry import Entry
from .requests import ChatCompletionRequest, CompletionRequest, EmbeddingRequest
from .responses import ChatCompletionResponse, Choice, CompletionResponse, Logprobs, ResponseMessage
from .sessions import Message, Sessions, StoredSession, spliced
from .streams import ActingStream, ChatStream, ChunkStream
from .tools import RequestedFile
from .toolset import Toolset

Json = dict[str, Any]


class Answering:
    """Sends the requests of a runner.

    Args:
        engine: The engine.
        sessions: The sessions.
        tools: The tools.
        prefixes: Requests may reuse the KV cache of earlier ones.
        seed: Seed of the seeds of requests; None: random.
    """

    def __init__(
        self,
        engine: Engine,
        sessions: Sessions,
        tools: Toolset,
        prefixes: bool,
        seed: int | None,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._tools = tools
        self._prefixes = prefixes
        self._lock = threading.Lock()  # guards the generator of seeds
        self._seeds = None if seed is None else random.Random(seed)

    def chat(self, request: ChatCompletionRequest, entry: Entry) -> ChatCompletionResponse | ChunkStream:
        """Answers a chat."""
        bodies.check_messages(request.messages)
        if isinstance(request.messages, str):
            return self._prompt(request, request.messages, entry)
        tools = bodies.tools_of(request.tool_schemas)
        runs = self._tools.runs(request, tools)
        if request.files and not runs:
            raise RunnerError(
                "invalid files: expected none without tools that the runner executes; set "
                "enable_code_execution, or tool_schemas with callbacks"
            )
        if not runs and request.session_id is None:
            return self._plain(request, list(request.messages), tools, entry, None)
        stored = self._sessions.begin(entry.id, request.session_id)
        try:
            said = spliced(stored.messages, request.messages)
            if runs:
                return self._act(request, said, tools, entry, stored)
            return self._plain(request, said, tools, entry, stored)
        except BaseException:
            self._sessions.end(entry.id, stored, None)
            raise

    def text(self, request: CompletionRequest, entry: Entry) -> CompletionResponse:
        """Continues a text."""
        body = {**bodies.text_body(request), "prompt": request.prompt, **self._common(entry, request.adapter)}
        if "logprobs" in body:
            body["return_tokens"] = True
        told = load(self._engine.llm_text_completion(body))
        before = request.prompt if request.echo_prompt else ""
        return shaping.text_response(told, entry.id, before, request.n_choices)

    def embed(self, request: EmbeddingRequest, entry: Entry) -> list[list[float]]:
        """Embeds texts."""
        told = load(self._engine.embed({"model": entry.id, **bodies.embed_body(request)}))
        return [one["embedding"] for one in told["data"]]

    # Internal

    def _plain(
        self,
        request: ChatCompletionRequest,
        said: list[Message],
        tools: list[Json],
        entry: Entry,
        stored: StoredSession | None,
    ) -> ChatCompletionResponse | ChunkStream:
        """Answers a chat whose tools the caller executes."""
        body = {**bodies.chat_body(request), "messages": said, **self._common(entry, request.adapter)}
        if tools:
            body["tools"] = tools
        if stored is not None and request.n_choices > 1:
            raise RunnerError("invalid n_choices with session_id: expected 1; a session has one answer")
        name = None if stored is None else stored.id

        def ended(added: list[Message] | None) -> None:
            if stored is not None:
                self._sessions.end(entry.id, stored, None if added is None else [*said, *added])

        if request.stream:
            body["stream_options"] = {"include_usage": True}
            return ChatStream(self._engine.llm_chat_completion_stream(body), entry.id, name, ended)
        told = load(self._engine.llm_chat_completion(body))
        ended([told["choices"][0]["message"]])
        return shaping.chat_response(told, entry.id, name)

    def _prompt(
        self, request: ChatCompletionRequest, prompt: str, entry: Entry
    ) -> ChatCompletionResponse | ChunkStream:
        """Answers a prompt that the chat template was applied to already."""
        if request.session_id is not None:
            raise RunnerError("invalid session_id with messages as text: expected a list of messages")
        body = {**bodies.prompt_body(request), "prompt": prompt, **self._common(entry, request.adapter)}
        if "logprobs" in body:
            body["return_tokens"] = True
        if request.stream:
            body["stream_options"] = {"include_usage": True}
            chunks = self._engine.llm_text_completion_stream(body)
            return ChatStream(chunks, entry.id, None, lambda added: None)
        return shaping.chat_response(load(self._engine.llm_text_completion(body)), entry.id)

    def _act(
        self,
        request: ChatCompletionRequest,
        said: list[Message],
        tools: list[Json],
        entry: Entry,
        stored: StoredSession,
    ) -> ChatCompletionResponse | ChunkStream:
        """Answers a chat whose tools the runner executes."""
        if request.n_choices > 1:
            raise RunnerError("invalid n_choices with tools that the runner executes: expected 1")
        files = Files(stored.turns + 1)
        kit = self._tools.kit(request, tools, stored, files)
        fields = {**bodies.chat_body(request), **self._common(entry, request.adapter)}
        del fields["model"]
        rules = permissions(request, stored, self._tools.code)
        acting = Acting(self._engine, entry.id, said, kit.tools, request, fields, stored, rules)

        def ended(messages: list[Message] | None) -> None:
            if messages is not None:
                stored.add(files.all(), acting.untrusted)
            self._sessions.end(entry.id, stored, messages)

        stream = ActingStream(acting, entry.id, stored.id, ended)
        return stream if request.stream else _folded(stream, acting, files, request.files or ())

    def _common(self, entry: Entry, adapter: str | None) -> Json:
        """Returns the fields that each body has."""
        body: Json = {"model": entry.id}
        if not self._prefixes:
            body["cache_prompt"] = False
        if self._seeds is not None:
            with self._lock:
                body["seed"] = self._seeds.getrandbits(32)
        active = entry.active if adapter is None else (adapter,)
        if active:
            body["lora"] = [{"name": name} for name in active]
        return body


def _folded(
    stream: ActingStream, acting: Acting, files: Files, requested: Sequence[RequestedFile]
) -> ChatCompletionResponse:
    """Waits for an answer, and returns it as a whole."""
    reasoning, found, last = "", [], None
    with stream:
        for chunk in stream:
            choice = chunk.choices[0]
            reasoning += choice.delta.reasoning_content or ""
            found += [] if choice.logprobs is None else [choice.logprobs]
            last = chunk
    if last is None or last.usage is None:
        raise InferenceError("the answer ended without its last part")
    answer = acting.answer
    spoken = answer.rounds[-1].reasoning if answer.rounds else reasoning
    message = ResponseMessage(answer.text, "assistant", None, spoken or None)
    wanted = Logprobs(found) if found else None
    return ChatCompletionResponse(
        last.id,
        [Choice(answer.finish_reason or "stop", 0, message, wanted)],
        last.created,
        last.model,
        last.system_fingerprint,
        "chat.completion",
        last.usage,
        records(answer, files),
        files.response(requested) or None,
        last.session_id,
    )
