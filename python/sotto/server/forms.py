"""Multipart bodies, within limits: their fields and files."""

from __future__ import annotations

import math
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from .asking import arriving, bounded
from .errors import HttpError
from .service import Service

MAX_FIELDS = 64
MAX_FIELD_BYTES = 64 << 10
KIND = "multipart/form-data"
_TRUTHS = {"true": True, "1": True, "false": False, "0": False, "": False}


@dataclass(frozen=True)
class Form:
    """A form: its fields in order, and the bytes of its files by name."""

    fields: tuple[tuple[str, str], ...]
    files: dict[str, bytes]


async def read_form(
    request: Request, service: Service, file: str, max_bytes: int, optional: tuple[str, ...] = ()
) -> Form:
    """Reads a multipart body.

    Args:
        request: The request of the client.
        service: Limits the size of the body and the time in which it arrives.
        file: Name of the part that has the file; `file[]` is the same.
        max_bytes: Longest file.
        optional: Names of further parts that may have files.

    Raises:
        HttpError: 400, 408, 413 or 415: the message names what is wrong.
    """
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != KIND:
        raise HttpError(415, f"invalid content type '{kind[:100]}': expected {KIND}")
    parser = MultiPartParser(
        request.headers,
        bounded(request, service),
        max_files=1 + len(optional),
        max_fields=MAX_FIELDS,
        max_part_size=MAX_FIELD_BYTES,
    )
    try:
        with arriving(service):
            form = await parser.parse()
    except MultiPartException as error:
        raise HttpError(400, f"invalid body: {error.message}") from None
    try:
        sent = {name.removesuffix("[]"): part for name, part in form.items() if isinstance(part, UploadFile)}
        if file not in sent:
            raise HttpError(400, f"missing {file}: expected a part with a file name")
        if any((part.size or 0) > max_bytes for part in sent.values()):
            raise HttpError(413, f"the file is too large: this server takes {max_bytes:,} bytes")
        fields = tuple((name, value) for name, value in form.multi_items() if isinstance(value, str))
        return Form(fields, {name: await sent[name].read() for name in (file, *optional) if name in sent})
    finally:
        await form.close()


def number(name: str, value: str) -> float | int:
    """Returns a field's number, as an int if it is a whole one. Raises `HttpError` 400."""
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise HttpError(400, f"invalid {name} '{value[:100]}': expected a number")
    return int(found) if found == int(found) else found


def truth(value: str) -> bool | str:
    """Returns whether a field says true; its text if it says neither true nor false."""
    return _TRUTHS.get(value.lower(), value)
