"""The routes of OpenAI's API for speech to text: transcriptions, and translations into English."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from .._subtitles import subtitles, web_subtitles
from ..data import Transcription, read_transcription, sound_of
from ..event import Event
from .answering import Chunks, answer, complete
from .asking import Asked, parse
from .errors import HttpError
from .forms import Form, number, read_form, truth
from .routing import Endpoint, Route, service_of
from .service import Service
from .shapes import Typed

MAX_FILE_BYTES = 47 << 20  # in base64, about the longest body that the engine takes
_NUMBERS = ("temperature", "deadline_ms", "target_tps")
_TEXTS = ("model", "language", "prompt", "priority", "on_budget")
_GRANULARITIES = "timestamp_granularities"


def _write_json(heard: Transcription, words: bool) -> Response:
    seconds = math.ceil(heard.raw.get("duration", 0))
    return JSONResponse({"text": heard.text, "usage": {"type": "duration", "seconds": seconds}})


def _write_verbose(heard: Transcription, words: bool) -> Response:
    return JSONResponse(dict(heard.raw))


_FORMS: Mapping[str, Callable[[Transcription, bool], Response]] = {
    "json": _write_json,
    "text": lambda heard, words: PlainTextResponse(f"{heard.text}\n"),
    "srt": lambda heard, words: PlainTextResponse(
        subtitles(heard, words=words), media_type="application/x-subrip"
    ),
    "vtt": lambda heard, words: PlainTextResponse(web_subtitles(heard, words=words), media_type="text/vtt"),
    "verbose_json": _write_verbose,
}


def _endpoint(task: str) -> Endpoint:
    """Returns the endpoint of a task of the engine's operation `transcribe`."""

    async def endpoint(request: Request) -> Response:
        service = service_of(request)
        form = await read_form(request, service, "file", MAX_FILE_BYTES)
        asked, written = _asked(form)
        body = {
            **asked.fields,
            **await anyio.to_thread.run_sync(sound_of, form.files["file"], 0),
            "model": _model(service, asked.fields.get("model")),
            "task": task,
        }
        asked.text = json.dumps(body)
        if asked.stream:
            return await answer(request, service, "transcribe", asked, Typed(), _Spoken)
        told = await complete(request, service, "transcribe", asked.text, asked.options)
        return _FORMS[written](read_transcription(told), "word" in body.get(_GRANULARITIES, ()))

    return endpoint


def _asked(form: Form) -> tuple[Asked, str]:
    """Returns the request of a form, and the form of its answer. Raises `HttpError` 400."""
    fields: dict[str, Any] = {}
    written, granularities = "json", []
    for name, value in form.fields:
        if name.removesuffix("[]") == _GRANULARITIES:
            granularities.append(value)
        elif name == "response_format":
            written = value
        elif name == "stream":
            fields[name] = truth(value)
        elif name in _NUMBERS or name == "beam_size":
            fields[name] = number(name, value)
        elif name in _TEXTS and value:
            fields[name] = value
    if written not in _FORMS:
        raise HttpError(400, f"invalid response_format '{written[:100]}': expected {', '.join(_FORMS)}")
    if granularities:
        fields[_GRANULARITIES] = granularities
    asked = parse(json.dumps(fields))
    if asked.stream and written not in ("json", "text"):
        raise HttpError(400, f"invalid response_format '{written}': a stream is json")
    return asked, written


def _model(service: Service, asked: str | None) -> str:
    """Returns the id of the model that hears: the one asked for, or the only one."""
    models = service.models()
    hears = [one["id"] for one in models if one.get("details", {}).get("architecture") == "whisper"]
    named = asked in [one["id"] for one in models] or (asked and service.settings.strict_models)
    if len(hears) == 1 and not named:
        return str(hears[0])
    return service.resolve(asked)


class _Spoken(Chunks):
    """The segments of a transcription as OpenAI's events, and the whole text as the last one."""

    chunks = False

    def read(self, batch: list[Event]) -> list[str]:
        """Returns the events."""
        told: list[dict[str, Any]] = []
        for event in batch:
            if event.kind == "text":
                told.append({"type": "transcript.text.delta", "delta": event.text})
            elif event.kind == "request_done":
                told.append({"type": "transcript.text.done", "text": read_transcription(event.json).text})
        return [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in told]


ROUTES = (
    Route("POST", ("/v1/audio/transcriptions",), _endpoint("transcribe")),
    Route("POST", ("/v1/audio/translations",), _endpoint("translate")),
)
