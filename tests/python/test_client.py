"""`sotto.client`: the constructor, deadlines, retries, errors and keys."""

from __future__ import annotations

import pickle
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from client_mock import CHAT, MockServer, Reply, Request, free_port
from sotto.client import (
    ApiError,
    ClientError,
    DeadlineExceeded,
    LlamaCppClient,
    TransportError,
    alias_llamatelemetry,
)

KEY = "sk-very-secret-key"


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A recording server."""
    with MockServer() as mock:
        yield mock


@pytest.fixture
def client(server: MockServer) -> Iterator[LlamaCppClient]:
    """A client of it."""
    with LlamaCppClient(server.url, timeout=20) as one:
        yield one


@pytest.mark.row("B-003", "B-004")
def test_the_constructor_connects_to_nothing() -> None:
    with LlamaCppClient(f"http://127.0.0.1:{free_port()}/") as client:
        assert not client.base_url.endswith("/")
    assert LlamaCppClient().base_url == "http://127.0.0.1:8080"


@pytest.mark.row("B-001", "B-002", "B-018")
def test_the_documented_import_works() -> None:
    code = """
import sotto.client
sotto.client.alias_llamatelemetry()
sotto.client.alias_llamatelemetry()
from llamatelemetry.api.client import LlamaCppClient, CompletionResponse, StopType
client = LlamaCppClient("http://localhost:8080")
assert isinstance(client, sotto.client.LlamaCppClient)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_installed_package_of_the_name_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llamatelemetry", sotto)
    with pytest.raises(ImportError, match="is installed"):
        alias_llamatelemetry()


@pytest.mark.row("B-004")
@pytest.mark.parametrize("slashes", ["", "/", "//"])
def test_slashes_at_the_end_are_removed(server: MockServer, slashes: str) -> None:
    with LlamaCppClient(server.url + slashes) as client:
        client.props()
        assert server.last.path == "/props"
    server.replies["/behind/props"] = Reply({})
    with LlamaCppClient(f"{server.url}/behind{slashes}") as client:
        client.props()
        assert server.last.path == "/behind/props"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("127.0.0.1:8080", "expected http://"),
        ("ftp://127.0.0.1", "expected http://"),
        ("http://", "expected http://"),
        ("http://a:99999", "expected http://"),
        ("http://a b", "expected http://"),
        ("http://a\r\nX: y", "expected http://"),
        ("http://a/?q=1", "without a query"),
        ("http://user:hunter2@a", "pass the key as api_key"),
        ("http://[::1", "expected http://"),
        ("", "expected http://"),
        (7, "expected http://"),
    ],
)
def test_addresses_are_checked(url: Any, says: str) -> None:
    with pytest.raises(sotto.ArgumentError, match="invalid base_url") as caught:
        LlamaCppClient(url)
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "9", None, True])
def test_timeouts_are_checked(timeout: Any) -> None:
    with pytest.raises(ValueError, match="invalid timeout"):
        LlamaCppClient(timeout=timeout)


@pytest.mark.parametrize("key", ["", "a b", "a\r\nX-Evil: 1", "schlüssel", 5, b"k"])
def test_keys_are_checked_and_not_shown(key: Any) -> None:
    with pytest.raises(ValueError, match="invalid api_key") as caught:
        LlamaCppClient(api_key=key)
    assert "Evil" not in str(caught.value) and "schl" not in str(caught.value)


def test_verify_ssl_is_checked() -> None:
    with pytest.raises(ValueError, match="invalid verify_ssl"):
        LlamaCppClient(verify_ssl="no")  # type: ignore[arg-type]


@pytest.mark.row("B-005")
def test_the_key_is_a_bearer_token_and_appears_nowhere_else(server: MockServer) -> None:
    with LlamaCppClient(server.url) as client:
        client.props()
        assert "authorization" not in server.last.headers
    with LlamaCppClient(server.url, api_key=KEY) as client:
        client.props()
        assert server.last.headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in repr(client)
        said = {"error": {"code": 401, "message": f"Invalid key {KEY}", "type": KEY, KEY: 1}}
        server.replies["/props"] = Reply(said, status=401)
        with pytest.raises(ApiError) as caught:
            client.props()
        assert KEY not in str(caught.value) and KEY not in repr(caught.value.__dict__)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        escaped = "".join(f"\\u{ord(one):04x}" for one in KEY)
        server.replies["/props"] = Reply(f'{{"error": {{"message": "{escaped}"}}}}', status=401)
        with pytest.raises(ApiError, match=r"\[api_key\]"):
            client.props()
        assert caught.value.message == "Invalid key [api_key]"
    with LlamaCppClient(f"http://127.0.0.1:{free_port()}", api_key=KEY) as client:
        with pytest.raises(TransportError) as refused:
            client.props()
        assert KEY not in str(refused.value)


@pytest.mark.row("B-006")
def test_the_timeout_ends_a_request(server: MockServer) -> None:
    server.replies["/props"] = Reply({}, pause=2)
    with LlamaCppClient(server.url, timeout=0.3) as client:
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"GET /props: .* within 0\.3 s") as caught:
            client.props()
        assert time.monotonic() - began < 1
        assert isinstance(caught.value, DeadlineExceeded)


def drip(server: socket.socket, head: bytes) -> threading.Thread:
    """Sends one byte after the other to one client, without end."""

    def send() -> None:
        connection, _ = server.accept()
        with connection:
            try:
                connection.sendall(head)
                while True:
                    connection.sendall(b"a")
                    time.sleep(0.02)
            except OSError:
                return

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.row("B-006")
@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-Endless: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_sends_byte_by_byte_does_not_extend_the_timeout(head: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = drip(listener, head)
        with LlamaCppClient(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.4) as client:
            began = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                client.metrics()
            assert 0.3 < time.monotonic() - began < 1.5
        thread.join(5)
        assert not thread.is_alive()


def test_a_server_that_reads_nothing_does_not_extend_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = LlamaCppClient(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.4)
        began = time.monotonic()
        with client, pytest.raises(DeadlineExceeded):
            client.tokenize("a" * 50_000_000)
        assert time.monotonic() - began < 3


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate with its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-keyout", folder / "one.pem", "-out", folder / "cert.pem"]
    try:
        subprocess.run([*command, *names], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl to make a certificate with")
    with (folder / "one.pem").open("ab") as file:
        file.write((folder / "cert.pem").read_bytes())
    return folder / "one.pem"


@pytest.mark.row("B-007")
def test_certificates_are_verified(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with MockServer(context) as server:
        for call in ("metrics", "props", "health"):
            with LlamaCppClient(server.url, timeout=20, verify_ssl=False) as client:
                assert getattr(client, call)()
            with LlamaCppClient(server.url, timeout=20) as client:
                began = time.monotonic()
                with pytest.raises(TransportError, match=r"(?i)certificate"):
                    getattr(client, call)()
                assert time.monotonic() - began < 5


@pytest.mark.row("B-008")
def test_json_is_declared(client: LlamaCppClient, server: MockServer) -> None:
    client.tokenize("a")
    assert server.last.headers["content-type"] == "application/json"
    client.props()
    assert "content-type" not in server.last.headers


@pytest.mark.row("B-009")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 501, 503])
def test_error_statuses_raise_with_the_server_s_words(
    client: LlamaCppClient, server: MockServer, status: int
) -> None:
    error = {"code": status, "message": "no\x1b[31m such\nthing", "type": "some_error"}
    server.replies["/completion"] = Reply({"error": error}, status=status)
    for stream in (False, True):
        with pytest.raises(ApiError, match="POST /completion") as caught:
            client.complete("a", stream=stream)
        assert caught.value.status == status
        assert caught.value.message == "no [31m such thing"
        assert caught.value.type == "some_error"
        assert caught.value.body == {"error": error}
        assert isinstance(caught.value, ClientError)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"plain words", "plain words"),
        (b"", "no message"),
        ({"error": "words"}, "words"),
        ({"detail": "words"}, "words"),
        ({"message": "words"}, "words"),
        ([1], "[1]"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a" * 5_000_000, "a" * 2000 + "..."),
    ],
)
def test_any_error_body_is_read(client: LlamaCppClient, server: MockServer, body: Any, message: str) -> None:
    server.replies["/props"] = Reply(body, status=500)
    with pytest.raises(ApiError) as caught:
        client.props()
    assert caught.value.message == message


def test_redirects_are_not_followed(server: MockServer) -> None:
    with MockServer() as other, LlamaCppClient(server.url, api_key=KEY) as client:
        server.replies["/props"] = Reply({}, status=307, headers={"Location": f"{other.url}/props"})
        with pytest.raises(ApiError) as caught:
            client.props()
        assert caught.value.status == 307
        assert other.requests == []


def test_proxies_of_the_environment_are_not_used(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    with LlamaCppClient(server.url) as client:
        assert client.props() == {"total_slots": 1}


def test_a_connection_that_cannot_be_opened_is_tried_again() -> None:
    port = free_port()
    with LlamaCppClient(f"http://127.0.0.1:{port}", timeout=20) as client:
        began = time.monotonic()
        with pytest.raises(ConnectionError, match=str(port)):
            client.props()
        assert 0.35 < time.monotonic() - began < 3

        def late() -> None:
            time.sleep(0.2)
            with socket.create_server(("127.0.0.1", port)) as listener:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=late)
        thread.start()
        assert client.props() == {}
        thread.join()


@pytest.mark.parametrize(
    "sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"garbage\r\n\r\n"]
)
def test_a_request_that_was_sent_is_not_sent_again(sent: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(1.0)
        count = [0]

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                count[0] += 1
                with connection:
                    connection.recv(65536)
                    connection.sendall(sent)

        thread = threading.Thread(target=serve)
        thread.start()
        client = LlamaCppClient(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=10)
        with client, pytest.raises(TransportError):
            client.complete("a")
        thread.join()
        assert count == [1]


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.complete("a", temperature=float("nan")),
        lambda client: client.complete("a", grammar=object()),
        lambda client: client.complete(b"bytes"),
        lambda client: client.chat_completion([{"role": "user", "content": {1, 2}}]),
    ],
)
def test_what_is_not_json_is_not_sent(client: LlamaCppClient, server: MockServer, call: Any) -> None:
    with pytest.raises(sotto.ArgumentError, match=r"invalid field '(temperature|grammar|prompt|messages)'"):
        call(client)
    assert server.requests == []


def test_threads_share_a_client(client: LlamaCppClient, server: MockServer) -> None:
    def reply(request: Request) -> Reply:
        return Reply({"content": str(request.body["tokens"][0])})

    server.replies["/detokenize"] = reply
    said: list[bool] = []

    def ask(number: int) -> None:
        said.extend(client.detokenize([number]) == str(number) for _ in range(20))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [True] * 160


def test_a_response_has_a_limit(
    client: LlamaCppClient, server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sotto.client._sync.transport.MAX_RESPONSE", 1000)
    server.replies["/metrics"] = Reply(b"a" * 1000)
    assert len(client.metrics()) == 1000
    server.replies["/metrics"] = Reply(b"a" * 1001)
    with pytest.raises(TransportError, match="more than 1000 bytes"):
        client.metrics()
    server.replies["/v1/chat/completions"] = Reply(CHAT)
    assert client.chat_completion([]).choices  # the connection that was cut is not used again
