"""Requests of the data plane, and their responses as results."""

from __future__ import annotations

import json
import math
from typing import Any

from ._wire import Call, Credential, Reply, error_of, fail, parsed, plain, reason, segment
from .errors import ApiError, ValidationError
from .types import EmbedResult, RerankItem, RerankResult, TextChunk, TextResult


class Requests:
    """Builds the requests of one endpoint, and reads their responses."""

    def __init__(self, project: str, slug: str, credential: Credential) -> None:
        self.credential = credential
        self._slug = slug
        self._path = f"/endpoint/{segment(project)}/{segment(slug)}/v1"

    def chat(
        self,
        prompt: str | None,
        messages: list[Any] | None,
        temperature: float | None,
        max_tokens: int | None,
        stream: bool,
    ) -> Call:
        """Returns the request of a chat completion.

        Raises:
            ValidationError: An argument is invalid.
        """
        body: dict[str, Any] = {"model": self._slug, "messages": _messages(prompt, messages)}
        body["stream"] = stream
        if temperature is not None:
            if not _is_number(temperature):
                raise ValidationError(f"invalid temperature '{temperature!r}': expected a finite number")
            body["temperature"] = temperature
        if max_tokens is not None:
            if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0:
                raise ValidationError(f"invalid max_tokens '{max_tokens!r}': expected an integer from 0")
            body["max_tokens"] = max_tokens
        return Call("POST", f"{self._path}/chat/completions", body)

    def embeddings(self, input: str | list[str]) -> Call:
        """Returns the request of embeddings. Raises `ValidationError` for an invalid input."""
        texts = [input] if isinstance(input, str) else input
        return Call(
            "POST", f"{self._path}/embeddings", {"model": self._slug, "input": _texts("input", texts)}
        )

    def rerank(self, query: str, documents: list[str], top_n: int | None) -> Call:
        """Returns the request of a ranking. Raises `ValidationError` for an invalid argument."""
        if not isinstance(query, str) or not query.strip():
            raise ValidationError(f"invalid query '{query!r}': expected text that is not blank")
        body: dict[str, Any] = {"model": self._slug, "query": query}
        body["documents"] = _texts("documents", documents)
        if top_n is not None:
            if isinstance(top_n, bool) or not isinstance(top_n, int) or top_n < 1:
                raise ValidationError(f"invalid top_n '{top_n!r}': expected an integer from 1")
            body["top_n"] = top_n
        return Call("POST", f"{self._path}/rerank", body)

    def json(self, call: Call, reply: Reply, resumed: bool) -> dict[str, Any]:
        """Returns the JSON object of a response. Raises the error of an error status.

        `resumed`: whether the request was sent again, which the object says then.
        """
        if not 200 <= reply.status < 300:
            fail(call, reply, self.credential)
        found = parsed(call, reply)
        if not isinstance(found, dict):
            raise _invalid(call, "expected a JSON object")
        return {**found, "resumed": True} if resumed else found


class Chunks:
    """Parses the events of a stream, and notes whether the answer is complete."""

    def __init__(self, call: Call, credential: Credential) -> None:
        self._call, self._credential = call, credential
        self._finished = False  # a chunk had a finish_reason
        self.done = False  # [DONE] has arrived

    def read(self, data: str) -> TextChunk | None:
        """Returns the chunk of one event; None for `[DONE]`.

        Raises:
            InferenceKeyError: The event is an error, or no chunk.
        """
        if data.strip() == "[DONE]":
            self.done = True
            return None
        try:
            raw = json.loads(data)
        except (ValueError, RecursionError):
            raise _invalid(self._call, "an event of the stream is not JSON") from None
        if not isinstance(raw, dict):
            raise _invalid(self._call, "an event of the stream is not a JSON object")
        if raw.get("error") and not raw.get("choices"):
            self._fail(raw)
        choices = raw.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else {}
        delta = first.get("delta") if isinstance(first, dict) else None
        text = delta.get("content") if isinstance(delta, dict) else None
        finish = first.get("finish_reason") if isinstance(first, dict) else None
        self._finished |= finish is not None
        return TextChunk(text if isinstance(text, str) else "", finish, raw)

    def end(self) -> None:
        """Raises `ApiError` if the stream ended before the answer did."""
        if not (self.done or self._finished):
            error = ApiError(
                f"{self._call.method} {self._call.path}: the stream ended before the answer was complete"
            )
            error._lost = True
            raise error

    def _fail(self, raw: dict[str, Any]) -> None:
        error = raw["error"]
        code, message = reason(raw)
        status = error.get("code") if isinstance(error, dict) else None
        if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status < 600:
            status = 500
        raise error_of(self._call, status, code, self._credential.hide(plain(message)))


def text_of(call: Call, raw: dict[str, Any]) -> TextResult:
    """Returns the result of a chat completion."""
    try:
        choice = raw["choices"][0]
        content = choice["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise _invalid(call, "expected choices[0].message") from None
    if content is not None and not isinstance(content, str):
        raise _invalid(call, "expected text in choices[0].message.content")
    return TextResult(content or "", _model(raw), choice.get("finish_reason"), raw)


def embeddings_of(call: Call, raw: dict[str, Any]) -> EmbedResult:
    """Returns the result of embeddings: the vectors in the order of the inputs."""
    data = raw.get("data")
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise _invalid(call, "expected a list 'data' of objects")
    wanted = len(call.body["input"])
    indices = [one.get("index", place) for place, one in enumerate(data)]
    if sorted(indices, key=str) != sorted(range(wanted), key=str):
        raise _invalid(call, f"expected {wanted} embeddings, one for each input")
    vectors = [one.get("embedding") for _, one in sorted(zip(indices, data, strict=True), key=_first)]
    if not all(isinstance(one, list) and all(map(_is_number, one)) for one in vectors):
        raise _invalid(call, "expected an embedding of numbers")
    return EmbedResult(vectors, _model(raw), raw)


def ranking_of(call: Call, raw: dict[str, Any]) -> RerankResult:
    """Returns the result of a ranking, best first."""
    found = raw.get("results")
    if not isinstance(found, list):
        raise _invalid(call, "expected a list 'results'")
    items = []
    for one in found:
        score = one.get("relevance_score", one.get("score")) if isinstance(one, dict) else None
        index = one.get("index") if isinstance(one, dict) else None
        if score is None or not _is_number(score) or not isinstance(index, int):
            raise _invalid(call, "expected 'index' and 'relevance_score' in each result")
        items.append(RerankItem(index, float(score)))
    items.sort(key=lambda item: -item.relevance_score)
    return RerankResult(items, _model(raw), raw)


def _messages(prompt: str | None, messages: list[Any] | None) -> list[Any]:
    if prompt is not None and messages is not None:
        raise ValidationError("invalid prompt and messages: expected one of them")
    if prompt is not None:
        if not isinstance(prompt, str) or not prompt.strip():
            raise ValidationError(f"invalid prompt '{str(prompt)[:100]}': expected text that is not blank")
        return [{"role": "user", "content": prompt}]
    if messages is None:
        raise ValidationError("invalid prompt 'None': expected a prompt or messages")
    if not isinstance(messages, list) or not messages:
        raise ValidationError("invalid messages: expected a list with at least one message")
    for place, one in enumerate(messages):
        if not isinstance(one, dict) or not isinstance(one.get("role"), str):
            raise ValidationError(f"invalid messages[{place}]: expected a dict with 'role' and 'content'")
    return messages


def _texts(name: str, texts: Any) -> list[str]:
    if not isinstance(texts, list | tuple) or not texts:
        raise ValidationError(f"invalid {name}: expected at least one text")
    if not all(isinstance(one, str) for one in texts):
        raise ValidationError(f"invalid {name}: expected texts")
    return list(texts)


def _model(raw: dict[str, Any]) -> str:
    model = raw.get("model")
    return model if isinstance(model, str) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _invalid(call: Call, what: str) -> ApiError:
    return ApiError(f"{call.method} {call.path}: invalid response: {what}")
