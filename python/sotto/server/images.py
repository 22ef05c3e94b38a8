"""The routes of OpenAI's API for images: generations and edits; and one that removes backgrounds."""

from __future__ import annotations

import base64
import json
import time
from collections import Counter
from functools import partial
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import Response

from .. import _image_files as files
from .. import aio
from .._transparent import Removal, take_removal
from ..errors import ArgumentError
from ..event import Event
from ..images import ImageOp, read_image
from .answering import Chunks, Follow, answer, complete
from .asking import Asked, parse, read_asked
from .errors import HttpError
from .forms import KIND, number, read_form, truth
from .routing import Route, service_of
from .service import Live, Service
from .shapes import Shape, Typed

MAX_FILE_BYTES = 47 << 20  # in base64, about the longest body that the engine takes
_WHOLE, _STREAM = Shape(), Typed()
_NUMBERS = {
    "n", "seed", "steps", "guidance_scale", "strength", "output_compression", "partial_images", "deadline_ms",
    "target_tps",
}  # fmt: skip
_TRUTHS = {"stream", "embed_metadata", "mask_only", "refine_edges"}
_TEXTS = {
    "model", "prompt", "negative_prompt", "size", "quality", "output_format", "response_format", "priority",
    "on_budget", "user", "background", "background_model",
}  # fmt: skip


async def _generations(request: Request) -> Response:
    """Generates images from a prompt."""
    service = service_of(request)
    asked = await read_asked(request, service)
    return await _answer(request, service, "image_generate", asked, Generated)


async def _edits(request: Request) -> Response:
    """Generates images from another one, where a mask allows it."""
    service = service_of(request)
    asked = await _read_edit(request, service, ("mask",))
    return await _answer(request, service, "image_generate", asked, Edited)


async def _background(request: Request) -> Response:
    """Removes the background of an image."""
    service = service_of(request)
    if request.headers.get("content-type", "").lower().startswith(KIND):
        asked = await _read_edit(request, service)
    else:
        asked = await read_asked(request, service)
    if asked.stream:
        raise HttpError(400, "invalid stream 'true': this answer is not a stream")
    return await _answer(request, service, "image_matte", asked, None)


async def _answer(
    request: Request, service: Service, op: ImageOp, asked: Asked, chunks: type[Generated] | None
) -> Response:
    """Runs an image operation. Images are never written to the server's disk, nor fetched by it."""
    wanted = asked.fields.get("response_format")
    if wanted not in (None, "b64_json"):
        shown = json.dumps(wanted)[:100]
        raise HttpError(400, f"invalid response_format '{shown}': expected b64_json; no file is written")
    for name in ("image", "mask"):
        await anyio.to_thread.run_sync(files.check, name, asked.fields.get(name))
    removal = _take_removal(service, asked) if chunks is not None else None
    if "stream" in asked.fields:
        asked.fields.pop("stream")
        asked.change(**({"response_format": "data"} if asked.stream else {}))
    if removal is None or chunks is None:
        return await answer(request, service, op, asked, _STREAM if asked.stream else _WHOLE, chunks)
    if asked.stream:
        cutting = type(chunks.__name__, (chunks,), {"removal": removal})
        return await answer(request, service, op, asked, _STREAM, cutting)
    told = await complete(request, service, op, asked.text, asked.options, partial(_cut, removal))
    return Response(told, media_type="application/json")


def _take_removal(service: Service, asked: Asked) -> Removal | None:
    """Returns how the background of the generated images is removed, and leaves what generation needs."""
    models = service.models()
    kept, removal = take_removal(
        asked.fields, lambda op: [str(one["id"]) for one in models if op in one["operations"]]
    )
    if removal is not None:
        asked.fields.clear()
        asked.change(**kept)
    return removal


async def _cut(removal: Removal, told: str, follow: Follow) -> str:
    """Returns the response `told` with images without background."""
    response = removal.named(json.loads(told))
    for one in response["data"]:
        file = base64.b64decode(one["b64_json"])
        cut = await follow("image_matte", await anyio.to_thread.run_sync(_matting, removal, file))
        one["b64_json"] = _encoded(removal.read(cut, file))
    return json.dumps(response)


def _matting(removal: Removal, file: bytes) -> str:
    return json.dumps(removal.body(file))


async def _read_edit(request: Request, service: Service, optional: tuple[str, ...] = ()) -> Asked:
    """Returns the request of a form with an image. Raises `HttpError` 400, 408, 413 or 415."""
    form = await read_form(request, service, "image", MAX_FILE_BYTES, optional)
    fields: dict[str, Any] = {}
    for name, value in form.fields:
        if name in _NUMBERS:
            fields[name] = number(name, value)
        elif name in _TRUTHS:
            fields[name] = truth(value)
        elif name in _TEXTS and value:
            fields[name] = value
    for name, data in form.files.items():
        if not files.kind_of(data):
            raise ArgumentError(f"invalid {name} of {len(data):,} bytes: expected {files.FILE}")
        fields[name] = await anyio.to_thread.run_sync(_encoded, data)
    fields["model"] = service.resolve(fields.get("model"))
    return parse(json.dumps(fields))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Generated(Chunks):
    """Previews and images of a request as events of OpenAI's stream of generated images."""

    chunks = False
    name = "image_generation"
    removal: Removal | None = None  # of the background of images, not of previews

    def __init__(self, live: Live, running: aio.Request, ping: float) -> None:
        super().__init__(live, running, ping)
        self._previews: Counter[int] = Counter()  # sent, by the number of their image
        self.abandon = live.end

    async def next(self) -> list[str] | None:
        """Waits for events. Returns an empty list after `ping` seconds without one; None: the end."""
        events = await super().next()
        if not events or self.removal is None:
            return events
        return [await self._cut(self.removal, event) for event in events]

    async def _cut(self, removal: Removal, event: str) -> str:
        """Returns an event with an image without background."""
        told = json.loads(event)
        if not told["type"].endswith("completed"):
            return event
        file = base64.b64decode(told["b64_json"])
        body = await anyio.to_thread.run_sync(_matting, removal, file)
        cut = await self._live.follow("image_matte", body).finish()
        told["b64_json"] = _encoded(removal.read(cut.json, file))
        return json.dumps(removal.named(told), separators=(",", ":"))

    def read(self, batch: list[Event]) -> list[str]:
        """Returns the events."""
        return [self._event(event) for event in batch if event.kind == "data"]

    def _event(self, event: Event) -> str:
        image = read_image(event)
        is_partial = bool(image.info.get("partial"))
        told: dict[str, Any] = {
            "type": f"{self.name}.{'partial_image' if is_partial else 'completed'}",
            "b64_json": _encoded(image.data),
            "created_at": int(time.time()),
            "size": f"{image.width}x{image.height}",
            "output_format": image.format,
            "background": "auto",
            "quality": "auto",
            "image_index": image.number,
        }
        if is_partial:
            told["partial_image_index"] = self._previews[image.number]
            self._previews[image.number] += 1
        elif image.seed is not None:
            told["seed"] = image.seed
        return json.dumps(told, separators=(",", ":"))


class Edited(Generated):
    """The same, of edits."""

    name = "image_edit"


ROUTES = (
    Route("POST", ("/v1/images/generations",), _generations),
    Route("POST", ("/v1/images/edits",), _edits),
    Route("POST", ("/v1/images/background",), _background),
)
