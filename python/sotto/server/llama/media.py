"""Images and sound for models that read text alone: the error of llama-server."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from ...errors import SottoError, Status
from ..errors import HttpError
from ..routing import Route

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
