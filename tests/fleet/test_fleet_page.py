"""The page of the control plane, in headless Chromium, and the figures behind it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "server"))  # browser.py

from browser import browser, chromium

import sotto.fleet as fleet
from client_mock import Reply
from fleet_control import Clock, Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import Upstream, body
from sotto.fleet.control.errors import Refusal
from sotto.fleet.control.meter import WINDOW, Live, Meter
from sotto.fleet.control.refusals import Refusals
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.prices import NodePrices

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A workload."""
    with Upstream() as made:
        yield made


@pytest.fixture
def gate(tmp_path: Path, upstream: Upstream) -> Iterator[Control]:
    """A control plane with the workload `smith`, which is ready; a node costs 1.8 USD in an hour."""
    settings = ControlSettings(prices=NodePrices(1.8))
    with Control(tmp_path / "fleet.db", FakePlacement(upstream.url), Clock(), settings) as made:
        client = fleet.ManagementClient(base_url=made.url, sdk_token=made.token(), project="acme")
        client.ensure(spec(name="<b>Smith</b>"))
        client.wait_until_ready("smith", timeout=30, silent=True)
        yield made


def overview(gate: Control, project: str = "acme", requests: int = 0) -> Any:
    """Returns the figures of a project, once so many requests are counted."""
    token, end = gate.token(project=project), time.monotonic() + 20
    while True:
        gate.run(gate.service.usage.flush())
        gate.run(gate.service.load_log.flush())
        answer = gate.ask("GET", "/api/overview", token)
        assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
        found = answer.json()
        if sum(one["day"]["requests"] for one in found["workloads"]) >= requests:
            return found
        assert time.monotonic() < end


def test_the_page_loads_nothing_from_elsewhere(gate: Control) -> None:
    answer = gate.ask("GET", "/")
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert "http://" not in answer.text and "https://" not in answer.text and "innerHTML" not in answer.text


def test_figures_need_a_token_of_the_control_plane(gate: Control) -> None:
    assert gate.ask("GET", "/api/overview").status_code == 401
    assert gate.ask("GET", "/api/overview", "ik_sdk_00000000_" + "0" * 64).status_code == 401
    for token in (gate.token("live"), gate.token(scopes=["workloads:write"])):
        assert gate.ask("GET", "/api/overview", token).status_code == 403


def test_figures_of_a_project(gate: Control, upstream: Upstream) -> None:
    key = gate.token("live")
    for session in ("a", "b", "a"):
        assert gate.ask("POST", CHAT_PATH, key, body(user=session)).status_code == 200
    gate.ask("POST", CHAT_PATH, "ik_live_00000000_" + "0" * 64, body())
    for _ in range(2):
        gate.ask("POST", "/endpoint/acme/nobody/v1/embeddings", key, {})
    gate._clock.now += 1
    upstream.answer = Reply({"error": {"code": 400, "message": "too long"}}, 400)
    gate.ask("POST", CHAT_PATH, key, body())
    found = overview(gate, requests=4)
    assert found["project"] == "acme" and [one["id"] for one in found["nodes"]] == ["n1"]
    (smith,) = found["workloads"]
    assert smith["replicas"] == {"ready": 1, "wanted": 1} and smith["phase"] == "ready"
    assert (smith["running"], smith["sessions"], smith["requests_per_minute"]) == (0, 2, 4 * 60 / WINDOW)
    assert smith["tokens_per_second"] == found["live"]["tokens_per_second"] == pytest.approx(24 / WINDOW)
    assert smith["day"] == {
        "requests": 4, "failures": 1, "prompt_tokens": 36, "completion_tokens": 24
    }  # fmt: skip
    assert found["cost"]["usd_per_hour"] == 1.8
    assert found["cost"]["usd_per_million_tokens"] == pytest.approx(1.8e6 / (3600 * 24 / WINDOW))
    refused = [(one["workload"], one["status"], one["code"], one["count"]) for one in found["refusals"]]
    assert refused == [
        ("smith", 400, "workload", 1),
        ("nobody", 404, "not_found", 2),
        ("smith", 401, "unauthorized", 1),
    ]
    other = overview(gate, "other")
    assert other["workloads"] == other["refusals"] == [] and len(other["nodes"]) == 1


def test_rates_and_sessions_end() -> None:
    clock = Clock()
    meter = Meter(clock)
    request = meter.began("w", "a")
    assert meter.live() == {"w": Live(running=1, sessions=1)}
    request.end(120, None)
    assert meter.live() == {"w": Live(0, 0, 1, 60 / WINDOW, 120 / WINDOW)}
    clock.now += WINDOW
    assert meter.live() == {"w": Live(sessions=1)}
    clock.now += 301 - WINDOW
    assert meter.live() == {}


def test_figures_do_not_grow_without_end() -> None:
    refusals, meter = Refusals(Clock()), Meter(Clock())
    for number in range(1500):
        refusals.add("acme", f"w{number}" + "x" * 100, Refusal(404, "m" * 1000))
    kept = refusals.of("acme")
    assert len(kept) == 1000 and kept[0]["workload"].startswith("w1499") and len(kept[0]["message"]) == 300
    for number in range(100_010):
        meter.began("w", str(number)).end(0, None)
    assert meter.live()["w"].sessions == 100_000


@pytest.mark.skipif(chromium() is None, reason="needs Chromium")
def test_a_person_gives_a_token_and_looks(gate: Control, tmp_path: Path) -> None:
    key, token = gate.token("live"), gate.token()
    gate.ask("POST", CHAT_PATH, key, body(user="a"))
    gate.ask("POST", "/endpoint/acme/%3Ci%3Enobody/v1/embeddings", key, {})
    with browser() as page:
        page.open(gate.url + "/", 1280, 720)
        for given in ("wrong", key):
            page.until("at('ask').open")
            page.run(f"at('key').value = '{given}'; at('ask').querySelector('button').click()")
        page.until("at('ask').open")
        page.run(f"at('key').value = '{token}'; at('ask').querySelector('button').click()")
        page.until("at('state').textContent === 'project acme'")
        rows = "[...document.querySelectorAll('#{} tr')].map(one => one.innerText).join('\\n')"
        assert "n1" in page.run(rows.format("nodes")) and "16.0 GB" in page.run(rows.format("nodes"))
        assert "smith" in page.run(rows.format("workloads")) and "1 of 1" in page.run(
            rows.format("workloads")
        )
        assert "404" in page.run(rows.format("refusals"))
        assert page.run("document.querySelectorAll('main b, main i').length") == page.run(
            "document.querySelectorAll('.figure b').length"
        )  # names of others are text
        page.until("points.length > 1")
        page.picture(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 10_000
        refused = [one for one in page.complaints if "401" not in one and "403" not in one]
        assert not refused, refused
        page.open(gate.url + "/", 400, 800, dark=True)
        assert page.run("document.documentElement.scrollWidth") <= 400
