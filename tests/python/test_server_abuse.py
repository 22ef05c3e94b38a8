"""What a client may not do to a server: malformed HTTP, bodies without end, and what JSON can hide."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'server'")

import serving
from raw_http import asked, connect, everything, exchange, post, statuses
from scripted_server import scripted

CLOSE = "Connection: close"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with scripted("--max-body", "1", "--api-key", "k") as one:
        yield one
    assert "Traceback" not in one.log
    assert "smuggled" not in one.log and "Hello" not in one.log


@pytest.fixture(autouse=True)
def green(server: serving.Served) -> Iterator[None]:
    """After each test, the server answers and no request is left."""
    yield
    until = time.monotonic() + 5
    while (told := server.ask("/health"))[2].get("slots_processing") and time.monotonic() < until:
        time.sleep(0.02)
    assert told[0] == 200 and told[2]["slots_processing"] == 0


def chat(body: bytes, *headers: str) -> bytes:
    return post(body, "/v1/chat/completions", "Authorization: Bearer k", CLOSE, *headers)


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length: 5, 5",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999999999",
        "Content-Length : 5",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\x0bchunked",
        "Transfer-Encoding: identity, chunked\r\nContent-Length: 5",
        " Transfer-Encoding: chunked",
        "X: a\x00b",
        "X: a\rTransfer-Encoding: chunked",
    ],
)
def test_smuggled_requests_are_refused(server: serving.Served, head: str) -> None:
    second = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = f"POST /health HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n0\r\n\r\n{second}"
    told = statuses(exchange(server, sent.encode("latin-1")))
    assert told in ([400], []), told  # nothing is answered after the first


@pytest.mark.parametrize(
    "hosts", [("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost",) * 2]
)
def test_two_hosts_are_refused(server: serving.Served, hosts: tuple[str, str]) -> None:
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    told = exchange(server, f"GET /v1/models HTTP/1.1\r\n{lines}x-api-key: k\r\n{CLOSE}\r\n\r\n".encode())
    assert statuses(told) == [400] and b"invalid header Host" in told


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"get /health\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"\x00" * 1000,
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ],
)
def test_malformed_requests_close_the_connection(server: serving.Served, sent: bytes) -> None:
    began = time.monotonic()
    told = statuses(exchange(server, sent))
    assert all(status in (400, 404) for status in told), told
    assert time.monotonic() - began < 12


def test_pipelined_requests_are_answered_in_order(server: serving.Served) -> None:
    sent = GET * 100 + b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert statuses(exchange(server, sent)) == [200] * 100 + [401]


def test_a_header_cannot_be_injected(server: serving.Served) -> None:
    path = "/v1/models/x%0d%0aSet-Cookie:%20evil=1"
    told = exchange(
        server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: k\r\n{CLOSE}\r\n\r\n".encode()
    )
    headers, _, body = told.partition(b"\r\n\r\n")
    assert statuses(told) == [404] and b"evil" not in headers
    assert "evil" in json.loads(body)["error"]["message"]


def test_a_chunked_body_without_end_is_refused(server: serving.Served) -> None:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nx-api-key: k\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert statuses(exchange(server, head + chunk * 20)) == [413]


def test_a_chunked_body_is_read(server: serving.Served) -> None:
    body = asked()
    parts = b"".join(b"%x;ext=1\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\nTrailer: x\r\n\r\n"
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nx-api-key: k\r\n{CLOSE}\r\n"
    assert statuses(exchange(server, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + parts)) == [200]


def test_a_body_goes_on_after_its_refusal_for_a_while_only(server: serving.Served) -> None:
    head = b"POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(head)
        assert statuses(connection.recv(4096)) == [401]
        began = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - began < 15:
                connection.sendall(b" ")
                time.sleep(0.05)
        assert time.monotonic() - began < 10


def test_an_upload_is_answered_although_it_is_too_large(server: serving.Served) -> None:
    status, _, told = server.ask("/v1/chat/completions", b" " * (8 << 20), x_api_key="k")
    assert status == 413 and "1,048,576" in told["error"]["message"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"messages":"' + b"a" * 1000, "body"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "body"),
        (b'{"messages":' + b"[" * 400 + b"]" * 400 + b"}", "levels of nesting"),
        (asked(stop=[str(number) for number in range(10_000)]), "stop"),
        (asked(n=10_000), "n"),
        (asked(n=-1), "n"),
        (asked(n=10**30), "n"),
        (asked(max_tokens=10**30), "max_tokens"),
        (asked(temperature="hot"), "temperature"),
        (asked(response_format={"type": "json_schema", "json_schema": {"schema": {"$ref": "#"}}}), ""),
        (b'{"messages":[{"role":"user","content":"\\ud800"}]}', ""),
        (b'{"model":"\\ud800","messages":1}', ""),
        (b'{"priority":"\\ud800","messages":1}', "priority"),
        (b'{"messages":[],"messages":[]}', "messages"),
        (b'{"max_tokens":NaN,"messages":[]}', ""),
        (b'{"max_tokens":' + b"9" * 5000 + b"}", ""),
        (b"\xef\xbb\xbf{}", ""),
        (b"\xff\xfe{\x00}\x00", "UTF-8"),
        (asked(model="../../etc/passwd\0$(reboot)", messages=None), "messages"),
        (
            asked(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/"}}]}]),
            "",
        ),
    ],
)  # fmt: skip
def test_what_json_can_hide_is_refused(server: serving.Served, body: bytes, named: str) -> None:
    told = exchange(server, chat(body))
    assert statuses(told)[0] in (400, 501), told[:500]
    error = json.loads(told.partition(b"\r\n\r\n")[2])["error"]
    assert named in error["message"], error


def test_a_key_is_compared_with_all_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.datastructures import Headers

    from sotto.server import gate

    compared: list[bytes] = []

    def digest(given: bytes, known: bytes) -> bool:
        compared.append(known)
        return given == known

    monkeypatch.setattr(gate.hmac, "compare_digest", digest)
    checks = gate.Gate(None, ["*"], ["first", "second"], shapes={})  # type: ignore[arg-type]
    for given, admitted in (("first", True), ("second", True), ("firs", False), ("é", False), ("", False)):
        compared.clear()
        raw = [(b"authorization", f"Bearer {given}".encode())]
        assert checks._admits(Headers(raw=raw)) is admitted
        assert compared == [b"first", b"second"]


def test_slow_headers_and_slow_bodies_end(server: serving.Served) -> None:
    with connect(server, 30) as silent, connect(server, 30) as slow:
        began = time.monotonic()
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        for _ in range(8):
            time.sleep(1)
            slow.sendall(b"X: y\r\n")
        assert everything(silent) == b"" == everything(slow)
        assert 8 < time.monotonic() - began < 14
