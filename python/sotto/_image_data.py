"""Images of requests and responses: base64 to pixels, and pixels to PNG or WebP. Needs Pillow."""

from __future__ import annotations

import base64
import binascii
import io
import re
import struct
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from PIL import Image, ImageOps, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from ._values import invalid
from .errors import ArgumentError

MAX_BYTES = 32 << 20  # of an image file
MAX_PIXELS = 1 << 24
_EXPECTED = "a PNG, JPEG or WebP file in base64, or as a data URL"
_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_SPACES = str.maketrans("", "", "\r\n\t ")
_OPENERS: Mapping[
    bytes, Any
] = {  # by the first bytes; Image.open() would try more formats, and warn about large ones
    b"\x89PNG\r\n\x1a\n": PngImagePlugin.PngImageFile,
    b"\xff\xd8\xff": JpegImagePlugin.JpegImageFile,
    b"RIFF": WebPImagePlugin.WebPImageFile,
}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Pixels = Any  # a PIL.Image.Image; Pillow may be absent where types are checked


def decode_image(field: str, value: str) -> Pixels:
    """Decodes an image of a request.

    Takes the first frame of an animation, turns the image as its EXIF orientation says, and reduces 16 bits
    per channel to 8. Checks the number of pixels in the file's header before it decodes them.

    Args:
        field: Name of the request's field, for error texts.
        value: A PNG, JPEG or WebP file of at most 32 MiB and 16,777,216 pixels, in base64 or as a data URL.

    Returns:
        A `PIL.Image.Image` of mode "RGB", or "RGBA" if the file has transparency.

    Raises:
        ArgumentError: The value is no base64, no such file, damaged or too large.
    """
    data = _bytes_of(field, value)
    opener = next((found for head, found in _OPENERS.items() if data.startswith(head)), None)
    if opener is None or (data.startswith(b"RIFF") and data[8:12] != b"WEBP"):
        raise _refused(field, value, "its first bytes are of none of these")
    try:
        if opener is WebPImagePlugin.WebPImageFile:
            _check_pixels(field, value, _webp_size(data))  # Pillow allocates the canvas when it opens a file
        image = opener(io.BytesIO(data))
        _check_pixels(field, value, image.size)
        return _eight_bit(ImageOps.exif_transpose(image))
    except ArgumentError:
        raise
    except Exception as error:  # Pillow's readers raise errors of many types for damaged files
        raise _refused(field, value, f"the file is damaged: {error}") from None


def encode_image(
    image: Pixels,
    output_format: str = "png",
    compression: int = 100,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """Encodes an image as a file. Equal arguments give equal bytes.

    Args:
        image: A `PIL.Image.Image` of mode "L", "RGB" or "RGBA".
        output_format: "png", "webp", or "raw": pixels as RGBA, rows from the top, without gaps.
        compression: Quality of WebP from 0 to 100; 100 is lossless. No effect on PNG.
        metadata: Texts to write into the file: tEXt or iTXt chunks of PNG, an XMP packet of WebP, whose
            attributes have the namespace "urn:sotto:image".
    """
    if output_format == "raw":
        return bytes(image.convert("RGBA").tobytes())
    file, texts = io.BytesIO(), dict(metadata or {})
    if output_format == "webp":
        extra = {"xmp": _xmp(texts)} if texts else {}
        quality = {"lossless": True, "exact": True} if compression >= 100 else {"quality": compression}
        image.save(file, "WEBP", **quality, **extra)
    else:
        chunks = PngImagePlugin.PngInfo()
        for name, text in texts.items():
            chunks.add_text(name, text.replace("\0", " "))
        image.save(file, "PNG", pnginfo=chunks)
    return file.getvalue()


def flattened(image: Pixels, background: str = "white") -> Pixels:
    """Returns an image without alpha: mode "RGB", transparent pixels in front of `background`."""
    if image.mode != "RGBA":
        return image.convert("RGB")
    made = Image.new("RGB", image.size, background)
    made.paste(image, mask=image.getchannel("A"))
    return made


def _bytes_of(field: str, value: str) -> bytes:
    prefix = _DATA_URL.match(value)
    if prefix is None and value[:5].lower() == "data:":
        raise _refused(field, value, "this data URL has no ';base64,'")
    text = value[prefix.end() :] if prefix else value
    if len(text) > 2 * MAX_BYTES:  # also with line breaks
        raise _refused(field, value, f"it is longer than {MAX_BYTES >> 20} MiB; reduce the image")
    try:
        data = base64.b64decode(text.translate(_SPACES).encode("ascii", "replace"), validate=True)
    except binascii.Error as error:
        raise _refused(field, value, f"it is no base64: {error}") from None
    if len(data) > MAX_BYTES:
        raise _refused(field, value, f"the file has {len(data):,} bytes; reduce it to {MAX_BYTES:,}")
    return data


def _refused(field: str, value: str, reason: str) -> ArgumentError:
    return ArgumentError(f"{invalid(field, value, _EXPECTED)}; {reason}")


def _check_pixels(field: str, value: str, size: tuple[int, int]) -> None:
    if size[0] * size[1] > MAX_PIXELS:
        reason = f"the image has {size[0]} x {size[1]} pixels; reduce it to at most {MAX_PIXELS:,} pixels"
        raise _refused(field, value, reason)


def _webp_size(data: bytes) -> tuple[int, int]:
    """Width and height in the header of a WebP file, see https://developers.google.com/speed/webp/docs."""
    kind = data[12:16]
    if kind == b"VP8X":
        wide, high = data[24:27], data[27:30]
        return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        wide_, high_ = struct.unpack_from("<HH", data, 26)
        return wide_ & 0x3FFF, high_ & 0x3FFF
    raise ValueError("it has no chunk VP8, VP8L or VP8X")


def _eight_bit(image: Pixels) -> Pixels:
    if image.mode.startswith("I"):  # 16-bit greyscale
        image = image.point(lambda value: value * (1 / 256)).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _xmp(texts: Mapping[str, str]) -> bytes:
    values = " ".join(f"sotto:{name}={quoteattr(_NO_XML.sub(' ', text))}" for name, text in texts.items())
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description xmlns:sotto="urn:sotto:image" {values}/></rdf:RDF></x:xmpmeta>'
    ).encode()
