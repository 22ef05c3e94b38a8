"""HTTP client for a Hugging Face hub: lists a repository, reads a file's metadata, downloads a file.

Does not trust the hub's responses: validates names, limits the size of lists and responses, accepts no more
bytes than announced, decompresses nothing, and sends the token only to the hub itself.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, BinaryIO, NamedTuple, TypeVar
from urllib.parse import quote, urljoin, urlsplit

MAX_BYTES = 50_000_000_000  # maximum file size; hubs offer no plain downloads of larger files
_MAX_PAGES, _MAX_PAGE_BYTES, _MAX_FILES = 100, 8 << 20, 100_000
_MAX_REDIRECTS = 5
_TIMEOUT = 10.0  # seconds, for a connection and between two pieces of a response
_WAITS = (1.0, 2.0, 4.0)  # seconds before each retry
_STEADY = 1 << 20  # bytes received in one attempt that reset the retries
_TRANSIENT = (429, 500, 502, 503, 504)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ETAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_PART = re.compile(
    r"[^\x00-\x1f\x7f-\x9f\\:\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff]{1,255}"
)
_NEXT = re.compile(r'<([^>]*)>\s*;\s*rel="?next"?')

log = logging.getLogger("sotto")
_token: ContextVar[tuple[str | None, bool]] = ContextVar("sotto_hub_token", default=(None, True))
_Found = TypeVar("_Found")


class HubError(Exception):
    """The hub cannot fulfil a request, or its response is invalid."""


class Transient(Exception):
    """A request failed for a transient reason and can be retried."""


class Facts(NamedTuple):
    """Metadata of a file, as reported by the hub. `size` is in bytes."""

    commit: str
    etag: str
    size: int


@contextmanager
def using_token(token: str | None, *, implicit: bool) -> Iterator[None]:
    """Context manager that sets the token for the hub; `implicit`: the one that huggingface_hub finds."""
    before = _token.set((token, implicit))
    try:
        yield
    finally:
        _token.reset(before)


def is_plain(path: str) -> bool:
    """Returns True if a path in a repository is safe to create below the cache folder."""
    parts = path.split("/")
    return len(path) <= 1024 and all(_PART.fullmatch(part) and part not in (".", "..") for part in parts)


class Hub:
    """One repository of a hub. Calls `alive` regularly; an exception that it raises ends the operation."""

    def __init__(self, endpoint: str, repo: str, revision: str | None, alive: Callable[[], None]) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._repo, self._revision = repo, quote(revision or "main", safe="")
        self._alive = alive

    def files(self) -> list[str]:
        """Returns the names of the repository's files."""
        url = f"{self._endpoint}/api/models/{self._repo}/tree/{self._revision}?recursive=true"
        names: list[str] = []
        for _ in range(_MAX_PAGES):
            page, following = self._patiently(lambda url=url: self._page(url))  # type: ignore[misc]
            names += page
            if len(names) > _MAX_FILES:
                break
            if not following:
                return names
            url = urljoin(url, following)
            if _origin(url) != _origin(self._endpoint):
                raise HubError(f"the hub continues its list of files on another host, {_host(url)}")
        raise HubError(f"the hub's list of files has more than {_MAX_PAGES} pages or {_MAX_FILES} files")

    def facts(self, file: str) -> Facts:
        """Returns a file's metadata. Raises `HubError` if any of it is malformed."""
        return self._patiently(lambda: self._facts(file))

    def download(self, file: str, size: int, content: BinaryIO, told: Callable[[int], None]) -> None:
        """Appends the missing part of a file of `size` bytes to `content`. Calls `told` with the length."""
        waits = list(_WAITS)
        while (have := content.tell()) < size:
            try:
                self._download(file, have, size, content, told)
            except Transient as error:
                if content.tell() >= have + _STEADY:
                    waits = list(_WAITS)
                if not waits:
                    raise HubError(str(error)) from error
                self._wait(error, waits.pop(0))

    def _patiently(self, attempt: Callable[[], _Found]) -> _Found:
        for wait in _WAITS:
            try:
                return attempt()
            except Transient as error:
                self._wait(error, wait)
        try:
            return attempt()
        except Transient as error:
            raise HubError(str(error)) from error

    def _wait(self, error: Transient, seconds: float) -> None:
        log.warning("%s; trying again in %g s", error, seconds)
        for _ in range(int(seconds * 10)):
            self._alive()
            time.sleep(0.1)

    def _page(self, url: str) -> tuple[list[str], str | None]:
        with self._open("GET", url) as response:
            data = b""
            for piece in _pieces(response):
                data += piece
                self._alive()
                if len(data) > _MAX_PAGE_BYTES:
                    raise HubError(f"a page of the hub's list has more than {_MAX_PAGE_BYTES} bytes")
            following = _NEXT.search(response.headers.get("link", ""))
        try:
            entries = json.loads(data)
            names = [str(one["path"]) for one in entries if one["type"] == "file"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise HubError("invalid list of files from the hub: expected a JSON array of files") from error
        return names, following[1] if following else None

    def _facts(self, file: str) -> Facts:
        with self._open("HEAD", self._url(file)) as response:
            headers = response.headers
            commit = headers.get("x-repo-commit", "")
            etag = headers.get("x-linked-etag") or headers.get("etag") or ""
            size = headers.get("x-linked-size") or headers.get("content-length") or ""
        etag = etag.removeprefix("W/").strip('"')
        if not _COMMIT.fullmatch(commit):
            raise HubError(f"invalid commit {_shown(commit)} of {file}: expected 40 hexadecimal digits")
        if not _ETAG.fullmatch(etag):
            raise HubError(f"invalid ETag {_shown(etag)} of {file}: expected letters, digits, '.', '_', '-'")
        if not re.fullmatch(r"[0-9]{1,18}", size) or int(size) == 0:
            raise HubError(f"invalid size {_shown(size)} of {file}: expected a positive number of bytes")
        if int(size) > MAX_BYTES:
            raise HubError(f"invalid size {size} of {file}: expected at most {MAX_BYTES}; use `hf download`")
        return Facts(commit, etag, int(size))

    def _download(
        self, file: str, have: int, size: int, content: BinaryIO, told: Callable[[int], None]
    ) -> None:
        with self._open("GET", self._url(file), have) as response:
            begun = response.headers.get("content-range", "").startswith(f"bytes {have}-")
            if have and not (response.status_code == 206 and begun):  # the response starts at offset 0
                content.seek(0)
                have = content.truncate()
            for piece in _pieces(response):
                have += len(piece)
                if have > size:
                    content.write(piece[: size - have])
                    raise HubError(f"the hub sends more of {file} than the {size} bytes that it announced")
                content.write(piece)
                told(have)
        if have < size:
            raise Transient(f"the hub sent {have} of {size} bytes of {file}")

    def _url(self, file: str) -> str:
        return f"{self._endpoint}/{self._repo}/resolve/{self._revision}/{quote(file)}"

    @contextmanager
    def _open(self, method: str, url: str, begin: int = 0) -> Iterator[Any]:
        """Opens a URL and follows redirects. Sends the token only to the hub.

        Yields the response to a HEAD request that redirects to another host if it holds the file's metadata.
        """
        for _ in range(_MAX_REDIRECTS):
            with self._send(method, url, begin) as response:
                target = response.headers.get("location") if 300 <= response.status_code < 400 else None
                abroad = target is not None and _origin(urljoin(url, target)) != _origin(self._endpoint)
                if target is None or (method == "HEAD" and abroad and "x-linked-size" in response.headers):
                    self._check(response, url)
                    yield response
                    return
                if urlsplit(url).scheme == "https" and urlsplit(urljoin(url, target)).scheme != "https":
                    raise HubError(f"the hub redirects to {_host(target)}, without encryption")
            url = urljoin(url, target)
        raise HubError(f"the hub redirects more than {_MAX_REDIRECTS} times")

    @contextmanager
    def _send(self, method: str, url: str, begin: int) -> Iterator[Any]:
        from huggingface_hub import constants, get_session, get_token

        self._alive()
        # Not build_hf_headers(): it first reads a list from the hub without limiting its length.
        headers = {"user-agent": "sotto", "accept-encoding": "identity"}
        given, implicit = _token.get()
        token = given
        if implicit:
            token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
        if token and _origin(url) == _origin(self._endpoint):
            headers["authorization"] = f"Bearer {token}"
        if begin:
            headers["range"] = f"bytes={begin}-"
        request = get_session().stream(method, url, headers=headers, follow_redirects=False, timeout=_TIMEOUT)
        try:
            response = request.__enter__()
        except Exception as error:
            if isinstance(error, OSError) and type(error).__name__ == "OfflineModeIsEnabled":
                raise
            raise Transient(f"{_host(url)} cannot be reached: {_first_line(error)}") from error
        try:
            yield response
        finally:
            request.__exit__(None, None, None)

    def _check(self, response: Any, url: str) -> None:
        status, code = response.status_code, response.headers.get("x-error-code", "")
        said = f"{_host(url)} answers {status}" + (f" ({_shown(code)})" if code else "")
        if status in _TRANSIENT:
            raise Transient(said)
        if status in (401, 403):
            raise HubError(f"{said}; log in with `hf auth login`, or set HF_TOKEN")
        if status >= 400:
            raise HubError(f"{said} to {urlsplit(url).path}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise HubError(f"{_host(url)} answers with compressed data, against the request")


def _pieces(response: Any) -> Iterator[bytes]:
    """Yields a response's raw bytes as they arrive."""
    pieces = response.iter_raw()
    while True:
        try:
            piece = next(pieces, None)
        except Exception as error:
            raise Transient(f"the transfer broke off: {_first_line(error)}") from error
        if piece is None:
            return
        yield piece


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or ''}:{parts.port}" if parts.port else parts.hostname or ""


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
