"""Images: generation from a prompt, and removal of backgrounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from . import _image_files as files
from ._desc import Json, StrPath, path_text
from ._image_requests import read_request, typed_fields
from ._json import load
from ._transparent import Removal, read_removal, take_removal
from ._typing import Unpack
from ._values import invalid, string, wrong_type
from .completion import Completes
from .data import performed
from .errors import ArgumentError, InferenceError, Status
from .event import Event
from .terms import RequestOptions

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_PREVIEWS = 3  # of each image, with `on_preview`

ImageOp = Literal["image_generate", "image_matte"]
Advance = Callable[[float], None]  # called with a fraction from 0 to 1


class Image(NamedTuple):
    """An image, as a file in memory or as pixels.

    Attributes:
        data: Bytes of the file. Of raw pixels: RGBA, rows from the top; 1 byte per pixel of a mask.
        format: "png", "webp" or "raw".
        width: Pixels of a row.
        height: Rows.
        seed: Seed that generates this image again; None: it was not generated.
        number: Number of the image in its request, from 0.
        info: JSON object of the event that delivered it.
    """

    data: bytes
    format: str
    width: int
    height: int
    seed: int | None = None
    number: int = 0
    info: Mapping[str, Any] = _NOTHING

    @property
    def png(self) -> bytes:
        """Bytes of the PNG file.

        Raises:
            ArgumentError: The image has another format; `data` has its bytes.
        """
        if self.format != "png":
            raise ArgumentError(
                f'the image has the format "{self.format}": use data, or generate it as "png"'
            )
        return self.data

    def save(self, path: StrPath) -> str:
        """Writes the file under its name once it is complete, and returns the path.

        Args:
            path: A name that ends with the image's format, .png or .webp. An earlier file is replaced; a
                missing folder is created.

        Raises:
            ArgumentError: The name has another ending, or the image is raw pixels.
            SottoError: The folder is read-only or the disk is full; an earlier file stays.
        """
        to = path_text("path", path)
        if self.format == "raw":
            raise ArgumentError('raw pixels are no file: generate the image with output_format="png"')
        if files.format_of(to, None) != self.format:
            raise ArgumentError(invalid("path", to, f"a file name that ends with .{self.format}"))
        files.write(to, self.data)
        return to

    def array(self) -> Any:
        """Returns the pixels as a numpy array of uint8.

        Returns:
            Height x width x 3 (red, green, blue) or 4 (with alpha, not premultiplied); height x width of a
            grey image. Needs numpy. Raw pixels have 4 channels and are not copied; a file needs Pillow.

        Raises:
            ArgumentError: Pillow is missing.
        """
        return files.pixels_of(self.data, self.format, self.width, self.height)


class Images(NamedTuple):
    """Generated images.

    Attributes:
        images: The images, in order.
        prompt: The prompt that was used: the guardrails of image prompts may have rewritten it.
        raw: The response.
    """

    images: tuple[Image, ...]
    prompt: str = ""
    raw: Mapping[str, Any] = _NOTHING

    @property
    def png(self) -> bytes:
        """Bytes of the first image, see `Image.png`."""
        return self.images[0].png

    @property
    def seed(self) -> int | None:
        """Seed of the first image."""
        return self.images[0].seed

    def save(self, path: StrPath) -> tuple[str, ...]:
        """Writes all images, as `Image.save()` does: "fox.png", "fox-2.png", "fox-3.png", ..."""
        to = path_text("path", path)
        return tuple(one.save(files.numbered(to, at)) for at, one in enumerate(self.images))

    def array(self) -> Any:
        """Returns the pixels of the first image, see `Image.array()`."""
        return self.images[0].array()


Preview = Callable[[Image], None]  # called with an image that is not complete


class MakesImages(Completes):
    """Part of `Engine`: generation of images, and removal of backgrounds."""

    def image_generate(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Generates images from a prompt and returns OpenAI's response as JSON. Waits for all images.

        Args:
            request_json: The request: `model`, `prompt`, and the optional fields of
                [Requests](requests.md#images). With `response_format` "file", each image is written to
                `path`, whose ending chooses the format; several images get "-2", "-3" before the ending.
            **terms: See `RequestOptions`.

        Returns:
            `created`, and `data`: for each image `b64_json`, or `path` with `response_format` "file", its
            `seed`, and the `revised_prompt` that was used.

        Raises:
            ArgumentError: The request is invalid.
            InferenceError: The model failed or does not generate images, or a guardrail blocked the prompt
                (`Status.BLOCKED`).
            SottoError: A file cannot be written.
        """
        return self._image_response("image_generate", request_json, terms)

    def image_remove_background(self, request_json: Json, **terms: Unpack[RequestOptions]) -> str:
        """Removes the background of an image and returns the response as JSON. Waits for it.

        Args:
            request_json: The request: `model`, `image` in base64 or as a data URL, and the optional fields of
                [Requests](requests.md#images). `response_format` "file": as of `image_generate()`.
            **terms: See `RequestOptions`.

        Returns:
            `data`: one image, of the same size, as `b64_json` or `path`.

        Raises:
            ArgumentError: The request is invalid; `image` is no PNG, JPEG or WebP file.
            InferenceError: The model failed, or it does not remove backgrounds.
            SottoError: The file cannot be written.
        """
        return self._image_response("image_matte", request_json, terms)

    def generate_images(
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
        """Generates images from a prompt, and waits for all of them.

        Args:
            prompt: What the images show.
            model: Id of a loaded model that generates images; None: the only one that is loaded.
            n: Number of images, 1 to 16. Image number i has the seed plus i.
            size: Width and height in pixels, (512, 768) or "512x768"; None: the model's own.
            image: Image to start from: a path, the bytes of a file, or an array of uint8, height x width x 3
                or 4.
            mask: Image whose transparent pixels are generated anew; of an opaque one, the white pixels.
            on_progress: Is called with the fraction of the denoise steps that is done, 0 to 1.
            on_preview: Is called with previews; `number` of a preview says which image it becomes.
            **fields: Other fields of [Requests](requests.md#images), such as `seed`, `steps` and
                `background`, and `priority`, `deadline` and `target_tps`.

        Raises:
            ArgumentError: A field is misspelt or out of range, or an image cannot be read.
            InferenceError: As of `image_generate()`.

        An exception in `on_progress` or `on_preview` cancels the request.

        >>> fox = engine.generate_images("a fox in a red scarf", model="painter", size=(512, 512), seed=7)
        >>> fox.save("fox.png")
        """
        given = {**fields, "n": n, "size": size, "image": image, "mask": mask}
        body, options, removal = self._generate_body(prompt, model, given, on_preview is not None)
        made = Gathered(on_progress, on_preview, removal)
        with performed():
            response = self._gather("image_generate", body, options, made)
        return made.finish("image_generate", response)

    def remove_background(
        self, image: StrPath | bytes | Any, *, model: str | None = None, **fields: Any
    ) -> Image:
        """Removes the background of an image, and waits for the result.

        Args:
            image: A path, the bytes of a file, or an array of uint8, height x width x 3 or 4.
            model: Id of a loaded model that removes backgrounds; None: the only one that is loaded.
            **fields: Other fields of [Requests](requests.md#images), such as `mask_only`, and `priority`,
                `deadline` and `target_tps`.

        Returns:
            An image of the same size, with alpha.

        Raises:
            ArgumentError: A field is misspelt or out of range, or the image cannot be read.
            InferenceError: The model failed, or it does not remove backgrounds.
        """
        body, options = self._matte_body(image, model, fields)
        made = Gathered()
        with performed():
            response = self._gather("image_matte", body, options, made)
        return made.finish("image_matte", response).images[0]

    def _image_response(self, op: ImageOp, request_json: Json, terms: RequestOptions) -> str:
        body, path = read_request(request_json)
        body, removal = read_removal(body, self._models) if op == "image_generate" else (body, None)
        with performed():
            if path is None and removal is None:
                return self._ask(op, body, terms).finish().json
            made = Gathered(removal=removal)
            response = self._gather(op, body, terms, made)
        return made.write(op, response, path)

    def _gather(self, op: ImageOp, body: Json, on: RequestOptions, made: Gathered) -> str:
        """Answers a request, passes its events to `made`, and returns the response."""
        with self._ask(op, body, on) as request:
            while (event := request.next()).kind != "request_done":
                made.hear(event)
        if (removal := made.removal) is not None:
            for at, image in enumerate(made.images):
                cut = self._ask("image_matte", removal.body(image.data), on).finish()
                made.images[at] = removal.cut(cut.json, image)
        return event.json

    def _generate_body(
        self, prompt: str, model: str | None, fields: Mapping[str, Any], previews: bool
    ) -> tuple[dict[str, Any], RequestOptions, Removal | None]:
        given = {name: value for name, value in fields.items() if value is not None}
        for name in ("image", "mask"):
            if name in given:
                given[name] = files.encoded(name, given[name])
        if isinstance(given.get("size"), list | tuple):
            given["size"] = "x".join(map(str, given["size"]))
        if previews:
            given.setdefault("partial_images", _PREVIEWS)
        given, removal = take_removal(typed_fields(given), self._models)
        body, options = self._with_model(
            "image_generate", model, given, prompt=string("prompt", prompt), response_format="data"
        )
        return body, options, removal

    def _matte_body(
        self, image: object, model: str | None, fields: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RequestOptions]:
        return self._with_model(
            "image_matte",
            model,
            typed_fields(fields),
            image=files.encoded("image", image),
            response_format="data",
        )


class Gathered:
    """The images of a request, from its events.

    Attributes:
        images: The images, in the order in which they came.
        removal: How their background is removed once all are there; None: it stays.
    """

    def __init__(
        self,
        on_progress: Advance | None = None,
        on_preview: Preview | None = None,
        removal: Removal | None = None,
    ) -> None:
        for name, function in (("on_progress", on_progress), ("on_preview", on_preview)):
            if function is not None and not callable(function):
                raise wrong_type(name, function, "a function or None")
        self._progress, self._preview = on_progress, on_preview
        self.images: list[Image] = []
        self.removal = removal

    def hear(self, event: Event) -> None:
        """Takes an event: keeps an image, and passes on progress and previews."""
        if event.kind == "progress" and self._progress is not None:
            self._progress(event.progress)
        elif event.kind == "data":
            image = read_image(event)
            if not image.info.get("partial"):
                self.images.append(image)
            elif self._preview is not None:
                self._preview(image)

    def finish(self, op: ImageOp, response: str) -> Images:
        """Returns the images in order. `response`: that of the request."""
        if not self.images:
            raise InferenceError(f"the backend's answer to {op} has no image", Status.INFERENCE)
        raw = load(response) or {}
        if self.removal is not None:
            raw = self.removal.named(raw)
        first: Mapping[str, Any] = next(iter(raw.get("data") or ()), {})
        images = sorted(self.images, key=lambda one: one.number)
        return Images(tuple(images), first.get("revised_prompt") or "", raw)

    def write(self, op: ImageOp, response: str, path: str | None) -> str:
        """Returns the response with the images in base64, or with the paths of their files.

        Args:
            op: The operation.
            response: The response of the request, without the images.
            path: Name of the first file; None: the response has the images.
        """
        import json

        made = self.finish(op, response)
        told = [dict(one) for one in made.raw.get("data") or ()]
        told += [{}] * (len(made.images) - len(told))
        data = [
            {**({} if image.seed is None else {"seed": image.seed}), **one, **_delivered(image, at, path)}
            for at, (image, one) in enumerate(zip(made.images, told, strict=False))
        ]
        return json.dumps({**made.raw, "data": data}, ensure_ascii=False)


def _delivered(image: Image, index: int, path: str | None) -> dict[str, str]:
    import base64

    if path is None:
        return {"b64_json": base64.b64encode(image.data).decode()}
    to = files.numbered(path, index)
    files.write(to, image.data)
    return {"path": to}


def read_image(event: Event) -> Image:
    """Returns the image of an event of kind "data". Raises `InferenceError` if its `json` lacks a member."""
    info = load(event.json) or {}
    try:
        size = int(info["width"]), int(info["height"])
    except KeyError as error:
        raise InferenceError(f"the backend's image has no {error}", Status.INFERENCE) from None
    kind = info.get("format") or files.kind_of(event.data)
    return Image(event.data, kind, *size, info.get("seed"), info.get("index", 0), info)
