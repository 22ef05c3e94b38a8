"""Completions of several prompts: one request of the engine for each, one answer with all their choices."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from .answering import complete
from .asking import Asked
from .errors import HttpError
from .merged import stream_all
from .service import Service
from .shapes import Shape

MAX_PROMPTS = 128  # as many as `n` allows answers


def is_several(prompt: object) -> bool:
    """Returns True if `prompt` is a list of texts or of token lists, and no list of tokens."""
    return isinstance(prompt, list) and bool(prompt) and all(isinstance(one, str | list) for one in prompt)


async def answer_each(request: Request, service: Service, asked: Asked) -> Response:
    """Continues each text of `prompt`; the choices of the prompt at index i are numbered from i * `n`.

    Each prompt counts as a request of its own.

    Raises:
        HttpError: the server refuses the requests.
        SottoError: the engine refuses one of them, or fails before the first token.
    """
    prompts = asked.fields["prompt"]
    if len(prompts) > MAX_PROMPTS:
        raise HttpError(400, f"invalid prompt: {len(prompts)} texts; expected at most {MAX_PROMPTS}")
    bodies = [json.dumps({**asked.fields, "prompt": prompt}) for prompt in prompts]
    if asked.stream:
        given = asked.fields.get("n")
        usages = _Usages(len(prompts))
        step = given if isinstance(given, int) else 1
        shapes = [_Numbered(at * step, usages) for at in range(len(prompts))]
        return await stream_all(request, service, "completion", bodies, asked.options, shapes)
    running = [
        asyncio.ensure_future(complete(request, service, "completion", body, asked.options))
        for body in bodies
    ]
    try:
        answers = [json.loads(told) for told in await asyncio.gather(*running)]
    finally:
        for one in running:
            one.cancel()
    return Response(json.dumps(_merged(answers), ensure_ascii=False), media_type="application/json")


def _merged(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns one answer with the choices of all, numbered, and their usage added up."""
    merged = {**answers[0], "usage": _added([one["usage"] for one in answers])}
    merged["choices"] = [choice for one in answers for choice in one["choices"]]
    for index, choice in enumerate(merged["choices"]):
        choice["index"] = index
    merged.pop("timings", None)  # which are of one request
    return merged


def _added(usages: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    cached = sum(one.get("prompt_tokens_details", {}).get("cached_tokens", 0) for one in usages)
    added: dict[str, Any] = {name: sum(one[name] for one in usages) for name in names}
    return {**added, "prompt_tokens_details": {"cached_tokens": cached}}


class _Usages:
    """The usages of all requests of a stream, and the id of its chunks."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.told: list[dict[str, Any]] = []
        self.id = ""


class _Numbered(Shape):
    """OpenAI's form, with the choices of a request numbered from `offset`, and one usage for all."""

    def __init__(self, offset: int, usages: _Usages) -> None:
        self._offset = offset
        self._usages = usages

    def chunk(self, told: str) -> str:
        """Returns the event for a chunk; none for a usage before the last one."""
        chunk, usages = json.loads(told), self._usages
        usages.id = chunk["id"] = usages.id or chunk["id"]
        if "usage" in chunk and not chunk["choices"]:
            usages.told.append(chunk["usage"])
            if len(usages.told) < usages.expected:
                return ""
            chunk["usage"] = _added(usages.told)
        for choice in chunk["choices"]:
            choice["index"] += self._offset
        return super().chunk(json.dumps(chunk, ensure_ascii=False))
