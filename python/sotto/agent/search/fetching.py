"""`Fetcher`: GET requests with limits of size and time, to the internet alone unless more is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from ..receiving import TooLarge, receive
from .addresses import FetchError, Origin, addresses_of, origin_of, parts_of

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_ADDRESSES = 3  # of a host that are tried


class Fetched(NamedTuple):
    """A response: its body, and the charset and media type that the server named; empty: none."""

    data: bytes
    media_type: str
    charset: str

    @property
    def text(self) -> str:
        """The body as text. Invalid bytes become U+FFFD."""
        try:
            return self.data.decode(self.charset or "utf-8", "replace")
        except (LookupError, ValueError):
            return self.data.decode("utf-8", "replace")


class Fetcher:
    """Fetches documents. Each host is looked up once, checked, and then connected to at that very address.

    Args:
        trusted: Origin that may be private, and that gets `headers`; None: none.
        headers: Headers for `trusted`, in no error and in no log.
        allow_private: True: all hosts may be private.
        timeout: Time limit of a document in seconds, with all of its redirects.
    """

    def __init__(
        self, trusted: Origin | None, headers: Mapping[str, str], *, allow_private: bool, timeout: float
    ) -> None:
        self._trusted = trusted
        self._headers = dict(headers)
        self._allow_private = allow_private
        self._timeout = timeout
        self._tls: Any = None

    async def get(self, url: str, most: int, media_types: Sequence[str]) -> Fetched:
        """Fetches a document.

        Args:
            url: Address.
            most: Maximum size in bytes.
            media_types: What it may be.

        Raises:
            FetchError: It cannot be had within the limits, or the address is private.
        """
        try:
            return await asyncio.wait_for(self._follow(url, most, media_types), self._timeout)
        except asyncio.TimeoutError:
            raise FetchError(f"no answer within {self._timeout:g} s") from None

    async def _follow(self, url: str, most: int, media_types: Sequence[str]) -> Fetched:
        for _ in range(_MAX_REDIRECTS + 1):
            found = await self._ask(url, most, media_types)
            if isinstance(found, Fetched):
                return found
            url = _following(url, found)
        raise FetchError(f"the server redirects more than {_MAX_REDIRECTS} times")

    async def _ask(self, url: str, most: int, media_types: Sequence[str]) -> Fetched | str:
        """Returns the document, or where the server redirects to."""
        import httpx2

        parts = parts_of(url)
        origin = origin_of(parts)
        trusted = origin == self._trusted
        addresses = await addresses_of(origin, private=self._allow_private or trusted)
        headers = {
            "accept": ", ".join(media_types),
            "accept-encoding": "identity",
            "user-agent": "sotto",
            **(self._headers if trusted else {}),
        }
        for at, address in enumerate(addresses[:_MAX_ADDRESSES], 1):
            try:
                return await self._send(url, origin[1], address, headers, most, media_types)
            except httpx2.ConnectError as error:
                if at == min(len(addresses), _MAX_ADDRESSES):
                    raise FetchError(f"'{origin[1]}' cannot be reached: {str(error)[:200]}") from None
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
                raise FetchError(f"'{origin[1]}' did not answer: {type(error).__name__}") from None
        raise FetchError(f"'{origin[1]}' cannot be reached")

    async def _send(
        self,
        url: str,
        host: str,
        address: str,
        headers: Mapping[str, str],
        most: int,
        media_types: Sequence[str],
    ) -> Fetched | str:
        import httpx2

        named = httpx2.URL(url)
        target = named.copy_with(host=address, fragment=None)
        headers = {**headers, "host": named.netloc.decode("ascii")}
        server = {"sni_hostname": named.raw_host.decode("ascii")}  # whose certificate is checked
        transport = httpx2.AsyncHTTPTransport(verify=self._context(named.scheme))
        async with (
            httpx2.AsyncClient(transport=transport, timeout=None, follow_redirects=False) as client,
            client.stream("GET", target, headers=headers, extensions=server) as response,
        ):
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return str(response.headers["location"])
            return await _read(response, host, most, media_types)

    def _context(self, scheme: str) -> Any:
        if scheme != "https":
            return False
        if self._tls is None:
            import httpx2

            self._tls = httpx2.create_ssl_context()
        return self._tls


def _following(url: str, location: str) -> str:
    """Returns where a redirect leads."""
    try:
        following = urljoin(url, location)
    except ValueError:
        raise FetchError("the server redirects to what is not a URL") from None
    if urlsplit(url).scheme == "https" and parts_of(following).scheme != "https":
        raise FetchError("the server redirects to an address without encryption")
    return following


async def _read(response: Any, host: str, most: int, media_types: Sequence[str]) -> Fetched:
    if response.status_code != 200:
        raise FetchError(f"'{host}' answered with status {response.status_code}")
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise FetchError(f"'{host}' answered with compressed data, against the request")
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in media_types:
        raise FetchError(f"'{host}' answered with '{media_type[:100]}', not {', '.join(media_types)}")
    try:
        data = await receive(response, most)
    except TooLarge as error:
        raise FetchError(f"'{host}' answered with {error}") from None
    return Fetched(data, media_type, response.charset_encoding or "")
