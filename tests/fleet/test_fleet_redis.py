"""The head's state in Redis: what `sotto fleet up` says of a Redis that cannot keep it, before Ray starts."""

from __future__ import annotations

import importlib.util
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet_redis import PASSWORD, redis_server
from sotto import cli
from sotto.commands.fleet import cluster
from sotto.errors import ArgumentError
from sotto.fleet.cluster import settings
from sotto.fleet.cluster.nodes import NodeOptions, NodeProcess
from sotto.fleet.cluster.redis import Redis, claim, namespace, variables
from sotto.fleet.control.instance import free_port

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="the extra 'fleet-ray' is not installed"
)
HEAD = "127.0.0.2"


class Up:
    """`sotto fleet up`, in this process; it has to fail before it starts Ray."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.token = folder / "token"
        settings.make_token(self.token)
        self.secret = folder / "password"
        self.secret.touch(0o600)
        self.secret.write_text(PASSWORD + "\n")

    def fails(self, *words: str, port: int = 0, secret: bool = True) -> str:
        """Returns what it complains about."""
        file = ["--redis-password-file", str(self.secret)] if secret else []
        node = ["--name", "a", "--address", HEAD, "--head-port", str(port or free_port())]
        began = time.monotonic()
        assert cli.main(["fleet", "up", *node, "--token-file", str(self.token), *words, *file]) == 2
        assert time.monotonic() - began < 15
        return self._capsys.readouterr().err


@pytest.fixture
def up(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Up:
    """The command, with a token and the password of Redis in files."""
    monkeypatch.delenv("SOTTO_FLEET_REDIS_PASSWORD", raising=False)
    return Up(tmp_path, capsys)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A Redis with a password."""
    with redis_server(tmp_path) as address:
        yield address


def test_redis_that_is_not_there(up: Up) -> None:
    where = f"127.0.0.1:{free_port()}"
    said = up.fails("--redis", where)
    assert f"no Redis at --redis '{where}': " in said
    assert "Connection refused; start redis-server there" in said
    assert "invalid --redis 'here': expected HOST:PORT" in up.fails("--redis", "here")
    assert "expected HOST:PORT, as 10.0.0.9:6379" in up.fails("--redis", "10.0.0.9:99999")


def test_something_else_than_redis(up: Up) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            client = server.accept()[0]
            client.recv(1000)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            client.close()

        thread = threading.Thread(target=answer)
        thread.start()
        said = up.fails("--redis", f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert "what answers there is not Redis" in said


def test_passwords(up: Up, redis: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = up.fails("--redis", redis, secret=False)
    assert f"--redis '{redis}' needs a password: --redis-password-file or the variable" in said
    monkeypatch.setenv("SOTTO_FLEET_REDIS_PASSWORD", "not this one")
    said = up.fails("--redis", redis, secret=False)
    assert f"--redis '{redis}' refuses the password" in said and "not this one" not in said
    (tmp_path / "open").mkdir()
    with redis_server(tmp_path / "open", password=None) as open_redis:
        assert "called without any password configured" in up.fails("--redis", open_redis)


def test_password_files(up: Up, redis: str) -> None:
    assert "--redis-password-file needs --redis" in up.fails()
    up.secret.chmod(0o640)
    assert f"other users may read it; `chmod 600 {up.secret}`" in up.fails("--redis", redis)
    up.secret.chmod(0o600)
    up.secret.write_text("\n")
    assert f"invalid --redis-password-file '{up.secret}': expected a password" in up.fails("--redis", redis)
    up.secret.unlink()
    assert f"cannot read --redis-password-file '{up.secret}'" in up.fails("--redis", redis)


def test_redis_that_cannot_be_written(up: Up, redis: str, tmp_path: Path) -> None:
    host, _, port = redis.partition(":")
    (tmp_path / "copy").mkdir()
    words = ("--replicaof", host, port, "--masterauth", PASSWORD)
    with redis_server(tmp_path / "copy", *words) as copy:
        said = up.fails("--redis", copy)
    assert f"--redis '{copy}' cannot keep the state of the head: " in said


def test_a_head_that_is_elsewhere(up: Up, redis: str, tmp_path: Path) -> None:
    """Another token is another fleet, whose state is beside."""
    port = free_port()
    kept = Redis(redis, PASSWORD, 600)
    claim(kept, f"{HEAD}:{port}", up.token)
    claim(kept, f"{HEAD}:{port}", up.token)  # it came back
    said = up.fails("--redis", redis, port=port + 1)
    assert f"holds the state of this fleet with its head at {HEAD}:{port}, not {HEAD}:{port + 1}" in said
    assert "or begin another fleet with a new --token-file" in said
    other = tmp_path / "other"
    settings.make_token(other)
    claim(kept, f"{HEAD}:{port + 1}", other)
    assert namespace(other) != namespace(up.token)
    with pytest.raises(ArgumentError, match=f"with its head at {HEAD}:{port + 1}"):
        claim(kept, "127.0.0.9:1", other)


def test_a_head_that_runs(up: Up, redis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes of one head would write over each other's state."""
    monkeypatch.setattr(settings, "_FREE_TIMEOUT", 0.5)
    with socket.create_server((HEAD, 0)) as server:
        port = server.getsockname()[1]
        assert f"cannot listen at {HEAD}:{port}: Address already in use" in up.fails(
            "--redis", redis, port=port
        )


def test_what_ray_is_given(up: Up, redis: str) -> None:
    """The password is no part of an address, and the token no part of a name."""
    made: dict[str, Any] = variables(Redis(redis, PASSWORD, 600), up.token)
    assert made.pop("SOTTO_FLEET_REDIS_PASSWORD") == PASSWORD
    assert made == {"RAY_REDIS_ADDRESS": redis, "RAY_external_storage_namespace": namespace(up.token)}
    assert PASSWORD not in str(made) and up.token.read_text() not in str(made)


@pytest.mark.parametrize("seconds", [0.2, 60.0])
def test_a_head_whose_node_ends(seconds: float, tmp_path: Path) -> None:
    """The control plane ends too, so that a service manager starts both again."""
    token = tmp_path / "token"
    settings.make_token(token)
    node = NodeProcess(NodeOptions("a", HEAD), token, tmp_path, port=1)
    (tmp_path / "node.log").write_text("started\nthe GCS died\n\n")
    before = signal.getsignal(signal.SIGTERM)
    cluster.interrupt_on_sigterm()
    try:
        with subprocess.Popen(["sleep", str(seconds)]) as node._process:
            if seconds > 1:
                with node.needed():
                    pass
            else:
                with (
                    pytest.raises(ArgumentError, match="node of this machine ended: the GCS died"),
                    node.needed(),
                ):
                    time.sleep(30)
            node._process.kill()
    finally:
        signal.signal(signal.SIGTERM, before)
