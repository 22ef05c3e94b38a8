"""The page for people, in headless Chromium."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'server'")

import serving

sys.path.append(str(Path(__file__).resolve().parents[1] / "server"))

from browser import Page, browser, chromium

needs_chromium = pytest.mark.skipif(chromium() is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with serving.served("--api-key", "of the page", "--target-tps", "30") as running:
        yield running


def test_the_page_loads_nothing_from_elsewhere(server: serving.Served) -> None:
    status, headers, text = server.ask("/")
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert "http://" not in text and "https://" not in text and "innerHTML" not in text


def test_the_stream_of_figures(server: serving.Served) -> None:
    url = server.url + "/v1/stats?interval_ms=50"
    asked = urllib.request.Request(url, headers={"x-api-key": "of the page"})
    with urllib.request.urlopen(asked, timeout=20) as told:
        lines = [told.readline() for _ in range(6)]
    events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    assert len(events) == 3
    with serving.served("--timeout", "1") as brief:
        told = brief.ask("/v1/stats?interval_ms=200")[2]  # ends by itself
        assert 2 <= told.count("data: ") <= 6
    assert events[0]["stats"]["mode"] == "prioritize_compute" and events[0]["answers"] == []
    assert events[0]["memory"]["models"][0]["id"] == "sotto/house"
    assert server.ask("/v1/stats")[0] == 401
    for wrong in ("0", "-1", "x", "1e3", "9" * 50):
        status, _, error = server.ask(f"/v1/stats?interval_ms={wrong}", x_api_key="of the page")
        assert status == 400 and "interval_ms" in error["error"]["message"]


@needs_chromium
def test_a_person_gives_the_key_and_talks(server: serving.Served, tmp_path: Path) -> None:
    with browser() as page:
        page.open(server.url + "/", 1200, 800)
        page.until("at('ask').open")
        page.run("at('key').value = 'wrong'; at('ask').querySelector('button').click()")
        page.until("at('ask').open")
        page.run("at('key').value = 'of the page'; at('ask').querySelector('button').click()")
        page.until("document.querySelector('#model option')?.value === 'sotto/house'")
        talk(page, "Hello <b>there</b>")
        page.until("document.querySelectorAll('#speakers li:not(.none)').length === 1")
        page.until("at('send').textContent === 'Send'")
        bubbles = "[...document.querySelectorAll('#log p')]"
        said = page.run(bubbles + ".map(one => [one.className, one.textContent])")
        assert said[0] == ["user", "Hello <b>there</b>"]
        assert said[1][0] == "assistant" and said[1][1]
        page.until("points.length > 8")
        pixels = "at('pace-graph').getContext('2d').getImageData(0, 0, 500, 90).data"
        assert page.run(pixels + ".some(one => one)")
        light = page.run("getComputedStyle(document.body).backgroundColor")
        page.picture(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 10_000
        refused = [one for one in page.complaints if "401" not in one]
        assert not refused, refused
        page.open(server.url + "/", 400, 800, dark=True)
        assert page.run("getComputedStyle(document.body).backgroundColor") != light
        assert page.run("document.documentElement.scrollWidth") <= 400


@needs_chromium
def test_stop_ends_an_answer(server: serving.Served) -> None:
    with browser() as page:
        page.open(server.url + "/", 1200, 800)
        page.until("at('ask').open")
        page.run("at('key').value = 'of the page'; at('ask').querySelector('button').click()")
        page.until("document.querySelector('#model option') !== null")
        page.run("at('pace').value = 5")
        talk(page, "Tell me a long story about the harbour and the fishermen.")
        page.until("document.querySelector('#log .assistant')?.textContent.length > 3")
        page.run("at('say').requestSubmit()")
        page.until("at('send').textContent === 'Send'", 5)
        page.until("points.at(-1).decoding === 0", 5)


def talk(page: Page, line: str) -> None:
    page.run(f"at('text').value = {json.dumps(line)}; at('say').requestSubmit()")
