"""The prompts of a request of llama-server: a text, tokens, both mixed, an object, or an array of these."""

from __future__ import annotations

from typing import Any, cast

from starlette.requests import Request

from ..errors import HttpError
from ..service import Service
from .asking import mixed_tokens
from .media import prompt_parts

MAX_PROMPTS = 1024


def several(given: object) -> list[Any]:
    """Returns the single prompts of a field `prompt`. Raises `HttpError` 400."""
    if not isinstance(given, list) or _one(given):
        return [given]
    if not 0 < len(given) <= MAX_PROMPTS:
        raise HttpError(400, f"invalid prompt: expected 1 to {MAX_PROMPTS} prompts, not {len(given)}")
    return given


async def engine_prompt(
    request: Request, service: Service, model: str, given: object
) -> str | list[int] | list[dict[str, Any]]:
    """Returns a single prompt as the engine takes it. Raises `HttpError` 400."""
    if isinstance(given, dict):
        media, given = given.get("multimodal_data"), _text(given)
        if media:
            if not isinstance(given, str):
                raise HttpError(400, "invalid prompt_string: expected a text beside multimodal_data")
            return prompt_parts(given, media)
    if isinstance(given, str):
        if not given:
            raise HttpError(400, "invalid prompt: it is empty")
        return given
    if isinstance(given, list) and any(isinstance(part, str) for part in given):
        return await mixed_tokens(request, service, model, given)
    if not isinstance(given, list) or not given:
        raise HttpError(400, '"prompt" must be provided: a text, or an array of tokens, texts or prompts')
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in given):
        raise HttpError(400, "invalid prompt: expected tokens, texts, or both mixed")
    return cast("list[int]", given)


def _text(given: dict[str, Any]) -> object:
    if "prompt_string" not in given:
        raise HttpError(400, "invalid prompt: expected an object with prompt_string")
    return given["prompt_string"]


def _one(given: list[Any]) -> bool:
    """Returns whether an array is one prompt: tokens, perhaps mixed with texts."""
    return any(isinstance(part, int) for part in given)
