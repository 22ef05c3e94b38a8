"""Multipart bodies, within limits: their fields, and one file."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from .asking import arriving, bounded
from .errors import HttpError
from .service import Service

MAX_FIELDS = 64
MAX_FIELD_BYTES = 64 << 10
_KIND = "multipart/form-data"


@dataclass(frozen=True)
class Form:
    """A form: its fields in order, and the bytes of its file."""

    fields: tuple[tuple[str, str], ...]
    file: bytes


async def read_form(request: Request, service: Service, file: str, max_bytes: int) -> Form:
    """Reads a multipart body.

    Args:
        request: The request of the client.
        service: Limits the size of the body and the time in which it arrives.
        file: Name of the part that has the file.
        max_bytes: Longest file.

    Raises:
        HttpError: 400, 408, 413 or 415: the message names what is wrong.
    """
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != _KIND:
        raise HttpError(415, f"invalid content type '{kind[:100]}': expected {_KIND}")
    parser = MultiPartParser(
        request.headers,
        bounded(request, service),
        max_files=1,
        max_fields=MAX_FIELDS,
        max_part_size=MAX_FIELD_BYTES,
    )
    try:
        with arriving(service):
            form = await parser.parse()
    except MultiPartException as error:
        raise HttpError(400, f"invalid body: {error.message}") from None
    try:
        sent = form.get(file)
        if not isinstance(sent, UploadFile):
            raise HttpError(400, f"missing {file}: expected a part with a file name")
        if (sent.size or 0) > max_bytes:
            raise HttpError(413, f"the file is too large: this server takes {max_bytes:,} bytes")
        fields = tuple((name, value) for name, value in form.multi_items() if isinstance(value, str))
        return Form(fields, await sent.read())
    finally:
        await form.close()
