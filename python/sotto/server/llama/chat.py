"""Chats as llama-server takes them: defaults of its flags, a last message that is continued."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..answering import answer, complete
from ..asking import Asked
from ..errors import HttpError
from ..routing import Route, service_of
from ..service import Service
from . import fields
from .asking import ask, read
from .completion import engine_body
from .media import with_local_media
from .native import LlamaShape
from .settings import settings
from .setup import Setup

_SHAPE = LlamaShape()
_TEMPLATE = (
    "messages", "tools", "tool_choice", "parallel_tool_calls", "reasoning_format", "reasoning_effort",
    "reasoning_budget_tokens", "reasoning_budget_message", "chat_template_kwargs", "add_generation_prompt",
    "continue_final_message", "response_format", "json_schema", "grammar", "session",
)  # fmt: skip


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the route of chats for a server that answers as llama-server does."""

    async def chat(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        return await _answer(request, service, setup, asked)

    return (Route("POST", ("/v1/chat/completions", "/chat/completions"), chat, _SHAPE),)


def template_body(wanted: Mapping[str, Any], setup: Setup) -> dict[str, Any]:
    """Returns the engine's request to render the prompt of a chat. Raises `HttpError` 400."""
    chat = {**setup.chat, **{name: value for name, value in wanted.items() if value is not None}}
    made = {name: chat[name] for name in _TEMPLATE if name in chat}
    made["model"] = wanted["model"]
    return continued(made)


def continued(made: dict[str, Any]) -> dict[str, Any]:
    """Returns a chat that continues its last message, if that is the assistant's. Raises `HttpError` 400."""
    messages = made.get("messages")
    if made.get("continue_final_message") and made.get("add_generation_prompt"):
        raise HttpError(
            400, "add_generation_prompt and continue_final_message exclude each other: choose one"
        )
    if not isinstance(messages, list) or not messages or not isinstance(messages[-1], dict):
        return made
    last = messages[-1]
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return made
    if len(messages) > 1 and isinstance(messages[-2], dict) and messages[-2].get("role") == "assistant":
        raise HttpError(400, "Cannot have 2 or more assistant messages at the end of the list.")
    if isinstance(last.get("content"), list):
        texts = [part.get("text") for part in last["content"] if isinstance(part, dict)]
        told = [text for text in texts if isinstance(text, str)]
        if len(told) == len(texts):
            last = {**last, "content": "\n\n".join(told)}
    return {
        **made,
        "messages": [*messages[:-1], last],
        "continue_final_message": True,
        "add_generation_prompt": False,
    }


async def _answer(request: Request, service: Service, setup: Setup, asked: Asked) -> Response:
    wanted = {**setup.chat, **{name: value for name, value in asked.fields.items() if value is not None}}
    if kwargs := setup.chat.get("chat_template_kwargs"):
        given = wanted["chat_template_kwargs"]
        wanted["chat_template_kwargs"] = {**kwargs, **given} if isinstance(given, dict) else given
    body = continued(await engine_body(request, service, setup, wanted, fields.CHAT))
    if "messages" in body:
        body["messages"] = await with_local_media(body["messages"], setup.media_dir)
    verbose = bool(wanted.get("verbose", setup.verbose))
    body.update(return_tokens=verbose, return_settings=verbose)
    shape = Chat(await service.fingerprint(), bool((body.get("stream_options") or {}).get("include_usage")))
    if verbose:
        told = await ask(request, service, "apply_template", template_body(body, setup))
        shape.verbose = {"prompt": told["prompt"], "generation_settings": settings(wanted, body, setup)}
    asked.text = json.dumps(body)
    if asked.stream:
        return await answer(request, service, "chat", asked, shape)
    told_text = await complete(request, service, "chat", asked.text, asked.options)
    return Response(shape.whole(told_text), media_type="application/json")


class Chat(LlamaShape):
    """llama-server's form of a chat: a first chunk with the role alone, timings in the last one."""

    def __init__(self, fingerprint: str, usage: bool) -> None:
        self._fingerprint = fingerprint
        self._mark = f',"system_fingerprint":{json.dumps(fingerprint)}}}'
        self.verbose: dict[str, Any] | None = None
        self._usage = usage
        self._begun = False
        self._timings: Any = None

    def whole(self, told: str) -> str:
        """Returns the answer."""
        if self.verbose is None:
            return told
        made = json.loads(told)
        choice = made["choices"][0]
        made["__verbose"] = {
            "content": choice["message"].get("content"),
            "tokens": choice.get("tokens", []),
            "timings": made.get("timings", {}),
            **self.verbose,
        }
        return json.dumps(made, ensure_ascii=False)

    def chunk(self, told: str) -> str:
        """Returns the event of a chunk, preceded by one with the role if it is the first."""
        if self._begun and '"finish_reason":null' in told:
            return super().chunk(told[:-1] + self._mark)
        chunk = json.loads(told)
        chunk["system_fingerprint"] = self._fingerprint
        if not chunk.get("choices"):
            chunk.setdefault("timings", self._timings or {})
            return _event(chunk)
        first = ""
        choice = chunk["choices"][0]
        if not self._begun:
            self._begun = True
            role = {"index": choice["index"], "delta": {"role": "assistant", "content": None}}
            first = _event({**_head(chunk), "choices": [{**role, "finish_reason": None}]})
            choice["delta"].pop("role", None)
        if choice.get("finish_reason") is not None:
            self._timings = chunk.get("timings")
            if self._usage:
                chunk.pop("timings", None)
        return first + _event(chunk)


def _head(chunk: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "object", "created", "model", "system_fingerprint")
    return {name: chunk[name] for name in names if name in chunk}


def _event(told: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(told, ensure_ascii=False)}\n\n"
