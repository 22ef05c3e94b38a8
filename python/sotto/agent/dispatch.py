"""`Dispatch`: tools that a server runs, which gets each call by POST."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from .._handle import Unique
from .._typing import Unpack
from .._values import invalid, string
from ..errors import ArgumentError
from .options import ToolOptions
from .receiving import TooLarge, receive
from .tool import Tool, described

_MOST = 1 << 20  # bytes of a response


class DispatchError(Exception):
    """A server did not answer a call as expected."""


class Dispatch(Unique):
    """Tools that a server runs: each call is `POST url` with `{"name": ..., "arguments": {...}}`.

    The response is the result: a JSON string, an object with `content`, or other text, of at most 1 MB. A
    status other than 200 fails the call. Redirects are not followed. Results are `untrusted`, unless the
    options say otherwise. Needs the extra `agent`.

    Args:
        url: Address, "http://..." or "https://...".
        schemas: OpenAI schemas of the tools.
        headers: Headers of each request, such as `Authorization`. They appear in no error and in no log.
        **options: See `ToolOptions`; they hold for each tool.

    Raises:
        ArgumentError: The address or a schema is invalid.
        ImportError: The extra `agent` is not installed.

    >>> tools = Dispatch("http://127.0.0.1:9000/act", schemas, permission="ask", kind="world")
    >>> agent = Agent(session, [tools])
    """

    def __init__(
        self,
        url: str,
        schemas: Iterable[Mapping[str, Any]],
        *,
        headers: Mapping[str, str] | None = None,
        **options: Unpack[ToolOptions],
    ) -> None:
        parts = urlsplit(string("url", url))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentError(invalid("url", url, '"http://..." or "https://..."'))
        try:
            import httpx2
        except ImportError:
            raise ImportError(
                "sotto.agent.Dispatch needs the package httpx2: pip install sotto-runtime[agent]"
            ) from None
        self._url = url
        self._headers = dict(headers or {})
        self._verify: Any = httpx2.create_ssl_context() if parts.scheme == "https" else False
        rules = ToolOptions(**{"untrusted": True, **options})
        self.tools = [self._tool(one, rules) for one in schemas]

    def _tool(self, schema: Mapping[str, Any], options: ToolOptions) -> Tool:
        call = partial(self._call, str((schema.get("function") or {}).get("name")))
        return described(schema, lambda given, context: call(given), "dispatch", call, options)

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        import httpx2

        transport = httpx2.AsyncHTTPTransport(verify=self._verify)
        body = json.dumps({"name": name, "arguments": arguments}).encode()
        headers = {"content-type": "application/json", **self._headers}
        try:
            async with (
                httpx2.AsyncClient(transport=transport, timeout=None, follow_redirects=False) as client,
                client.stream("POST", self._url, content=body, headers=headers) as response,
            ):
                if response.status_code != 200:
                    raise DispatchError(f"the server answered with status {response.status_code}")
                data = await receive(response, _MOST)
        except TooLarge as error:
            raise DispatchError(f"the server answered with {error}") from None
        except httpx2.HTTPError as error:
            raise DispatchError(f"the server did not answer: {type(error).__name__}") from None
        return _content(data.decode("utf-8", "replace"))


def _content(body: str) -> str:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if isinstance(found, dict) and "content" in found:
        found = found["content"]
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
