"""`wait_until_ready()`: events, reconnection, time limit and output, on a double of the control plane."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from typing import Any

import pytest

import sotto.fleet as fleet
from client_mock import Reply, stream
from fleet_faces import SDK, Face
from fleet_mock import READY, FakePlane, told

PHASES = ("scheduling", "provisioning", "bootstrapping", "ready")


@pytest.mark.row(
    "D-037", "D-038", "D-041", "D-043", "D-046", "D-049", "D-050", "D-052", "D-125", "D-127", "D-128"
)
def test_events_are_reported_in_order(
    plane: FakePlane, face: Face, capsys: pytest.CaptureFixture[str]
) -> None:
    up = [{"phase": one, "message": one, "elapsed_ms": 10 * i} for i, one in enumerate(PHASES)]
    up[2]["step"] = "model_load"
    plane.readiness = [told(*up)]
    seen: list[fleet.ReadinessEvent] = []
    assert face.client(plane.url).wait_until_ready("My Smith", on_progress=seen.append) is None
    assert [one.phase for one in seen] == list(PHASES)
    assert [one.elapsed_ms for one in seen] == [0, 10, 20, 30]
    assert [one.step for one in seen] == [None, None, "model_load", None]
    assert plane.last.path == "/api/projects/acme/workloads/my-smith/readiness-events"
    assert plane.last.headers["authorization"] == f"Bearer {SDK}"
    assert capsys.readouterr().out == ""


@pytest.mark.row("D-042", "D-048", "D-126")
@pytest.mark.parametrize("silent", [True, False])
def test_output(plane: FakePlane, face: Face, capsys: pytest.CaptureFixture[str], silent: bool) -> None:
    plane.readiness = [told({"phase": "scheduling", "message": "a\x1b[31m\nb", "elapsed_ms": 1500}, READY)]
    face.client(plane.url).wait_until_ready("smith", silent=silent)
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == ("" if silent else "[1s] scheduling: a [31m b\n[1s] ready: serving\n")


@pytest.mark.row("D-047")
def test_a_terminal_gets_one_line_that_changes(plane: FakePlane) -> None:
    plane.readiness = [told(*PHASES)]
    script = (
        "import sotto.fleet as f\n"
        f"f.ManagementClient(base_url={plane.url!r}, sdk_token={SDK!r}, project='a').wait_until_ready('s')"
    )
    primary, secondary = pty.openpty()
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen([sys.executable, "-c", script], stdout=secondary, env=env) as process:
        os.close(secondary)
        said = b""
        while piece := _read(primary):
            said += piece
    os.close(primary)
    assert process.returncode == 0
    text = said.decode()
    assert text.count("\r\x1b[2K") == 4 and "●○○○ scheduling" in text and "●●●● ready" in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux: the other side was closed
        return b""


@pytest.mark.row("D-044", "D-133", "D-041")
def test_an_error_phase_raises(plane: FakePlane, face: Face) -> None:
    plane.readiness = [told("scheduling", {"phase": "error", "message": "no node has the model"})]
    seen: list[fleet.ReadinessEvent] = []
    with pytest.raises(fleet.ApiError, match="no node has the model"):
        face.client(plane.url).wait_until_ready("smith", on_progress=seen.append)
    assert seen[-1].phase == "error"


@pytest.mark.row("D-039", "D-057")
def test_the_project(plane: FakePlane, face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    plane.readiness = [told(READY)]
    client = face.client(plane.url, None)
    with pytest.raises(fleet.ConfigurationError, match="no project"):
        client.wait_until_ready("a")
    client.wait_until_ready("a", project="arg", silent=True)
    assert plane.last.path.startswith("/api/projects/arg/")
    monkeypatch.setenv("INFERENCEKEY_PROJECT", "env")
    client.wait_until_ready("a", silent=True)
    assert plane.last.path.startswith("/api/projects/env/")


@pytest.mark.row("D-040", "D-045")
@pytest.mark.parametrize("quiet", [True, False])
def test_the_time_limit_is_hard(plane: FakePlane, face: Face, quiet: bool) -> None:
    def pieces() -> Any:
        for _ in range(50):
            time.sleep(0.1)
            yield b": ping\n\n" if quiet else b'data: {"phase": "scheduling", "message": "queued"}\n\n'

    plane.readiness = [Reply(pieces(), headers={"Content-Type": "text/event-stream"})]
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"within 0\.5 s") as failed:
        face.client(plane.url).wait_until_ready("smith", timeout=0.5, silent=True)
    assert 0.45 <= time.monotonic() - began <= 1.0
    assert isinstance(failed.value, fleet.InferenceKeyError) and not isinstance(failed.value, fleet.ApiError)
    assert quiet or "scheduling: queued" in str(failed.value)


@pytest.mark.row("D-040")
def test_a_server_that_never_answers(face: Face) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        client = face.client(f"http://127.0.0.1:{server.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            client.wait_until_ready("smith", timeout=0.5, silent=True)
        assert time.monotonic() - began <= 1.0


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "5"])
def test_an_invalid_timeout_is_refused(plane: FakePlane, face: Face, timeout: Any) -> None:
    with pytest.raises(fleet.ValidationError, match="invalid timeout"):
        face.client(plane.url).wait_until_ready("a", timeout=timeout)
    assert plane.requests == []


@pytest.mark.row("D-051", "D-127")
def test_reconnects(plane: FakePlane, face: Face) -> None:
    broken = stream()
    plane.readiness = [
        told({"phase": "scheduling", "message": "a", "elapsed_ms": 40}), broken, broken, broken, broken,
        Reply({"error": "busy"}, 503), told({"phase": "bootstrapping", "message": "b", "elapsed_ms": 0}),
        told(READY),
    ]  # fmt: skip
    client, seen = face.client(plane.url), []
    waits = face.sleeps(client)
    client.wait_until_ready("smith", on_progress=seen.append)
    assert [one.phase for one in seen] == ["scheduling", "bootstrapping", "ready"]
    assert waits == [1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 1.0]
    assert [one.elapsed_ms for one in seen] == sorted(one.elapsed_ms for one in seen)


@pytest.mark.row("D-051", "D-035")
@pytest.mark.parametrize(
    "status, kind",
    [
        (400, fleet.ValidationError),
        (401, fleet.AuthError),
        (403, fleet.PermissionDenied),
        (404, fleet.ApiError),
        (409, fleet.ApiError),
    ],
)
def test_an_error_that_would_come_again_ends_the_wait(
    plane: FakePlane, face: Face, status: int, kind: type[Exception]
) -> None:
    plane.fail(status, {"error": "reason"})
    client = face.client(plane.url)
    waits = face.sleeps(client)
    with pytest.raises(kind) as failed:
        client.wait_until_ready("smith", silent=True)
    assert type(failed.value) is kind and waits == []


@pytest.mark.row("D-041")
@pytest.mark.parametrize("error", [ValueError, OSError, TimeoutError, fleet.ApiError, KeyboardInterrupt])
def test_an_exception_of_the_callback_propagates(
    plane: FakePlane, face: Face, error: type[BaseException]
) -> None:
    plane.readiness = [told(*PHASES)]
    raised = error("mine")

    def fail(event: fleet.ReadinessEvent) -> None:
        raise raised

    with pytest.raises(error) as failed:
        face.client(plane.url).wait_until_ready("smith", on_progress=fail)
    assert failed.value is raised and len(plane.requests) == 1


def test_events_that_are_none_are_skipped(plane: FakePlane, face: Face) -> None:
    plane.readiness = [
        stream(
            b"data: {\n\n", b"data: []\n\n", b'data: {"phase": 5}\n\n', b": ping\n\n",
            b'data: {"phase": "novel", "message": null, "elapsed_ms": "x", "step": "rm -rf /"}\n\n',
            b'data: {"phase": "ready"}\n\n',
        )
    ]  # fmt: skip
    seen: list[fleet.ReadinessEvent] = []
    face.client(plane.url).wait_until_ready("smith", on_progress=seen.append)
    assert [(one.phase, one.message, one.step) for one in seen] == [("novel", "", None), ("ready", "", None)]
