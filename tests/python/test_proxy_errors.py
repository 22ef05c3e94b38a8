"""The backend "proxy" against servers that refuse, lie, stall or vanish; and the secrecy of its key."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from remote_server import KEY, Answer, Asked, RemoteServer, Reply, until_closed
from talk import chat, content
from test_proxy import MODULE, modules, remote, server

__all__ = ["modules", "remote", "server"]  # fixtures
pytestmark = pytest.mark.skipif(MODULE is None, reason="the build has no module sotto_proxy")
ASK = chat("x", model="studio::m")


def refuses(status: int, **headers: str) -> Answer:
    error = {"error": {"message": f"no, {KEY}\nreally", "type": "t"}}
    return lambda _, reply: reply.json(error, status, **headers)


def failure(engine: sotto.Engine, ask: str = ASK) -> sotto.SottoError:
    """The error of a chat, which says nothing that is secret."""
    with pytest.raises(sotto.SottoError) as raised:
        engine.llm_chat_completion(ask)
    assert KEY not in str(raised.value) and "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.row("A-017")
@pytest.mark.parametrize(
    ("status", "named"),
    [(400, "ARGUMENT"), (401, "INFERENCE"), (403, "INFERENCE"), (404, "NOT_FOUND"), (413, "ARGUMENT"),
     (422, "ARGUMENT"), (429, "BUSY"), (500, "INFERENCE"), (501, "UNSUPPORTED"), (503, "INFERENCE")],
)  # fmt: skip
def test_a_refusal_has_its_status_and_its_message(
    remote: sotto.Engine, server: RemoteServer, status: int, named: str
) -> None:
    server.answer = refuses(status)
    error = failure(remote)
    assert error.status == sotto.Status[named]
    host = server.url.split("/")[2]
    assert f"POST /v1/chat/completions to server '{host}' was refused with {status}: no, *** really" in str(
        error
    )
    if status == 400:
        assert isinstance(error, ValueError)
    assert len(server.asked) == 1


def closes(_: Asked, reply: Reply) -> None:
    reply.socket.shutdown(socket.SHUT_RDWR)


def breaks_off(_: Asked, reply: Reply) -> None:
    reply.chat(["one ", "two "], finish=None)


def sends(text: str | bytes, type_: str = "text/event-stream") -> Answer:
    def answer(_: Asked, reply: Reply) -> None:
        reply.begin(200, type_)
        reply.write(text)

    return answer


def endless_line(_: Asked, reply: Reply) -> None:
    reply.begin()
    reply.write("data: ")
    while True:
        reply.write("x" * 65536)


def endless_body(_: Asked, reply: Reply) -> None:
    reply.begin(200, "application/json")
    while True:
        reply.write("[" * 65536)


def endless_header(_: Asked, reply: Reply) -> None:
    reply.socket.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        reply.socket.sendall(b"x" * 65536)


@pytest.mark.row("A-017")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (closes, "closed the connection without an answer"),
        (breaks_off, "closed the connection before the answer was complete"),
        (sends("data: {\n\n"), "sent no JSON object"),
        (sends("data: 3\n\n"), "sent no JSON object"),
        (sends(b'data: {"a": "\xff"}\n\n'), "sent no JSON object"),
        (sends("data: " + "[" * 10_000 + "\n\n"), "sent no JSON object"),
        (sends('data: {"error": {"message": "model crashed"}}\n\n'), "reports: model crashed"),
        (sends("<html>", "text/html"), "sent no JSON object: '<html>'"),
        (sends("", "application/json"), "sent no JSON object"),
        (endless_line, "sent an event of more than 1 MiB"),
        (endless_body, "sent a response of more than 16 MiB"),
        (endless_header, "server '127.0.0.1"),
        (sends('data: {"choices": 3}\n\n'), "before the answer was complete"),
        (sends('data: {"choices": [3]}\n\n'), "before the answer was complete"),
        (sends('data: {"choices": [{"delta": {"tool_calls": [{"index": 4000}]}}]}\n\n'), "128 tool calls"),
    ],
)
def test_what_is_no_answer_is_an_error(
    remote: sotto.Engine, server: RemoteServer, answer: Answer, said: str
) -> None:
    server.answer = answer
    error = failure(remote)
    assert error.status == sotto.Status.INFERENCE and said in str(error)
    server.answer = lambda _, reply: reply.chat(["well"])
    assert content(remote.llm_chat_completion(ASK)) == "well"


def test_what_was_said_before_the_connection_broke_arrives(
    remote: sotto.Engine, server: RemoteServer
) -> None:
    server.answer = breaks_off
    heard = ""
    with pytest.raises(sotto.InferenceError, match="before the answer was complete"):
        for chunk in remote.llm_chat_completion_stream(ASK):
            heard += json.loads(chunk)["choices"][0]["delta"].get("content") or ""
    assert heard == "one two "


def test_a_redirect_is_not_followed(remote: sotto.Engine, server: RemoteServer) -> None:
    other = RemoteServer()
    to = f"{other.url}/chat/completions?token=secret"
    server.answer = lambda _, reply: reply.json({}, 307, Location=to)
    assert "was redirected to 'http://127.0.0.1" in str(failure(remote))
    assert not other.asked
    other.close()


def connect(
    open_engine: Callable[..., sotto.Engine], modules: Path, url: str, **options: Any
) -> sotto.Engine:
    engine = open_engine(module_dir=modules)
    engine.load_model("m", backend="proxy", options={"base_url": url, "max_retries": 0, **options})
    return engine


def test_nobody_listens(open_engine: Callable[..., sotto.Engine], modules: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    engine = connect(open_engine, modules, url)
    assert "cannot be reached" in str(failure(engine, chat("x", model="m")))


def test_silence_and_a_drip_end_in_time(
    open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path
) -> None:
    silent = connect(open_engine, modules, server.url, read_timeout_ms=200)
    server.answer = lambda _, reply: time.sleep(3)
    began = time.monotonic()
    assert "sent nothing for 200 ms" in str(failure(silent, chat("x", model="m")))
    assert time.monotonic() - began < 2

    def drips(_: Asked, reply: Reply) -> None:
        reply.begin()
        for _number in range(100):
            reply.write(": ping\n\n")
            time.sleep(0.05)

    server.answer = drips
    late = connect(open_engine, modules, server.url, timeout_ms=300)
    began = time.monotonic()
    assert "did not finish within options.timeout_ms, 300 ms" in str(failure(late, chat("x", model="m")))
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_refusal_before_the_first_byte_is_repeated(
    open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path, status: int
) -> None:
    def answer(_: Asked, reply: Reply) -> None:
        if len(server.asked) < 3:
            refuses(status, Retry_After="0")(_, reply)
        else:
            reply.chat(["at last"])

    server.answer = answer
    engine = connect(open_engine, modules, server.url, max_retries=2)
    assert content(engine.llm_chat_completion(chat("x", model="m"))) == "at last"
    assert len(server.asked) == 3


def test_nothing_is_repeated_after_the_first_byte_or_for_too_long(
    open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path
) -> None:
    engine = connect(open_engine, modules, server.url, max_retries=5, api_key=KEY)
    for number, answer in enumerate((breaks_off, refuses(401), refuses(503, Retry_After="3600"))):
        server.answer = answer
        failure(engine, chat("x", model="m"))
        assert len(server.asked) == number + 1


@pytest.mark.parametrize("phase", ["before", "streaming", "waiting to repeat"])
def test_cancel_closes_the_connection_at_once(
    open_engine: Callable[..., sotto.Engine], server: RemoteServer, modules: Path, phase: str
) -> None:
    closed: list[float] = []
    arrived = threading.Event()

    def answer(_: Asked, reply: Reply) -> None:
        if phase == "waiting to repeat":
            refuses(503, Retry_After="30")(_, reply)
            arrived.set()
            return
        if phase == "streaming":
            reply.begin()
            reply.event({"choices": [{"index": 0, "delta": {"content": "one"}}]})
        arrived.set()
        if until_closed(reply):
            closed.append(time.monotonic())

    server.answer = answer
    engine = connect(open_engine, modules, server.url, max_retries=1)
    stream = engine.llm_chat_completion_stream(chat("x", model="m"))
    assert arrived.wait(10)
    time.sleep(0.1)
    began = time.monotonic()
    stream.close()
    engine.close()
    assert time.monotonic() - began < 0.5
    while phase != "waiting to repeat" and not closed and time.monotonic() - began < 5:
        time.sleep(0.005)
    assert phase == "waiting to repeat" or closed[0] - began < 0.1


def test_closing_the_engine_ends_a_connection_that_is_being_made(
    open_engine: Callable[..., sotto.Engine], modules: Path
) -> None:
    with socket.socket() as full:  # its queue of connections is full: the next one gets no answer
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(full.getsockname())
        engine = connect(open_engine, modules, f"http://127.0.0.1:{full.getsockname()[1]}/v1")
        stream = engine.llm_chat_completion_stream(chat("x", model="m"))
        time.sleep(0.2)
        began = time.monotonic()
        stream.close()
        engine.close()
        assert time.monotonic() - began < 0.1
        for one in waiting:
            one.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody but itself vouches for, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)],
        check=True, capture_output=True,
    )  # fmt: skip
    return made, key


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[RemoteServer]:
    made = RemoteServer(tls=certificate)
    yield made
    made.close()


def test_tls_is_verified_unless_told_otherwise(
    open_engine: Callable[..., sotto.Engine],
    secure: RemoteServer,
    modules: Path,
    certificate: tuple[Path, Path],
) -> None:
    ask = chat("x", model="m")
    untrusting = connect(open_engine, modules, secure.url, api_key=KEY)
    error = failure(untrusting, ask)
    assert "has a certificate that is not trusted; set options.ca_file" in str(error)
    assert not secure.asked
    knowing = connect(open_engine, modules, secure.url, api_key=KEY, ca_file=str(certificate[0]))
    assert content(knowing.llm_chat_completion(ask)) == "hello there"
    assert secure.last.headers["Authorization"] == f"Bearer {KEY}"
    careless = connect(open_engine, modules, secure.url, verify_ssl=False)
    assert content(careless.llm_chat_completion(ask)) == "hello there"
    wrong_file = connect(open_engine, modules, secure.url, ca_file=str(certificate[1]))
    assert "could not be read" in str(failure(wrong_file, ask))
    plain = connect(open_engine, modules, secure.url.replace("https", "http"))
    failure(plain, ask)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "missing options.base_url"),
        ({"base_url": "ftp://x"}, "invalid options.base_url: expected an address such as"),
        ({"base_url": f"http://me:{KEY}@x/v1"}, "without a name or password"),
        ({"base_url": f"http://x/v1?key={KEY}"}, "without '?'"),
        ({"base_url": "http://x:99999"}, "port from 1 to 65535"),
        ({"base_url": "http://x\r\ny"}, "invalid options.base_url"),
        ({"base_url": "http://"}, "invalid options.base_url"),
        (
            {"base_url": "http://x", "api_key": f"{KEY}\r\nX: y"},
            "options.api_key: expected printable",
        ),
        ({"base_url": "http://x", "api_key_env": "SOTTO_NOT_SET"}, "'SOTTO_NOT_SET': expected the name"),
        ({"base_url": "http://x", "headers": {"Host": "y"}}, "'Host': expected names of headers of your own"),
        ({"base_url": "http://x", "headers": {"X-A": "a\r\nb"}}, "expected text without line breaks"),
        ({"base_url": "http://x", "headers": {"X A": "a"}}, "'X A'"),
        ({"base_url": "http://x", "headers": 3}, "invalid options.headers"),
        ({"base_url": "http://x", "max_retries": 11}, "invalid options.max_retries '11': expected 0 to 10"),
        ({"base_url": "http://x", "read_timeout_ms": 0}, "'0': expected 1 to 86400000"),
        ({"base_url": "http://x", "parallel": "2"}, "options.parallel"),
        ({"base_url": "http://x", "verify_ssl": "no"}, "invalid options.verify_ssl: expected true or false"),
        ({"base_url": "http://x", "bse_url": 1}, "invalid options 'bse_url': expected api_key, api_key_env"),
        ({"base_url": "http://x", "api_key": KEY, "headers": {"authorization": "b"}}, "beside api_key"),
    ],
)
def test_bad_options_are_refused(
    open_engine: Callable[..., sotto.Engine], modules: Path, options: dict[str, Any], said: str
) -> None:
    engine = open_engine(module_dir=modules)
    with pytest.raises(sotto.SottoError) as raised:
        engine.load_model("m", backend="proxy", options=options)
    assert raised.value.status == sotto.Status.ARGUMENT
    assert said in str(raised.value) and KEY not in str(raised.value)


def test_the_key_is_in_no_log_trace_recording_or_list(
    open_engine: Callable[..., sotto.Engine],
    server: RemoteServer,
    modules: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    record = tmp_path / "record.jsonl"
    with caplog.at_level("DEBUG"):
        proxy = sotto.Backend.proxy("studio", server.url, KEY)
        engine = open_engine(backends=[proxy], module_dir=modules, record_path=record, trace_capacity=100)
        engine.llm_chat_completion(ASK)
        server.answer = refuses(401)
        failure(engine)
        shown = [engine.model_list(), str(engine.trace()), repr(engine), str(engine.describe())]
        engine.close()
    assert KEY not in record.read_text() and KEY not in caplog.text
    assert not any(KEY in one for one in shown)
