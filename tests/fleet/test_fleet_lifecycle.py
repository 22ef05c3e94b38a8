"""How `sotto fleet serve` starts, ends and places: TLS, signals, memory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import sotto.fleet as fleet
from fleet_control import Control
from fleet_mock import spec
from fleet_process import serving
from sotto.fleet.control.local import LocalPlacement
from sotto.fleet.control.placement import Deployment


def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"]
    subprocess.run([*made, *files, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with serving(tmp_path, "--tls-cert", str(certificate), "--tls-key", str(key)) as server:
        trusted = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(server.url + "/health", context=trusted, timeout=20) as answer:
            assert server.url.startswith("https://") and json.load(answer)["status"] == "ok"
    key.write_text("no key")
    command = [sys.executable, "-m", "sotto.cli", "fleet", "serve", "--port", "0"]
    command += [
        "--database",
        str(tmp_path / "fleet.db"),
        "--tls-cert",
        str(certificate),
        "--tls-key",
        str(key),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and f"invalid TLS certificate '{certificate}' with key '{key}'" in done.stderr


def test_running_answers_end_before_the_server_does(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        token = made.command("keys", "create", "acme", "--kind", "sdk", "--new-project")
        key = made.command("keys", "create", "acme")
        mgmt = fleet.ManagementClient(base_url=made.url, sdk_token=token, project="acme")
        mgmt.ensure(spec(model="sotto/house"))
        mgmt.wait_until_ready("smith", timeout=300, silent=True)
        data = fleet.DataClient(base_url=made.url, project="acme", api_key=key)
        answer = data.endpoint("smith").generate_text_stream(prompt="Tell me all.", max_tokens=100)
        next(answer)
        made.process.terminate()
        assert list(answer)[-1].finish_reason in ("stop", "length")
        assert made.process.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_control_plane_ends_the_workloads(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as made:
        token = made.command("keys", "create", "acme", "--kind", "sdk", "--new-project")
        mgmt = fleet.ManagementClient(base_url=made.url, sdk_token=token, project="acme")
        mgmt.ensure(spec(model="sotto/house"))
        mgmt.wait_until_ready("smith", timeout=300, silent=True)
        (pid,) = made.children()
        made.process.send_signal(number)
        code = made.process.wait(60)
        assert code == (-9 if number == signal.SIGKILL else 0)
        end = time.monotonic() + 60
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_memory_of_all_workloads_together(tmp_path: Path) -> None:
    folder = Path(f"/tmp/sotto-fleet-test-{os.getpid()}")
    try:
        with Control(tmp_path / "fleet.db", LocalPlacement(folder, memory_mb=200)) as control:
            client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
            client.ensure(spec(slug="one", model="sotto/house"))
            client.wait_until_ready("one", timeout=300, silent=True)
            client.ensure(spec(slug="two", model="sotto/house"))
            client.wait_until_ready("two", timeout=300, silent=True)  # fits, made smaller
            client.ensure(spec(slug="three", model="sotto/house"))
            with pytest.raises(fleet.ApiError, match="MB"):
                client.wait_until_ready("three", timeout=300, silent=True)
            assert len(control.placement.pids()) == 2
    finally:
        assert not list(folder.glob("*.sock"))
        for left in folder.glob("*"):
            left.unlink()
        folder.rmdir()


def test_a_placement_that_was_not_started(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        deployment = Deployment("i", 1, "p", "s", "m", "llamacpp", "text2text")
        asyncio.run(LocalPlacement(Path("/tmp/x")).deploy(deployment))
    with pytest.raises(ValueError, match="at most 60 bytes"):
        LocalPlacement(Path("/tmp/" + "x" * 80))
