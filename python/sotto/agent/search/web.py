"""`WebSource`: asks a SearXNG server, which asks search engines of the web."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlencode

from ..._handle import Unique
from ..._values import invalid, number, string, truth, whole, wrong_type
from ...errors import ArgumentError
from ..threads import value_of
from .addresses import FetchError, origin_of, parts_of
from .base import Inquiry
from .fetching import Fetched, Fetcher
from .hit import MAX_TEXT, MAX_URL, Hit
from .page_text import page_text

TimeRange = Literal["day", "month", "year"]

_log = logging.getLogger("sotto.agent")
_RANGES = ("day", "month", "year")
_MAX_ANSWER = 4 << 20  # bytes
_MAX_PAGES = 10
_MOST_HITS = 20  # of an answer
_PAGES = ("text/html", "application/xhtml+xml", "text/plain")


class WebSource(Unique):
    """Searches the web: asks the JSON interface of a SearXNG server, which you run or have access to.

    The server's settings must have `json` in `search: formats`. Results are the snippets that search engines
    give; with `pages`, the texts of the best pages, as far as they can be had. Pages are fetched from the
    internet alone: addresses of this machine and of private networks are refused, after each redirect, too.
    What the model searches for is known to the server and to the engines that it asks. Needs the extra
    `agent`.

    Args:
        url: Address of the server, "http://..." or "https://..."; it may be on this machine.
        headers: Headers for the server alone, such as `Authorization`. They appear in no error and in no log.
        language: Language of the results, such as "en"; None: the server's.
        categories: Categories of SearXNG, such as "general,science"; None: the server's.
        time_range: "day", "month" or "year": results of that time alone; None: of any.
        safe_search: 0: off, 1: moderate, 2: strict.
        pages: Number of result pages to fetch, up to 10; 0: none.
        allow_private: True: pages, and redirects of the server, may be on private networks.
        timeout: Time limit of each request in seconds.
        max_page_bytes: Maximum size of a page in bytes.

    Raises:
        ArgumentError: An argument is out of range.
        ImportError: The extra `agent` is not installed.

    >>> web = Search(engine, WebSource("http://127.0.0.1:8888", pages=3), name="web_search")
    """

    ranked = False

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        language: str | None = None,
        categories: str | None = None,
        time_range: TimeRange | None = None,
        safe_search: int = 1,
        pages: int = 0,
        allow_private: bool = False,
        timeout: float = 10.0,
        max_page_bytes: int = 1 << 20,
    ) -> None:
        try:
            parts = parts_of(string("url", url))
        except FetchError as error:
            raise ArgumentError(f'invalid url: expected "http://..." or "https://..."; {error}') from None
        if parts.query or parts.fragment:
            raise ArgumentError(invalid("url", url, 'an address without "?" and "#"'))
        if time_range is not None and time_range not in _RANGES:
            raise ArgumentError(invalid("time_range", time_range, '"day", "month", "year" or None'))
        if number("timeout", timeout) <= 0:
            raise ArgumentError(invalid("timeout", timeout, "a positive number of seconds"))
        sent = _headers(headers)
        try:
            import httpx2  # noqa: F401
        except ImportError:
            raise ImportError(
                "sotto.agent.WebSource needs the package httpx2: pip install sotto-runtime[agent]"
            ) from None
        path = parts.path.rstrip("/")
        self._url = f"{parts.scheme}://{parts.netloc}{path if path.endswith('/search') else path + '/search'}"
        given = {"language": language, "categories": categories, "time_range": time_range}
        self._fields = {name: string(name, one) for name, one in given.items() if one is not None}
        self._fields["safesearch"] = str(whole("safe_search", safe_search, 2))
        self._pages = whole("pages", pages, _MAX_PAGES)
        self._max_page_bytes = whole("max_page_bytes", max_page_bytes, 64 << 20)
        private = truth("allow_private", allow_private)
        origin = origin_of(parts)
        self._server = Fetcher(origin, sent, allow_private=private, timeout=timeout)
        self._web = Fetcher(None, {}, allow_private=private, timeout=timeout)

    def __repr__(self) -> str:
        return f"<sotto.agent.WebSource {self._url!r}>"

    async def find(self, inquiry: Inquiry) -> list[Hit]:
        """Returns what the server found, with the texts of pages that were fetched."""
        query = urlencode({"q": inquiry.text, "format": "json", **self._fields})
        try:
            answer = await self._server.get(f"{self._url}?{query}", _MAX_ANSWER, ("application/json",))
        except FetchError as error:
            raise _explained(error) from None
        hits: list[Hit] = await value_of(lambda: _read_answer(answer.data))
        pages = await asyncio.gather(*(self._page(one) for one in hits[: self._pages]))
        return [*pages, *hits[self._pages :]]

    def close(self) -> None:
        """Does nothing: no connection stays open."""

    async def _page(self, hit: Hit) -> Hit:
        """Returns a hit with the text of its page; as it is if the page cannot be had."""
        try:
            page = await self._web.get(hit.url, self._max_page_bytes, _PAGES)
        except FetchError as error:
            _log.info("the page of a search result was not fetched: %s", error)
            return hit
        read: Hit = await value_of(lambda: _with_text(hit, page))
        return read


def _headers(given: Any) -> dict[str, str]:
    if given is not None and not isinstance(given, Mapping):
        raise wrong_type("headers", given, "a mapping or None")
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"invalid headers: expected texts, not {type(name).__name__}: {type(value).__name__}"
            )
        if not (name + value).isprintable() or not (name + value).isascii():
            raise ArgumentError(f"invalid headers: expected a printable ASCII value of '{name[:64]!a}'")
    return dict(given or {})


def _with_text(hit: Hit, page: Fetched) -> Hit:
    """Returns a hit with the text of its page; as it is if the page has none."""
    text = page.text if page.media_type == "text/plain" else page_text(page.text)
    return Hit(hit.title, text[:MAX_TEXT], hit.url) if text.strip() else hit


def _explained(error: FetchError) -> FetchError:
    if "status 403" in str(error):
        return FetchError(f"{error}: add `json` to `search: formats` in its settings.yml")
    return error


def _read_answer(data: bytes) -> list[Hit]:
    """Returns the hits of an answer of SearXNG."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, list):
        raise FetchError('the server answered with other JSON than {"results": [...]}')
    hits: dict[str, Hit] = {}
    for one in results:
        if len(hits) == _MOST_HITS:
            break
        if isinstance(one, dict) and (hit := _read_result(one)) is not None:
            hits.setdefault(hit.url, hit)
    return list(hits.values())


def _read_result(given: Mapping[str, Any]) -> Hit | None:
    url, title, text = (given.get(name) or "" for name in ("url", "title", "content"))
    if not all(isinstance(one, str) for one in (url, title, text)):
        return None
    is_url = url.startswith(("http://", "https://")) and len(url) <= MAX_URL
    if not is_url or not (title.strip() or text.strip()):
        return None
    return Hit(title, text or title, url)
