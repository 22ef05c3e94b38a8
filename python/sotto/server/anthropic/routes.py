"""The routes of Anthropic's API."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...errors import SottoError
from ..answering import answer
from ..asking import Asked, read_asked
from ..routing import Route, service_of
from ..service import Service
from .requests import to_chat
from .shape import Messages, MessageStream

_SHAPE = Messages()
_PROMPT = (  # fields that change the prompt
    *("model", "messages", "session", "tools", "tool_choice", "parallel_tool_calls"),
    *("chat_template_kwargs", "reasoning_effort", "response_format", "continue_final_message"),
)


async def _messages(request: Request) -> Response:
    """Answers a message, whole or as a stream."""
    service = service_of(request)
    asked = await _read(request, service)
    if not asked.stream:
        return await answer(request, service, "chat", asked, _SHAPE)
    asked.change(stream_options={"include_usage": True})
    shape = MessageStream()
    counting = asyncio.ensure_future(_count(service, asked.fields))
    try:
        response = await answer(request, service, "chat", asked, shape)
        with contextlib.suppress(SottoError):  # a prompt with images has no text to count
            shape.input_tokens = await counting
        return response
    finally:
        counting.cancel()


async def _count_tokens(request: Request) -> Response:
    """Counts the tokens of a message's prompt."""
    service = service_of(request)
    asked = await _read(request, service)
    return JSONResponse({"input_tokens": await _count(service, asked.fields)})


async def _read(request: Request, service: Service) -> Asked:
    asked = await read_asked(request, service)
    asked.fields = to_chat(asked.fields)
    asked.change()
    return asked


async def _count(service: Service, fields: dict[str, Any]) -> int:
    """Returns the number of tokens of a chat's prompt."""
    body = {name: fields[name] for name in _PROMPT if name in fields}
    prompt = json.loads(await service.engine.apply_template(body))["prompt"]
    text = {"model": fields.get("model"), "content": prompt, "add_special": True}
    return len(json.loads(await service.engine.tokenize(text))["tokens"])


ROUTES = (
    Route("POST", ("/v1/messages",), _messages, _SHAPE),
    Route("POST", ("/v1/messages/count_tokens",), _count_tokens, _SHAPE),
)
