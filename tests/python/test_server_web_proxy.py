"""`/cors-proxy` of `sotto serve --as llama-server`: what it passes on, and what it refuses."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import serving
from sotto.errors import ArgumentError
from sotto.server.llama.config import config
from sotto.server.llama.flags import parse

KEY = {"Authorization": "Bearer secret"}
PASSED = "x_llama_server_proxy_header_"


class Target(ThreadingHTTPServer):
    """A server that notes requests and answers by their path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heard: list[tuple[str, str, dict[str, str], bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Target

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.heard.append((self.command, self.path, headers, body))
        if self.path == "/empty":
            self.send_response(204)
            self.end_headers()
            return
        told = b"hello" * 1000
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(told) + (self.path == "/torn")))
        self.send_header("Mcp-Session-Id", "7")
        self.send_header("Set-Cookie", "a=b")
        self.send_header("Access-Control-Allow-Origin", "http://evil.example")
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(told)
        self.close_connection = True

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def target() -> Iterator[Target]:
    made = Target()
    yield made
    made.shutdown()
    made.server_close()


def proxied(server: serving.Served, url: str, body: Any = None, **headers: str) -> Any:
    return server.ask(f"/cors-proxy?url={urllib.parse.quote(url, safe='')}", body, **KEY, **headers)


def test_the_flag_sets_the_routes_and_cors() -> None:
    assert not config(parse([], {})).web_proxy and config(parse([], {})).cors["origins"] == "*"
    made = config(parse(["--ui-mcp-proxy"], {}))
    assert made.web_proxy and made.cors["origins"] == "localhost"
    assert config(parse(["--tools", "all"], {})).cors["origins"] == "localhost"
    assert config(parse(["--tools", "all", "--cors-origins", "*"], {})).cors["origins"] == "*"
    with pytest.raises(ArgumentError, match="no counterpart"):
        parse(["--mcp-servers-config", "x"], {})


def test_only_named_headers_are_passed_on(target: Target) -> None:
    arguments = ("--as", "llama-server", "--port", "0", "--ui-mcp-proxy", "--api-key", "secret")
    with serving.served(*arguments, model="") as server:
        assert server.ask(f"/cors-proxy?url={target.url}")[0] == 401 and not target.heard
        secret = {"Cookie": "a=b", "X_Api_Key": "secret", "Proxy_Authorization": "Basic x"}
        named = {f"{PASSED}authorization": "Bearer theirs", f"{PASSED}host": "evil.example"}
        status, headers, body = proxied(server, f"{target.url}/mcp?a=b%20c", **secret, **named)
        assert status == 200 and body == "hello" * 1000
        assert headers["Mcp-Session-Id"] == "7" and "Set-Cookie" not in headers
        assert headers.get("Access-Control-Allow-Origin") != "http://evil.example"
        method, path, heard, _ = target.heard[-1]
        assert (method, path) == ("GET", "/mcp?a=b%20c") and heard["authorization"] == "Bearer theirs"
        assert heard["host"] == f"127.0.0.1:{target.server_port}"
        assert not {"cookie", "x-api-key", "proxy-authorization"} & set(heard)

        status, _, _ = proxied(server, f"{target.url}/mcp", {"a": 1}, **{f"{PASSED}content_type": "text/x"})
        assert status == 200 and target.heard[-1][3] == b'{"a": 1}'
        assert target.heard[-1][2]["content-type"] == "text/x"
        assert proxied(server, f"{target.url}/empty", {})[0] == 204

        asked = len(target.heard)
        for bad in (
            "",
            "file:///etc/passwd",
            "ftp://a/",
            "http://",
            "//a",
            "http://u:p@127.0.0.1/",
            "http://a:port/",
        ):
            status, _, told = proxied(server, bad)
            assert status == 400 and told["error"]["message"].startswith("invalid url"), bad
        status, _, told = proxied(server, "http://127.0.0.1:1/")
        assert status == 502 and "cannot reach http://127.0.0.1" in told["error"]["message"]
        assert len(target.heard) == asked
        assert server.ask("/tools", **KEY)[0] == 403
        for _ in range(70):  # more than may be under way at once
            assert proxied(server, f"{target.url}/mcp")[0] == 200


def test_redirects_are_not_followed_and_torn_answers_are_not_whole(target: Target) -> None:
    with serving.served("--as", "llama-server", "--port", "0", "--ui-mcp-proxy", model="") as server:
        asked = f"/cors-proxy?url={target.url}"
        with pytest.raises(OSError):  # urllib follows the redirect, which leads nowhere
            server.ask(f"{asked}/moved")
        assert len(target.heard) == 1
        with pytest.raises(Exception, match="IncompleteRead"):
            server.ask(f"{asked}/torn")
        assert server.ask("/health")[0] == 200


def test_without_the_flag_the_route_is_disabled(target: Target) -> None:
    with serving.served("--as", "llama-server", "--port", "0", model="") as server:
        status, _, told = server.ask(f"/cors-proxy?url={target.url}")
        assert status == 403 and "--ui-mcp-proxy" in told["error"]["message"]
        assert told["error"]["type"] == "feature_disabled" and not target.heard
