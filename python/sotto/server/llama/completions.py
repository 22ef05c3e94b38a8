"""`/v1/completions` for a server that answers as llama-server does."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response

from ..answering import answer
from ..routing import Route, service_of
from ..several import answer_each
from . import fields
from .asking import read
from .completion import engine_body
from .native import LlamaShape
from .prompts import engine_prompt, several
from .setup import Setup

_SHAPE = LlamaShape()
_NAMES = (*fields.COMPLETION, "n", "stream_options", "logprobs", "suffix", "echo")


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the route."""

    async def completions(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        wanted = asked.fields
        body = await engine_body(request, service, setup, wanted, _NAMES)
        prompts = [
            await engine_prompt(request, service, wanted["model"], prompt)
            for prompt in several(wanted.get("prompt"))
        ]
        if len(prompts) > 1:
            asked.fields = {**body, "prompt": prompts}
            return await answer_each(request, service, asked)
        asked.text = json.dumps({**body, "prompt": prompts[0]})
        return await answer(request, service, "completion", asked, _SHAPE)

    return (Route("POST", ("/v1/completions",), completions, _SHAPE),)
