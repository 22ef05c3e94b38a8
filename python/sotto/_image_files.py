"""Image files of requests: read from what a caller has, checked, and written under their names."""

from __future__ import annotations

import io
import os
from typing import Any

from ._values import invalid, wrong_type
from .errors import ArgumentError, SottoError, Status

FORMATS = ("png", "webp")  # by the ending of a file's name
FILE = "a PNG, JPEG or WebP file"
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_MAX_BYTES = 47 << 20  # in base64, about the longest body that the engine takes


def kind_of(data: bytes) -> str:
    """Returns "png", "jpeg" or "webp" by the first bytes of a file; "" if it is none of them."""
    if data.startswith(_PNG):
        return "png"
    if data.startswith(_JPEG):
        return "jpeg"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def encoded(name: str, image: object) -> str:
    """Returns an image file in base64.

    Args:
        name: The parameter, for errors.
        image: Bytes of a file, the path of one, or a buffer of uint8 such as a numpy array: height x width
            for grey, height x width x 3 or 4 for colours without or with alpha. A buffer needs Pillow.

    Raises:
        ArgumentError: The file cannot be read, is of another kind, or has more than 47 MiB.
        TypeError: `image` is of another type.
    """
    import base64

    if isinstance(image, str | os.PathLike):
        data = _read(name, image)
    elif isinstance(image, bytes | bytearray):
        data = bytes(image)
    else:
        data = _written(name, image)
    if not kind_of(data):
        shown = os.fspath(image) if isinstance(image, str | os.PathLike) else data[:16]
        raise ArgumentError(invalid(name, shown, FILE))
    if len(data) > _MAX_BYTES:
        raise ArgumentError(f"invalid {name}: expected at most {_MAX_BYTES:,} bytes; use a smaller image")
    return base64.b64encode(data).decode()


def check(name: str, value: object) -> None:
    """Raises `ArgumentError` if a text is no image file in base64 or as a data URL."""
    import base64
    import binascii

    if not isinstance(value, str):
        return  # which the engine refuses
    kind, _, text = value.partition(",") if value.startswith("data:") else ("", "", value)
    try:
        data = base64.b64decode("".join(text.split()), validate=True)  # MIME breaks lines
    except (binascii.Error, ValueError):
        data = b""
    if not kind_of(data) or (kind and not kind.endswith(";base64")):
        raise ArgumentError(invalid(name, value, f"{FILE} in base64, or as a data URL"))


def format_of(path: str, asked: object) -> str:
    """Returns the file format that a name stands for. `asked`: `output_format` of the request, or None."""
    found = os.path.splitext(path)[1].lower().removeprefix(".")
    if found not in FORMATS:
        raise ArgumentError(invalid("path", path, "a file name that ends with .png or .webp"))
    if asked is not None and asked != found:
        raise ArgumentError(
            invalid("output_format", asked, f"'{found}', as the name of path '{path}' ends; or leave it out")
        )
    return found


def numbered(path: str, index: int) -> str:
    """Returns the name of image `index` of a request: "fox.png", "fox-2.png", "fox-3.png"."""
    name, ending = os.path.splitext(path)
    return path if index == 0 else f"{name}-{index + 1}{ending}"


def write(path: str, data: bytes) -> None:
    """Writes a file under its name once it is complete; replaces an earlier one. Creates its folder.

    Raises:
        SottoError: The folder is read-only or the disk is full. An earlier file stays.
    """
    from pathlib import Path

    from ._whole import write_whole

    try:
        write_whole(Path(path), data)
    except OSError as error:
        reason = error.strerror or error
        raise SottoError(
            f"image file '{path}' cannot be written: {reason}; free space, or choose another path",
            Status.STATE,
        ) from error


def check_folder(path: str) -> None:
    """Raises `ArgumentError` if no file can be created beside `path`, before an image is computed for it."""
    beside = os.path.join(os.path.dirname(path), f".sotto-{os.urandom(8).hex()}")
    try:
        write(beside, b"")
        os.unlink(beside)
    except SottoError as error:
        raise ArgumentError(str(error).replace(beside, path)) from error
    if os.path.isdir(path):
        raise ArgumentError(invalid("path", path, "the name of a file, not of a folder"))


def pixels_of(data: bytes, kind: str, width: int, height: int) -> Any:
    """Returns the pixels of an image as an array of uint8; see `Image.array()`."""
    import numpy as np

    if kind != "raw":
        with pillow('array() of a file; or generate images with output_format="raw"').open(
            io.BytesIO(data)
        ) as image:
            return np.asarray(image)
    channels = len(data) // (width * height)
    if channels not in (1, 4) or len(data) != width * height * channels:
        raise ArgumentError(f"invalid data of {len(data):,} bytes: expected {width} x {height} raw pixels")
    pixels = np.frombuffer(data, np.uint8).reshape(height, width, channels)
    return pixels[:, :, 0] if channels == 1 else pixels


def pillow(what: str) -> Any:
    """Returns Pillow's module `Image`. Raises `ArgumentError` that says `what` needs it."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ArgumentError(f"Pillow is missing: pip install 'sotto-runtime[images]' for {what}") from None
    return Image


def _read(name: str, path: str | os.PathLike[str]) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"invalid {name} '{os.fspath(path)}': expected {FILE}; {reason}") from None


def _written(name: str, image: object) -> bytes:
    """Returns the pixels of a buffer as a PNG file. Needs Pillow."""
    expected = "a path, bytes of a file, or a buffer of uint8: height x width x 3 or 4"
    try:
        view = memoryview(image)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise wrong_type(name, image, expected) from None
    if view.format != "B" or view.ndim not in (2, 3):
        raise wrong_type(name, image, f"{expected}; this one has {view.ndim} dimensions of '{view.format}'")
    height, width, *more = view.shape or ()
    channels = more[0] if more else 1
    if channels not in (1, 3, 4) or not height * width:
        raise ArgumentError(invalid(name, [height, width, *more], expected))
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    file = io.BytesIO()
    made = pillow(f"{name} as an array").frombytes(mode, (width, height), view.tobytes())
    made.save(file, "PNG", compress_level=1)
    return file.getvalue()
