"""Images and sounds: local files, prompts with media, and the error of a model that reads text alone."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ...errors import SottoError, Status
from ..errors import HttpError
from ..routing import Route

MARKER = "<__media__>"
MAX_FILE = 32 << 20  # bytes
MAX_FILES = 16  # of a chat; the engine takes no more images
_FILE = "file://"
_RAW = re.compile(r"[A-Za-z0-9+/]+={0,2}")  # base64 that is no URL
_REFUSED = re.compile(r'the model reads text only, but \S+ has content of type "(image|input_audio)')


def refusing_media(route: Route) -> Route:
    """Returns a route that answers with status 500, as llama-server does, where the engine refuses media."""

    async def endpoint(request: Request) -> Response:
        try:
            return await route.endpoint(request)
        except SottoError as error:
            found = _REFUSED.search(str(error)) if error.status == Status.UNSUPPORTED else None
            if found is None:
                raise
            kind = "image" if found[1] == "image" else "audio"
            raise HttpError(500, f"{kind} input is not supported by this model: {error}") from None

    endpoint.__doc__ = route.endpoint.__doc__
    return route._replace(endpoint=endpoint)


def prompt_parts(text: str, media: object) -> list[dict[str, Any]]:
    """Returns a prompt as content parts: its text, with a medium in place of each marker.

    Args:
        text: The prompt, with one `MARKER` for each medium.
        media: Images and sounds, in base64.

    Raises:
        HttpError: 400: `media` is no list of texts, or has not one entry for each marker.
    """
    if not isinstance(media, list) or not all(isinstance(one, str) for one in media):
        raise HttpError(400, "invalid multimodal_data: expected an array of images and sounds in base64")
    texts = text.split(MARKER)
    if len(texts) - 1 != len(media):
        raise HttpError(
            400,
            f"invalid multimodal_data of {len(media)} entries: expected {len(texts) - 1}, "
            f"one for each {MARKER} in prompt_string",
        )
    parts: list[dict[str, Any]] = []
    for piece, medium in zip(texts, [*media, None], strict=True):
        if piece:
            parts.append({"type": "text", "text": piece})
        if medium is not None:
            parts.append(_part(medium))
    return parts


async def with_local_media(messages: object, folder: Path | None) -> object:
    """Returns the messages of a chat with data URLs for image URLs that are local files or plain base64.

    Args:
        messages: The messages, of any form.
        folder: Folder that `file://` URLs are relative to. None: such URLs are refused.

    Raises:
        HttpError: 400: a file is not there, outside of `folder`, or larger than `MAX_FILE`; or there are more
            than `MAX_FILES`.
    """
    if not isinstance(messages, list):
        return messages
    files = sum(_is_file(_url(part)) for message in messages for part in _parts(message))
    if files > MAX_FILES:
        raise HttpError(400, f"invalid messages: expected at most {MAX_FILES} file:// URLs, not {files}")
    return [await _with_data(message, folder) for message in messages]


async def _with_data(message: Any, folder: Path | None) -> Any:
    parts = _parts(message)
    made = []
    for part in parts:
        url = _url(part)
        if _is_file(url):
            url = _data_url(await asyncio.to_thread(_read, url.removeprefix(_FILE), folder))
            part = {**part, "image_url": {"url": url}}
        elif _RAW.fullmatch(url):
            part = {**part, "image_url": {"url": f"data:;base64,{url}"}}
        made.append(part)
    return {**message, "content": made} if parts else message


def _parts(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _url(part: Any) -> str:
    """Returns the URL of a part with an image; empty: the part has none."""
    image = part.get("image_url") if isinstance(part, dict) else None
    url = image.get("url") if isinstance(image, dict) else None
    return url if isinstance(url, str) else ""


def _is_file(url: str) -> bool:
    return url.startswith(_FILE)


def _read(name: str, folder: Path | None) -> bytes:
    if folder is None:
        raise HttpError(400, "file:// URLs are not allowed unless --media-path is specified")
    shown = ascii(name[:200])
    if "\0" in name or ".." in Path(name).parts:
        raise HttpError(400, f"invalid image_url.url: file path is not allowed: {shown}")
    try:
        path = folder / name.lstrip("/")
        if not path.is_file():  # a pipe or a device would block
            raise HttpError(400, f"file does not exist or cannot be opened: {shown}")
        with path.open("rb") as file:
            told = file.read(MAX_FILE + 1)
    except OSError:
        raise HttpError(400, f"file does not exist or cannot be opened: {shown}") from None
    if len(told) > MAX_FILE:
        raise HttpError(400, f"invalid image_url.url {shown}: expected at most {MAX_FILE:,} bytes")
    return told


def _part(medium: str) -> dict[str, Any]:
    try:
        head = base64.b64decode(medium[:16], validate=True)
    except binascii.Error:
        raise HttpError(400, "invalid multimodal_data: expected images and sounds in base64") from None
    is_sound = head[:4] in (b"RIFF", b"fLaC") or head[:3] == b"ID3" or head[:2] in (b"\xff\xfb", b"\xff\xf3")
    if is_sound:
        return {"type": "input_audio", "input_audio": {"data": medium}}
    return {"type": "image_url", "image_url": {"url": f"data:;base64,{medium}"}}


def _data_url(file: bytes) -> str:
    return f"data:;base64,{base64.b64encode(file).decode('ascii')}"
