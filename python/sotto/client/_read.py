"""Reads the dataclasses from the servers' responses. Fields that a server leaves out have their defaults."""

from __future__ import annotations

import base64
import struct
import time
import uuid
from dataclasses import fields
from typing import Any

from ._json import Answer, Value
from .errors import ApiError
from .types import (
    Choice,
    CompletionResponse,
    EmbeddingData,
    EmbeddingsResponse,
    HealthStatus,
    LoraAdapter,
    Message,
    ModelInfo,
    RerankResponse,
    RerankResult,
    SlotInfo,
    StopType,
    Timings,
    TokenizeResponse,
    Usage,
)

_FINISH = {StopType.EOS: "stop", StopType.WORD: "stop", StopType.LIMIT: "length", StopType.NONE: None}
_LOADING = 503


def chat(answer: Answer) -> CompletionResponse:
    """Returns the response of `/v1/chat/completions`."""
    body = answer.json()
    return CompletionResponse(
        id=body["id"].text(""),
        object=body["object"].text("chat.completion"),
        created=body["created"].integer(0),
        model=body["model"].text(""),
        choices=[_chat_choice(one, index) for index, one in enumerate(body["choices"].items())],
        usage=_usage(body["usage"]),
        timings=_timings(body["timings"]),
        system_fingerprint=body["system_fingerprint"].text(None),
        raw=body.value,
    )


def native(answer: Answer) -> CompletionResponse:
    """Returns the response of `/completion` and `/infill`: one object, or one per prompt.

    These have neither an id nor a time: the client adds both.
    """
    body = answer.json()
    ones = list(body.items()) if isinstance(body.value, list) else [body]
    if not ones:
        body.fail("an array with one result per prompt")
    counts = [(one["tokens_evaluated"].integer(0), one["tokens_predicted"].integer(0)) for one in ones]
    prompt, predicted = (sum(column) for column in zip(*counts, strict=True))
    return CompletionResponse(
        id=ones[0]["id"].text(None) or f"cmpl-{uuid.uuid4().hex}",
        object="text_completion",
        created=ones[0]["created"].integer(None) or int(time.time()),
        model=ones[0]["model"].text(""),
        choices=[_native_choice(one, index) for index, one in enumerate(ones)],
        usage=Usage(prompt, predicted, prompt + predicted),
        timings=_timings(ones[0]["timings"]),
        system_fingerprint=ones[0]["system_fingerprint"].text(None),
        raw=body.value,
    )


def embeddings(answer: Answer) -> EmbeddingsResponse:
    """Returns the response of `/v1/embeddings`, in the order of the inputs. Decodes base64."""
    body = answer.json()
    data = [
        EmbeddingData(one["index"].integer(index), _vector(one["embedding"]), one["object"].text("embedding"))
        for index, one in enumerate(body["data"].items())
    ]
    return EmbeddingsResponse(
        object=body["object"].text("list"),
        data=sorted(data, key=lambda one: one.index),
        model=body["model"].text(""),
        usage=_usage(body["usage"]) or Usage(0, 0, 0),
    )


def vectors(answer: Answer, inputs: int | None) -> list[list[float]]:
    """Returns the vectors of `/embedding`: one per input, or one per token of one text (`inputs` None)."""
    body = answer.json()
    ones = list(body.items()) if isinstance(body.value, list) else [body]
    ones.sort(key=lambda one: one["index"].integer(0))
    found: list[list[float]] = []
    for one in ones:
        embedding = one["embedding"]
        nested = bool(embedding.list()) and isinstance(embedding.list()[0], list)
        rows = [_vector(row) for row in embedding.items()] if nested else [_vector(embedding)]
        if inputs is not None and len(rows) != 1:
            embedding.fail("one vector; this server does not pool: embed one text per call")
        found += rows
    if inputs is not None and len(found) != inputs:
        body.fail(f"an array of {inputs} results")
    return found


def rerank(answer: Answer, documents: list[str]) -> RerankResponse:
    """Returns the response of `/v1/rerank`: the most relevant first, with the documents."""
    body = answer.json()
    results = []
    for one in body["results"].items():
        index = one["index"].integer()
        if not 0 <= index < len(documents):
            one["index"].fail(f"an index of {len(documents)} documents")
        results.append(RerankResult(index, one["relevance_score"].number(), documents[index]))
    results.sort(key=lambda result: -result.relevance_score)
    return RerankResponse(body["model"].text(""), results, _usage(body["usage"]))


def tokens(answer: Answer) -> TokenizeResponse:
    """Returns the response of `/tokenize`."""
    return TokenizeResponse(answer.json()["tokens"].list())


def text_of(answer: Answer, name: str) -> str:
    """Returns one string of an object."""
    return answer.json()[name].text()  # type: ignore[no-any-return]


def mapping(answer: Answer) -> dict[str, Any]:
    """Returns an object as it is."""
    return answer.json().mapping()


def success(answer: Answer) -> bool:
    """Returns the field `success`."""
    return answer.json()["success"].flag(True)  # type: ignore[no-any-return]


def health(answer: Answer) -> HealthStatus:
    """Returns the response of `/health`. Status 503 without a status in the body is "loading"."""
    try:
        body = answer.json()
        found = body.mapping().get("status")
    except ApiError:
        if answer.status != _LOADING:
            raise
        return HealthStatus("loading")
    status = found if isinstance(found, str) else "loading" if answer.status == _LOADING else "ok"
    return HealthStatus(status, body["slots_idle"].integer(None), body["slots_processing"].integer(None))


def slots(answer: Answer) -> list[SlotInfo]:
    """Returns the response of `/slots`."""
    return [_slot(one) for one in answer.json().items()]


def adapters(answer: Answer) -> list[LoraAdapter]:
    """Returns the response of `/lora-adapters`."""
    return [
        LoraAdapter(one["id"].integer(), one["path"].text(""), one["scale"].number(0.0))
        for one in answer.json().items()
    ]


def models(answer: Answer) -> list[ModelInfo]:
    """Returns the response of `/v1/models`."""
    body = answer.json()
    able: dict[str, bool] = {}
    for one in body["models"].items() if body["models"] else ():
        capabilities = one["capabilities"].raw() or []
        able[one["name"].text("")] = "multimodal" in capabilities
    return [
        ModelInfo(
            id=one["id"].text(),
            object=one["object"].text("model"),
            created=one["created"].integer(0),
            owned_by=one["owned_by"].text("llamacpp"),
            meta=one["meta"].raw(),
            status=one["status"].raw(),
            multimodal=able.get(one["id"].text(), False),
        )
        for one in body["data"].items()
    ]


def _chat_choice(one: Value, index: int) -> Choice:
    message = one["message"]
    calls = message["tool_calls"]
    return Choice(
        index=one["index"].integer(index),
        message=Message(
            role=message["role"].text("assistant"),
            content=message["content"].text(None),
            tool_calls=calls.list() or None if calls else None,
            reasoning_content=message["reasoning_content"].text(None),
        ),
        finish_reason=one["finish_reason"].text(None),
        stop_type=_stop_type(one["stop_type"]),
        stopping_word=one["stopping_word"].text(None),
        tokens=one["tokens"].list() if one["tokens"] else None,
        logprobs=one["logprobs"].raw(),
    )


def _native_choice(one: Value, index: int) -> Choice:
    stop_type = _stop_type(one["stop_type"])
    return Choice(
        index=index,
        text=one["content"].text(),
        finish_reason=_FINISH[stop_type] if stop_type else one["finish_reason"].text(None),
        stop_type=stop_type,
        stopping_word=one["stopping_word"].text(None),
        tokens=one["tokens"].list() if one["tokens"] else None,
        logprobs=one["completion_probabilities"].raw(),
    )


def _stop_type(value: Value) -> StopType | None:
    found = value.text(None)
    return StopType(found) if found in {one.value for one in StopType} else None


def _usage(value: Value) -> Usage | None:
    if not value:
        return None
    prompt, completion = value["prompt_tokens"].integer(0), value["completion_tokens"].integer(0)
    return Usage(prompt, completion, value["total_tokens"].integer(prompt + completion))


def _timings(value: Value) -> Timings | None:
    if not value:
        return None
    numbers: dict[str, Any] = {}
    for one in fields(Timings):
        read = value[one.name].integer if one.name.endswith("_n") else value[one.name].number
        numbers[one.name] = read(one.default)
    return Timings(**numbers)


def _vector(value: Value) -> list[float]:
    if not isinstance(value.value, str):
        return [
            float(number) if _number(number) else value.fail("an array of numbers") for number in value.list()
        ]
    try:
        raw = base64.b64decode(value.value, validate=True)
        return list(struct.unpack(f"<{len(raw) // 4}f", raw))
    except (ValueError, struct.error):
        return value.fail("float32 values in base64")  # type: ignore[no-any-return]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _slot(one: Value) -> SlotInfo:
    params = one["params"].mapping() if one["params"] else {}
    limit = params.get("n_predict", params.get("max_tokens", -1))
    return SlotInfo(
        id=one["id"].integer(),
        is_processing=one["is_processing"].flag(False),
        n_ctx=one["n_ctx"].integer(0),
        n_predict=one["n_predict"].integer(limit if isinstance(limit, int) else -1),
        params=params,
        prompt=one["prompt"].raw() if isinstance(one["prompt"].raw(), str) else "",
        raw=one.mapping(),
    )
