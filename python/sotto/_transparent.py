"""Generated images with a transparent background, which a second model removes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._desc import Json
from ._json import load
from ._onnxruntime import MATTING
from ._values import invalid
from .errors import ArgumentError

if TYPE_CHECKING:
    from ._ops import Op
    from .images import Image

Able = Callable[["Op"], Sequence[str]]  # returns the ids of the loaded models that perform an operation

TRANSPARENT = "transparent"
_FORMATS = ("png", "webp", "raw")
_OWN = ("background", "background_model", "output_format")  # fields that generation does not get
_PNG_HEAD = 33  # bytes: signature and IHDR
_CHUNK = 12  # bytes of a PNG chunk without its data
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")


class Removal(NamedTuple):
    """How the background of generated images is removed.

    Attributes:
        model: Id of the loaded model that removes it.
        format: "png", "webp" or "raw": format of the images.
        compression: Quality of WebP; None: lossless.
    """

    model: str
    format: str
    compression: Any = None

    def body(self, file: bytes) -> dict[str, Any]:
        """Returns the request that removes the background of an image file."""
        image = base64.b64encode(file).decode()
        body = {"model": self.model, "image": image, "output_format": self.format}
        return body if self.compression is None else {**body, "output_compression": self.compression}

    def read(self, response: str, file: bytes) -> bytes:
        """Returns the image in `response` to `body(file)`; a PNG file keeps the texts of `file`."""
        made = base64.b64decode(load(response)["data"][0]["b64_json"])
        return with_texts(made, file) if self.format == "png" else made

    def cut(self, response: str, image: Image) -> Image:
        """Returns `image` without its background. `response`: that to `body(image.data)`."""
        info = {**image.info, "format": self.format}
        return image._replace(data=self.read(response, image.data), format=self.format, info=info)

    def named(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a response that names background and format of its images."""
        return {**response, "background": TRANSPARENT, "output_format": self.format}


def take_removal(fields: Mapping[str, Any], able: Able) -> tuple[dict[str, Any], Removal | None]:
    """Returns the fields of a request for the model that generates, and how the background is removed.

    Args:
        fields: Fields of the request.
        able: Finds the loaded models that perform an operation.

    Raises:
        ArgumentError: No loaded model removes backgrounds, or a field is invalid.
    """
    asked = fields.get("background_model")
    if fields.get("background") != TRANSPARENT:
        if asked is not None:
            raise ArgumentError(invalid("background_model", asked, '"background": "transparent" beside it'))
        return dict(fields), None
    kind = fields.get("output_format")
    if kind is not None and kind not in _FORMATS:
        expected = '"png", "webp" or "raw", which have alpha; or set background to "opaque"'
        raise ArgumentError(invalid("output_format", kind, expected))
    removal = Removal(_model(asked, able("image_matte")), kind or "png", fields.get("output_compression"))
    kept = {name: value for name, value in fields.items() if name not in _OWN}
    return {**kept, "output_format": "png"}, removal


def read_removal(body: Json, able: Able) -> tuple[Json, Removal | None]:
    """Returns the body of a request for the model that generates, see `take_removal()`.

    With a transparent background, events deliver the images, whatever the response format.
    """
    fields = load(body) if isinstance(body, str) and '"background' in body else body
    if not isinstance(fields, Mapping):
        return body, None
    kept, removal = take_removal(fields, able)
    if removal is None:
        return body, None
    if kept.get("response_format") in (None, "b64_json"):  # the engine refuses others
        kept["response_format"] = "data"
    return kept, removal


def with_texts(made: bytes, source: bytes) -> bytes:
    """Returns the PNG file `made` with the texts of the PNG file `source`: prompt, seed and others."""
    texts = b"".join(chunk for chunk in _chunks(source) if chunk[4:8] in _TEXTS)
    return made[:_PNG_HEAD] + texts + made[_PNG_HEAD:]


def _chunks(file: bytes) -> Iterator[bytes]:
    at = _PNG_HEAD
    while at + _CHUNK <= len(file):
        end = at + _CHUNK + int.from_bytes(file[at : at + 4], "big")
        yield file[at:end]
        at = end


def _model(asked: Any, able: Sequence[str]) -> str:
    names = ", ".join(f"'{name}'" for name in able)
    if not able:
        raise ArgumentError(
            invalid("background", TRANSPARENT, "a loaded model that removes backgrounds")
            + f"; load {MATTING}, which comes with the package"
        )
    if asked is not None and asked not in able:
        raise ArgumentError(
            invalid("background_model", asked, f"a loaded model that removes backgrounds ({names})")
        )
    if asked is None and MATTING not in able and len(able) > 1:
        raise ArgumentError(f"missing background_model: expected one of {names}")
    return asked or (MATTING if MATTING in able else able[0])
