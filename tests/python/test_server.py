"""The server's own behaviour: whole answers, streams, limits, keys, and its end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import serving

SAID = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with serving.served("--max-body", "1", "--timeout", "30") as running:
        yield running


def idle(server: serving.Served) -> bool:
    return server.ask("/health")[2]["slots_processing"] == 0


def test_a_stream_says_what_a_whole_answer_says(server: serving.Served) -> None:
    status, headers, whole = server.ask("/v1/chat/completions", SAID)
    assert status == 200 and headers["content-type"] == "application/json"
    *chunks, end = server.events("/v1/chat/completions", SAID)
    assert end == "[DONE]"
    deltas = [json.loads(chunk)["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert "".join(deltas) == whole["choices"][0]["message"]["content"] != ""
    assert json.loads(chunks[-1])["choices"][0]["finish_reason"] == "length"


def test_a_server_of_one_model_answers_for_any_name(server: serving.Served) -> None:
    assert server.ask("/v1/chat/completions", {**SAID, "model": "gpt-9"})[2]["model"] == "sotto/house"


def test_fields_of_ours_pass_to_the_scheduler(server: serving.Served) -> None:
    asked = {**SAID, "priority": "background", "deadline_ms": 500, "target_tps": 40}
    began = time.monotonic()
    assert server.ask("/v1/chat/completions", asked)[0] == 200
    assert time.monotonic() - began > 7 / 40 * 0.9


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"priority": "urgent"}, "priority"),
        ({"priority": ["normal"]}, "priority"),
        ({"deadline_ms": -1}, "deadline_ms"),
        ({"target_tps": "fast"}, "target_tps"),
        ({"target_tps": True}, "target_tps"),
        ({"stream": 1}, "stream"),
        ({"model": 7}, "model"),
        ({"messages": []}, "messages"),
        ({"max_tokens": -5}, "max_tokens"),
        ({"temperature": 1e400}, "temperature"),
    ],
)
def test_an_invalid_field_is_named(server: serving.Served, fields: dict[str, object], named: str) -> None:
    for path in ("/v1/chat/completions", "/chat/completions"):
        status, _, told = server.ask(path, {**SAID, **fields})
        assert status == 400 and told["error"]["type"] == "invalid_request_error"
        assert named in told["error"]["message"] and told["error"]["code"] == 400


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"", 400),
        (b"null", 400),
        (b"[" * 100_000, 400),
        (b'{"messages":"\xff"}', 400),
        (b'{"x":"' + b"a" * (1 << 20) + b'"}', 413),
    ],
)
def test_an_invalid_body_is_refused(server: serving.Served, body: bytes, status: int) -> None:
    got, _, told = server.ask("/v1/chat/completions", body)
    assert got == status == told["error"]["code"]


def test_unknown_paths_methods_and_types(server: serving.Served) -> None:
    assert server.ask("/nope")[0] == 404
    assert server.ask("/v1/chat/completions")[0] == 405
    assert server.ask("/v1/models", b"{}")[0] == 405
    assert server.ask("/v1/chat/completions", b"x", content_type="image/png")[0] == 415
    assert server.ask("/v1/models/unknown")[0] == 404


def test_another_host_is_refused(server: serving.Served) -> None:
    status, _, told = server.ask("/health", host="evil.example")
    assert status == 403 and "--allow-host" in told["error"]["message"]
    assert server.ask("/health", host="localhost:99")[0] == 200


def test_a_client_that_leaves_frees_its_slot(server: serving.Served) -> None:
    for stream in (True, False):
        asked = {**SAID, "max_tokens": 2000, "target_tps": 5, "ignore_eos": True, "stream": stream}
        body = json.dumps(asked).encode()
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            head = (
                f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            client.sendall(head.encode() + body)
            until = time.monotonic() + 20
            while idle(server) and time.monotonic() < until:
                time.sleep(0.02)
            assert not idle(server)
        until = time.monotonic() + 5
        while not idle(server) and time.monotonic() < until:
            time.sleep(0.02)
        assert idle(server)


def test_keys_are_asked_everywhere_but_for_health(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# of the studio\nsecret-one\n\n  secret-two  \n")
    with serving.served("--api-key", "secret-three", "--api-key-file", str(keys), "--log", "json") as server:
        assert server.ask("/health")[0] == 200
        status, headers, told = server.ask("/v1/models")
        assert (status, told["error"]["type"]) == (401, "authentication_error")
        assert headers["www-authenticate"] == "Bearer"
        assert server.ask("/v1/models", authorization="Bearer wrong")[0] == 401
        for key in ("secret-one", "secret-two", "secret-three"):
            assert server.ask("/v1/models", authorization=f"Bearer {key}")[0] == 200
            assert server.ask("/v1/models", x_api_key=key)[0] == 200
        assert server.ask("/v1/chat/completions", SAID, authorization="Bearer secret-one")[0] == 200
    lines = [json.loads(line) for line in server.log.splitlines()]
    paths = {line["path"]: line["status"] for line in lines if "path" in line}
    assert paths["/v1/chat/completions"] == 200
    assert "secret" not in server.log and "Hello" not in server.log


def test_a_shutdown_lets_a_stream_end_and_refuses_others() -> None:
    with serving.served("--drain", "20") as server:
        said: list[str] = []
        asked = {**SAID, "max_tokens": 20, "target_tps": 10, "ignore_eos": True}
        stream = threading.Thread(target=lambda: said.extend(server.events("/v1/chat/completions", asked)))
        stream.start()
        while idle(server):
            time.sleep(0.02)
        assert server.end() == 0
        stream.join(30)
        assert said[-1] == "[DONE]" and len(said) > 15


def test_a_stream_that_outlasts_the_shutdown_ends_with_an_error() -> None:
    with serving.served("--drain", "0.5") as server:
        said: list[str] = []
        asked = {**SAID, "max_tokens": 2000, "target_tps": 5, "ignore_eos": True}
        stream = threading.Thread(target=lambda: said.extend(server.events("/v1/chat/completions", asked)))
        stream.start()
        while "\nllamacpp:tokens_predicted_total 0.0\n" in server.ask("/metrics")[2]:
            time.sleep(0.02)
        assert server.end() == 0
        stream.join(30)
        assert json.loads(said[-1])["error"]["message"] == "the server is shutting down"
    assert "Traceback" not in server.log


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "sotto.cli", "serve", "sotto/house", "--port", port]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode != 0 and f"port {port}" in told.stderr and "Traceback" not in told.stderr


def test_a_model_that_cannot_be_loaded_ends_the_server(tmp_path: Path) -> None:
    file = tmp_path / "no.gguf"
    file.write_bytes(b"GGUF")
    command = [sys.executable, "-m", "sotto.cli", "serve", str(file), "--port", "0"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 1 and "no.gguf" in told.stderr and "Traceback" not in told.stderr


def test_too_many_requests_get_429() -> None:
    with serving.served("--max-requests", "1") as server:
        asked = {**SAID, "max_tokens": 50, "target_tps": 20, "ignore_eos": True}
        stream = threading.Thread(target=lambda: server.events("/v1/chat/completions", asked))
        stream.start()
        while idle(server):
            time.sleep(0.02)
        status, headers, told = server.ask("/v1/chat/completions", SAID)
        assert (status, told["error"]["type"]) == (429, "rate_limit_error") and headers["retry-after"] == "1"
        stream.join(30)
        assert server.ask("/v1/chat/completions", SAID)[0] == 200


def test_an_answer_that_does_not_begin_in_time_gets_503() -> None:
    with serving.served("--timeout", "1") as server:
        asked = {**SAID, "max_tokens": 1000, "target_tps": 5, "ignore_eos": True}
        status, headers, told = server.ask("/v1/chat/completions", asked)
        assert status == 503 and "1 seconds" in told["error"]["message"] and headers["retry-after"] == "1"
        told = server.events("/v1/chat/completions", asked)
        assert json.loads(told[-1])["error"]["code"] == 503 and len(told) > 3
