"""Questions to the engine that routes of llama-server ask before their own: tokens, texts, adapters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

from ..._ops import Op
from ...terms import RequestOptions
from ..answering import complete
from ..asking import Asked, parse, read_text
from ..errors import HttpError
from ..service import Service

_TOGETHER = 32  # operations of one request that run at once


async def read(request: Request, service: Service) -> Asked:
    """Reads a request whose `model` may be anything, if one model is loaded. Raises `HttpError`."""
    asked = parse(await read_text(request, service))
    model = asked.fields.get("model")
    asked.fields["model"] = service.resolve(model if isinstance(model, str) else None)
    return asked


async def ask(request: Request, service: Service, op: Op, body: Mapping[str, Any]) -> dict[str, Any]:
    """Runs an operation and returns its parsed response."""
    told: dict[str, Any] = json.loads(await complete(request, service, op, json.dumps(body)))
    return told


async def ask_all(
    request: Request,
    service: Service,
    op: Op,
    bodies: Sequence[Mapping[str, Any]],
    options: RequestOptions,
) -> list[str]:
    """Runs an operation for several bodies, some at once, and returns the responses in their order.

    The first failure cancels the others and is raised.
    """
    if len(bodies) == 1:
        return [await complete(request, service, op, json.dumps(bodies[0]), options)]
    room = asyncio.Semaphore(_TOGETHER)

    async def one(body: Mapping[str, Any]) -> str:
        async with room:
            return await complete(request, service, op, json.dumps(body), options)

    running = [asyncio.ensure_future(one(body)) for body in bodies]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for task in running:
            task.cancel()


async def tokenize(
    request: Request, service: Service, model: str, text: str, *, special: bool, parse_special: bool = True
) -> list[int]:
    """Returns the tokens of a text. `special`: with those that a text begins with."""
    body = {"model": model, "content": text, "add_special": special, "parse_special": parse_special}
    tokens: list[int] = (await ask(request, service, "tokenize", body))["tokens"] if text or special else []
    return tokens


async def detokenize(request: Request, service: Service, model: str, tokens: Sequence[int]) -> str:
    """Returns the text of tokens, special ones included."""
    if not tokens:
        return ""
    told = await ask(request, service, "detokenize", {"model": model, "tokens": list(tokens)})
    return str(told["content"])


async def mixed_tokens(
    request: Request,
    service: Service,
    model: str,
    parts: object,
    *,
    special: bool = True,
    parse_special: bool = True,
) -> list[int]:
    """Returns the tokens of a text, or of an array of tokens and texts. Raises `HttpError` 400."""
    if isinstance(parts, str):
        return await tokenize(request, service, model, parts, special=special, parse_special=parse_special)
    if not isinstance(parts, list):
        raise HttpError(400, "invalid prompt: expected a text, or an array of tokens and texts")
    tokens: list[int] = []
    for at, part in enumerate(parts):
        if isinstance(part, str):
            first = special and at == 0
            tokens += await tokenize(
                request, service, model, part, special=first, parse_special=parse_special
            )
        elif isinstance(part, int) and not isinstance(part, bool):
            tokens.append(part)
        else:
            raise HttpError(400, f"invalid prompt[{at}]: expected a token or a text")
    return tokens


async def adapters(
    service: Service, model: str, asked: object, *, by_default: bool
) -> list[dict[str, Any]] | None:
    """Returns the field `lora` of the engine for that of llama-server; None: leave it out.

    Raises:
        HttpError: 400: the field is no array of objects with `id` and `scale`.
    """
    names = [adapter["name"] for adapter in service.engine.lora_list(model)]
    if asked is None:
        return [{"name": name} for name in names] if by_default and names else None
    if not isinstance(asked, list):
        raise HttpError(400, "invalid lora: expected an array of objects with id and scale")
    scales = scales_of(asked, len(names))
    return [{"name": names[number], "scale": scale} for number, scale in scales.items() if scale]


def scales_of(asked: Sequence[object], count: int) -> dict[int, float]:
    """Returns the scales in a field `lora` by the number of their adapter. Raises `HttpError` 400."""
    scales: dict[int, float] = {}
    for at, entry in enumerate(asked):
        number = entry.get("id") if isinstance(entry, dict) else None
        scale = entry.get("scale", 0.0) if isinstance(entry, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < count:
            raise HttpError(
                400, f"invalid lora[{at}].id '{json.dumps(number)[:40]}': there are {count} adapters, from 0"
            )
        if not isinstance(scale, int | float) or isinstance(scale, bool) or not abs(scale) <= 1000:
            raise HttpError(400, f"invalid lora[{at}].scale: expected a number from -1000 to 1000")
        scales[number] = float(scale)
    return scales
