"""`/embedding`, `/embeddings` and the routes of reranking."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import HttpError
from ..routing import Route, service_of
from ..service import Service
from .asking import ask, mixed_tokens, read
from .native import LlamaShape
from .setup import Setup

_SHAPE = LlamaShape()
_LARGEST_NORM = 1024


def routes(setup: Setup) -> tuple[Route, ...]:
    """Returns the routes."""

    def embeddings(openai: bool) -> Any:
        async def answer(request: Request) -> Response:
            if not setup.embeddings:
                raise HttpError(501, "This server does not support embeddings. Start it with `--embeddings`")
            service = service_of(request)
            return JSONResponse(
                await _embed(request, service, setup, (await read(request, service)).fields, openai)
            )

        return answer

    async def rerank(request: Request) -> Response:
        if not setup.reranking:
            raise HttpError(501, "This server does not support reranking. Start it with `--reranking`")
        service = service_of(request)
        return JSONResponse(await _rerank(request, service, (await read(request, service)).fields))

    return (
        Route("POST", ("/embedding", "/embeddings"), embeddings(False), _SHAPE),
        Route("POST", ("/v1/embeddings",), embeddings(True), _SHAPE),
        Route("POST", ("/rerank", "/reranking", "/v1/rerank", "/v1/reranking"), rerank, _SHAPE),
    )


async def _embed(
    request: Request, service: Service, setup: Setup, wanted: Mapping[str, Any], openai: bool
) -> Any:
    each_token = _embeds_tokens(service, wanted["model"])
    if openai and each_token:
        raise HttpError(400, "Pooling type 'none' is not OAI compatible. Please use a different pooling type")
    if wanted.get("input") is None:
        openai = False
    given = wanted.get("input", wanted.get("content"))
    if given is None:
        raise HttpError(400, '"input" or "content" must be provided')
    body: dict[str, Any] = {"model": wanted["model"], "input": await _inputs(request, service, wanted, given)}
    for name in ("dimensions", "encoding_format", "truncate", "normalize"):
        if wanted.get(name) is not None and (openai or name != "encoding_format"):
            body[name] = wanted[name]
    norm = None if each_token else wanted.get("embd_normalize")
    if each_token:
        body["normalize"] = False  # as llama-server, whatever the request says
    elif norm is not None:
        body["normalize"] = _checked_norm(norm) == 2
    told = await ask(request, service, "embed", body)
    if norm not in (None, -1, 2) and body.get("encoding_format") != "base64":
        for entry in told["data"]:
            entry["embedding"] = normalised(entry["embedding"], norm)
    if openai:
        return told
    return [
        {"index": entry["index"], "embedding": entry["embedding"] if each_token else [entry["embedding"]]}
        for entry in told["data"]
    ]


def _embeds_tokens(service: Service, model: str) -> bool:
    """Returns True if the model has a vector for each token of a text."""
    found = (one for one in service.models() if one["id"] == model)
    return any(one.get("details", {}).get("pooling") == "none" for one in found)


def _checked_norm(norm: object) -> int:
    if isinstance(norm, bool) or not isinstance(norm, int) or not -1 <= norm <= _LARGEST_NORM:
        raise HttpError(
            400,
            f"invalid embd_normalize '{json.dumps(norm)[:40]}': expected -1 to {_LARGEST_NORM}",
        )
    return norm


def normalised(vector: Sequence[float], norm: int) -> list[float]:
    """Returns a vector normalised as llama-server does.

    Args:
        vector: The values.
        norm: 0: the largest magnitude becomes 32,760; p from 1: the p-norm becomes 1.
    """
    largest = max(map(abs, vector), default=0.0)
    if largest == 0:
        return list(vector)
    if norm == 0:
        length = largest / 32_760
    else:  # relative to the largest value, so that no power overflows
        length = largest * sum((abs(value) / largest) ** norm for value in vector) ** (1 / norm)
    return [value / length for value in vector]


async def _inputs(request: Request, service: Service, wanted: Mapping[str, Any], given: object) -> Any:
    """Returns the engine's `input` for that of a client: texts, or tokens where a text is mixed with them."""
    single = not isinstance(given, list) or any(isinstance(part, int) for part in given)
    made = []
    for part in [given] if single else given if isinstance(given, list) else []:
        if isinstance(part, dict):
            part = _content(part)
        if isinstance(part, list) and any(isinstance(piece, str) for piece in part):
            part = await mixed_tokens(request, service, wanted["model"], part)
        made.append(part)
    if not made:
        raise HttpError(400, '"input" must not be empty')
    if all(isinstance(part, str) for part in made):
        return made
    return [
        await mixed_tokens(request, service, wanted["model"], part) if isinstance(part, str) else part
        for part in made
    ]


def _content(given: Mapping[str, Any]) -> object:
    """Returns the text of an object entry. Raises `HttpError` 400."""
    if "prompt_string" in given:
        return given["prompt_string"]
    parts = given.get("content")
    if not isinstance(parts, list):
        raise HttpError(400, "invalid input: expected an object with prompt_string, or content as an array")
    texts = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text" or not isinstance(part.get("text"), str):
            raise HttpError(
                400, f"invalid input: content of type '{kind}' is not supported; the model reads text only"
            )
        texts.append(part["text"])
    return "".join(texts)


async def _rerank(request: Request, service: Service, wanted: Mapping[str, Any]) -> Any:
    plain = "texts" in wanted  # the form of Text Embeddings Inference
    documents = wanted.get("texts" if plain else "documents")
    if not isinstance(wanted.get("query"), str):
        raise HttpError(400, '"query" must be provided: a text')
    texts = [_document(document) for document in documents] if isinstance(documents, list) else []
    if not texts or None in texts:
        raise HttpError(400, '"documents" must be a non-empty string array')
    body = {"model": wanted["model"], "query": wanted["query"], "documents": texts}
    for name in ("top_n", "truncate"):
        if wanted.get(name) is not None:
            body[name] = wanted[name]
    if not plain and wanted.get("return_documents") is not None:
        body["return_documents"] = wanted["return_documents"]
    told = await ask(request, service, "rerank", body)
    if not plain:
        return {"object": "list", **told}
    return [
        {
            "index": result["index"],
            "score": result["relevance_score"],
            **({"text": texts[result["index"]]} if wanted.get("return_text") else {}),
        }
        for result in told["results"]
    ]


def _document(document: object) -> str | None:
    text = document.get("text") if isinstance(document, dict) else document
    return text if isinstance(text, str) else None
