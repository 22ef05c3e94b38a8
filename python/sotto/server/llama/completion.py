"""`/completion`, `/completions` and `/infill`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from ..._ops import Op
from ..answering import answer
from ..asking import Asked
from ..errors import HttpError
from ..merged import stream_all
from ..routing import Route, service_of
from ..service import Service
from . import fields, settings
from .asking import adapters, ask_all, detokenize, read, tokenize
from .media import MARKER
from .native import LlamaShape, Native
from .prompts import engine_prompt, several
from .setup import Setup

SHAPE = LlamaShape()
_MAX_FIELDS = 256


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes."""

    async def completion(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        return await _answer(request, service, setup, asked, "completion")

    async def infill(request: Request) -> Response:
        service = service_of(request)
        asked = await read(request, service)
        _check_infill(service, asked.fields)
        return await _answer(request, service, setup, asked, "infill")

    return (
        Route("POST", ("/completion", "/completions", "/v1/completion"), completion, SHAPE),
        Route("POST", ("/infill", "/v1/infill"), infill, SHAPE),
    )


async def _answer(request: Request, service: Service, setup: Setup, asked: Asked, op: Op) -> Response:
    """Answers for each prompt of the request; with several, with an array."""
    wanted = asked.fields
    model: str = wanted["model"]
    body = await engine_body(request, service, setup, wanted, fields.COMPLETION)
    body.update(return_tokens=True, return_settings=True)
    given = [wanted.get("prompt") or ""] if op == "infill" else several(wanted.get("prompt"))
    bodies, shapes = [], []
    for number, prompt in enumerate(_repeated(given, wanted)):
        made = dict(body)
        if op == "completion":
            made["prompt"] = await engine_prompt(request, service, model, prompt)
        elif not prompt:
            made.pop("prompt", None)
        if number and "seed" in made and isinstance(made["seed"], int) and made["seed"] >= 0:
            made["seed"] += number if _copies(wanted) > 1 else 0
        bodies.append(made)
        text = await _prompt_text(request, service, model, made.get("prompt", ""))
        shapes.append(_shape(number, text, setup, wanted, made))
    if asked.stream and len(bodies) > 1:
        texts = [json.dumps(body) for body in bodies]
        return await stream_all(request, service, op, texts, asked.options, shapes)
    if asked.stream:
        asked.text = json.dumps(bodies[0])
        return await answer(request, service, op, asked, shapes[0])
    told = await ask_all(request, service, op, bodies, asked.options)
    whole = [shape.whole(text) for shape, text in zip(shapes, told, strict=True)]
    text = whole[0] if len(whole) == 1 else f"[{','.join(whole)}]"
    return Response(text, media_type="application/json")


async def engine_body(
    request: Request, service: Service, setup: Setup, wanted: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    """Returns the engine's request, with texts of `logit_bias` as tokens and numbers of adapters as names."""
    body = fields.body(wanted, setup, names)
    if (bias := wanted.get("logit_bias")) is not None:
        body["logit_bias"] = await _bias(request, service, wanted["model"], bias)
    lora = await adapters(service, wanted["model"], wanted.get("lora"), by_default=setup.all_adapters)
    if lora is not None:
        body["lora"] = lora
    return body


async def _bias(request: Request, service: Service, model: str, given: object) -> list[list[Any]]:
    """Returns a `logit_bias` as pairs; the bias of a text goes to each of its tokens."""
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, list):
        raise HttpError(400, "invalid logit_bias: expected an object, or an array of [token, bias]")
    made: list[list[Any]] = []
    for at, pair in enumerate(pairs):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise HttpError(400, f"invalid logit_bias[{at}]: expected [token, bias]")
        token, bias = pair
        if isinstance(token, str) and not token.isdecimal():
            tokens: list[Any] = await tokenize(request, service, model, token, special=False)
        else:
            tokens = [int(token) if isinstance(token, str) else token]
        made.extend([token, bias] for token in tokens)
    return made


def _shape(
    number: int, text: str, setup: Setup, wanted: Mapping[str, Any], body: Mapping[str, Any]
) -> Native:
    only = wanted.get("response_fields") or []
    if not isinstance(only, list) or not all(isinstance(name, str) for name in only[:_MAX_FIELDS]):
        raise HttpError(400, "invalid response_fields: expected an array of names")
    return Native(
        index=number,
        prompt=text,
        settings=settings.settings(wanted, body, setup),
        only=only[:_MAX_FIELDS],
        tokens=bool(wanted.get("return_tokens")),
        silent=fields.max_tokens(wanted, setup) == 0,
    )


async def _prompt_text(
    request: Request, service: Service, model: str, prompt: str | list[int] | list[dict[str, Any]]
) -> str:
    """Returns a prompt as the model sees it, with the tokens that a text begins with."""
    if isinstance(prompt, list) and isinstance(prompt[0], dict):
        prompt = "".join(part.get("text", MARKER) for part in prompt)
    if isinstance(prompt, list):
        return await detokenize(request, service, model, cast("list[int]", prompt))
    return await _opening(request, service, model) + prompt if prompt else ""


async def _opening(request: Request, service: Service, model: str) -> str:
    """Returns the text of the tokens that the model begins a text with."""
    name = f"opening of {model}"
    if name not in service.facts:
        tokens = await tokenize(request, service, model, "", special=True)
        service.facts[name] = await detokenize(request, service, model, tokens)
    return service.facts[name]


def _copies(wanted: Mapping[str, Any]) -> int:
    copies = wanted.get("n_cmpl", wanted.get("n")) or 1
    if isinstance(copies, bool) or not isinstance(copies, int) or not 1 <= copies <= 128:
        raise HttpError(400, f"invalid n_cmpl '{json.dumps(copies)[:40]}': expected an integer from 1 to 128")
    return copies


def _repeated(given: list[Any], wanted: Mapping[str, Any]) -> list[Any]:
    return [prompt for prompt in given for _ in range(_copies(wanted))]


def _check_infill(service: Service, wanted: Mapping[str, Any]) -> None:
    for name in ("input_prefix", "input_suffix"):
        if not isinstance(wanted.get(name), str):
            raise HttpError(400, f'"{name}" is required: a text')
    if wanted.get("prompt") is not None and not isinstance(wanted["prompt"], str):
        raise HttpError(400, '"prompt" must be a string')
    extra = wanted.get("input_extra") or []
    if not isinstance(extra, list):
        raise HttpError(400, '"input_extra" must be an array of {"filename": string, "text": string}')
    for at, chunk in enumerate(extra):
        if not isinstance(chunk, dict) or not isinstance(chunk.get("text"), str):
            raise HttpError(400, f"invalid input_extra[{at}]: expected an object with a text")
        if not isinstance(chunk.get("filename", ""), str):
            raise HttpError(400, f"invalid input_extra[{at}].filename: expected a text")
