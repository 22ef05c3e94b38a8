"""Part of `aio.Engine`: generation of images, and removal of backgrounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from . import engine as blocking
from ._aio import Request
from ._desc import Json, StrPath
from ._image_requests import read_request
from ._transparent import read_removal
from ._typing import Unpack
from .data import performed
from .images import Advance, Gathered, Image, ImageOp, Images, Preview
from .terms import RequestOptions


class MakesImages:
    """Part of `aio.Engine`: images."""

    _engine: blocking.Engine
    _ask: Callable[..., Request]

    async def image_generate(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Generates images from a prompt, as `sotto.Engine.image_generate()` does."""
        return await self._image_response("image_generate", request_json, terms)

    async def image_remove_background(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Removes the background of an image, as `sotto.Engine.image_remove_background()` does."""
        return await self._image_response("image_matte", request_json, terms)

    async def generate_images(
        self,
        prompt: str,
        *,
        model: str | None = None,
        n: int = 1,
        size: str | tuple[int, int] | None = None,
        image: StrPath | bytes | Any = None,
        mask: StrPath | bytes | Any = None,
        on_progress: Advance | None = None,
        on_preview: Preview | None = None,
        **fields: Any,
    ) -> Images:
        """Generates images from a prompt, as `sotto.Engine.generate_images()` does."""
        given = {**fields, "n": n, "size": size, "image": image, "mask": mask}
        body, options, removal = await asyncio.to_thread(
            self._engine._generate_body, prompt, model, given, on_preview is not None
        )
        made = Gathered(on_progress, on_preview, removal)
        with performed():
            response = await self._gather("image_generate", body, options, made)
        return made.finish("image_generate", response)

    async def remove_background(
        self, image: StrPath | bytes | Any, *, model: str | None = None, **fields: Any
    ) -> Image:
        """Removes the background of an image, as `sotto.Engine.remove_background()` does."""
        body, options = await asyncio.to_thread(self._engine._matte_body, image, model, fields)
        made = Gathered()
        with performed():
            response = await self._gather("image_matte", body, options, made)
        return made.finish("image_matte", response).images[0]

    async def _image_response(self, op: ImageOp, request_json: Json, terms: RequestOptions) -> str:
        body, path = await asyncio.to_thread(read_request, request_json)
        removal = None
        if op == "image_generate":
            body, removal = await asyncio.to_thread(read_removal, body, self._engine._models)
        with performed():
            if path is None and removal is None:
                return (await self._ask(op, body, terms).finish()).json
            made = Gathered(removal=removal)
            response = await self._gather(op, body, terms, made)
        return await asyncio.to_thread(made.write, op, response, path)

    async def _gather(self, op: ImageOp, body: Json, on: RequestOptions, made: Gathered) -> str:
        """Answers a request, passes its events to `made`, and returns the response."""
        request = self._ask(op, body, on)
        try:
            while (event := await request.next()).kind != "request_done":
                made.hear(event)
        finally:
            request.drop()
        if (removal := made.removal) is not None:
            for at, image in enumerate(made.images):
                cut = await self._ask("image_matte", removal.body(image.data), on).finish()
                made.images[at] = removal.cut(cut.json, image)
        return event.json
