"""Clients that leave, stall or come at the wrong time: nobody else notices, and nothing is left of them."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'server'")

import serving
from raw_http import asked, connect, everything, post
from scripted_server import scripted

ENDLESS = {"tokens": [" on"], "loop": True, "streams": 4}
LONG = {"max_tokens": 1_000_000, "stream": True}


def until(true: Callable[[], bool], seconds: float = 10) -> bool:
    """Waits for a condition."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running(server: serving.Served) -> int:
    return int(server.ask("/health")[2]["slots_processing"])


def test_a_killed_client_frees_its_slot_within_a_second() -> None:
    code = (
        "import sys, urllib.request as u; r = u.urlopen(u.Request(sys.argv[1], sys.argv[2].encode()));"
        "print(r.readline(), flush=True); r.read()"
    )
    with scripted("--target-tps", "20", **ENDLESS) as server:
        url = server.url + "/v1/chat/completions"
        command = [sys.executable, "-c", code, url, asked(**LONG).decode()]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
            assert client.stdout is not None
            said = client.stdout.readline()
            begun = until(lambda: running(server) == 1)
            client.kill()
            assert said.startswith(b"b'data: ") and begun
            assert until(lambda: running(server) == 0, 1)


def test_a_stalled_reader_is_cut_off_and_hurts_nobody() -> None:
    with scripted("--timeout", "3", **ENDLESS) as server:
        stalled = [connect(server) for _ in range(3)]
        for connection in stalled:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(post(asked(**LONG)))
        assert until(lambda: running(server) == 3)
        began = time.monotonic()
        other = server.events("/v1/chat/completions", json.loads(asked(max_tokens=50)))
        assert other[-1] == "[DONE]" and time.monotonic() - began < 2
        assert until(lambda: running(server) == 0, 8)
        files = f"/proc/{server.process.pid}/fd"
        if os.path.isdir(files):  # the sockets are closed although nobody reads what they hold
            assert until(lambda: sum(_is_socket(f"{files}/{name}") for name in os.listdir(files)) <= 4, 8)
        for connection in stalled:
            connection.close()


def _is_socket(path: str) -> bool:
    try:
        return os.readlink(path).startswith("socket:")
    except OSError:
        return False


def test_a_model_that_is_unloaded_ends_its_stream() -> None:
    import asyncio

    from conftest import SCRIPTED
    from sotto import aio
    from sotto.server import Settings, app

    async def test() -> bytes:
        async with aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute", target_tps=50) as engine:
            await engine.load_model("npc", options=ENDLESS)
            served, told = app(engine, Settings(hosts=("*",))), [b""]
            body = [{"type": "http.request", "body": asked(**LONG), "more_body": False}]

            async def receive() -> dict[str, object]:
                return body.pop() if body else await asyncio.Future()  # type: ignore[return-value]

            async def send(message: dict[str, object]) -> None:
                told[0] += message.get("body", b"")  # type: ignore[operator]

            scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
            asking = asyncio.ensure_future(
                served({**scope, "query_string": b""}, receive, send)  # type: ignore[arg-type]
            )
            while b"data:" not in told[0]:
                await asyncio.sleep(0.01)
            await engine.unload_model("npc")
            await asyncio.wait_for(asking, 5)
            assert served.state.service.live == 0
            return told[0]

    last = asyncio.run(test()).decode().strip().splitlines()[-1]
    assert "unloaded" in json.loads(last.removeprefix("data: "))["error"]["message"]


def test_sigterm_lets_a_stream_end_while_new_requests_get_503() -> None:
    with scripted("--target-tps", "20", "--drain", "20", **ENDLESS) as server, connect(server) as stream:
        stream.sendall(post(asked(max_tokens=40, stream=True)))
        assert until(lambda: running(server) == 1)
        assert server.ask("/ready")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        assert until(lambda: server.ask("/health")[0] == 503, 1)
        assert server.ask("/ready")[0] == 404
        status, headers, told = server.ask("/v1/chat/completions", json.loads(asked()))
        assert status == 503 and headers["retry-after"] == "1" and "shutting down" in told["error"]["message"]
        said = everything(stream).decode()
        assert said.count('"content"') == 40 and "data: [DONE]" in said
        assert server.process.wait(5) == 0


def test_two_servers_cannot_share_a_port() -> None:
    with scripted() as first:
        port = first.url.rpartition(":")[2]
        with pytest.raises(AssertionError, match=f"port {port}"), scripted("--port", port):
            pass
        assert first.ask("/health")[0] == 200
    with pytest.raises(AssertionError, match="choose another with --host"), scripted("--host", "192.0.2.1"):
        pass


def test_a_unix_socket_is_private_and_a_stale_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))  # closed without being removed, as by a server that was killed
    with scripted("--uds", str(path)) as server:
        assert server.url == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with (
            pytest.raises(AssertionError, match="another server answers there"),
            scripted("--uds", str(path)),
        ):
            pass
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /health HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n")
            assert everything(client).startswith(b"HTTP/1.1 200")
    assert not path.exists()
    path.write_text("a file of somebody")
    with pytest.raises(AssertionError, match="no socket"), scripted("--uds", str(path)):
        pass
    assert path.read_text() == "a file of somebody"


def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run([*made, *files, *subject], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with scripted("--tls-cert", str(certificate), "--tls-key", str(key)) as server:
        assert server.url.startswith("https://127.0.0.1:")
        asking = urllib.request.Request(server.url + "/v1/chat/completions", asked())
        with urllib.request.urlopen(asking, context=trusted, timeout=20) as answer:
            assert json.loads(answer.read())["choices"]
        plain = serving.Served(server.url.replace("https", "http"), server.process)
        with connect(plain) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not everything(client).startswith(b"HTTP/1.1 200")
    with pytest.raises(AssertionError, match="--tls-key"), scripted("--tls-cert", str(certificate)):
        pass
    for wrong in (tmp_path / "absent", tmp_path):
        files = ("--tls-cert", str(certificate), "--tls-key", str(wrong))
        with pytest.raises(AssertionError, match=f"invalid TLS certificate .*'{wrong}'"), scripted(*files):
            pass
    key.write_text("no key")
    with pytest.raises(AssertionError, match="PEM"), scripted(*files[:3], str(key)):
        pass


def test_only_admitted_origins_may_read_answers() -> None:
    with scripted("--allow-origin", "https://tools.example") as server:
        for origin, admitted in (("https://tools.example", True), ("https://evil.example", False)):
            wanted = {"origin": origin, "access_control_request_method": "POST"}
            _, preflight, _ = server.ask("/v1/chat/completions", method="OPTIONS", **wanted)
            _, headers, _ = server.ask("/health", origin=origin)
            for told in (preflight, headers):
                assert (told.get("access-control-allow-origin") == origin) is admitted
    with scripted() as server:
        _, headers, _ = server.ask("/health", origin="https://tools.example")
        assert not [name for name in headers if name.lower().startswith("access-control")]


def test_the_log_holds_nothing_that_was_said() -> None:
    words, key = "a secret that nobody else may read", "key-of-the-studio"
    with scripted("--log", "json", "--api-key", key) as server:
        said = {"messages": [{"role": "user", "content": words}], "max_tokens": 20}
        told = server.ask("/v1/chat/completions", said, authorization=f"Bearer {key}")[2]
        assert "secret" in told["choices"][0]["message"]["content"]
        server.events("/v1/chat/completions", said, x_api_key=key)
        server.ask("/v1/chat/completions", {**said, "max_tokens": -1}, x_api_key=key)
        server.ask("/v1/chat/completions", said, x_api_key=key + "-wrong")
        server.ask("/v1/models?api_key=" + key, x_api_key=key)
        threading.Event().wait(0.1)
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert sum("path" in line for line in lines) == 5
    assert "secret" not in server.log and key not in server.log
