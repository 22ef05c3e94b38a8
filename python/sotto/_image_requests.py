"""Fields of requests for images: what Python reads before the engine does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _image_files as files
from ._desc import Json, json_text, path_text
from ._json import load
from ._values import invalid, string
from .errors import ArgumentError


def read_request(request_json: Json) -> tuple[Json, str | None]:
    """Returns the body of an image request for the engine, and the path that its images are written to.

    Raises:
        ArgumentError: An image is no file in base64, or the path cannot be written.
    """
    text = json_text("request_json", request_json)
    fields = load(text)
    if not isinstance(fields, dict):
        return text, None  # which the engine refuses
    for name in ("image", "mask"):
        files.check(name, fields.get(name))
    wanted, path = fields.get("response_format"), fields.get("path")
    if wanted == "data":
        raise ArgumentError(
            invalid("response_format", wanted, '"b64_json" or "file"; events of submit() have the data')
        )
    if wanted != "file":
        if path is not None:
            raise ArgumentError(invalid("path", path, '"response_format": "file" beside it'))
        return text, None
    if path is None:
        raise ArgumentError('missing path: expected the name of a file, for response_format "file"')
    if not isinstance(path, str):
        raise ArgumentError(invalid("path", path, "the name of a file"))
    to = path_text("path", string("path", path))
    body = {name: value for name, value in fields.items() if name != "path"}
    body.update(response_format="data", output_format=files.format_of(to, fields.get("output_format")))
    files.check_folder(to)
    return body, to


def typed_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the fields of a call with typed results. Raises `ArgumentError` for `response_format`."""
    if "response_format" in fields:
        raise ArgumentError(
            invalid("response_format", fields["response_format"], "no such field; image.save() writes a file")
        )
    return fields
