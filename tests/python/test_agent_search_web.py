"""`sotto.agent.WebSource`: a SearXNG server and pages on loopback; what is refused, or takes too long."""

from __future__ import annotations

import gzip
import ipaddress
import json
import logging
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import sotto
from agent_script import call, calls, options, says
from search_models import Page, Web
from sotto.agent import Agent, Search, Source, WebSource
from sotto.agent.search import addresses
from sotto.agent.search.addresses import FetchError, is_public

SECRET = "Bearer 91ab77"
BELL = {"url": "https://example.org/bell", "title": "Bell", "content": "A bell of bronze.", "engine": "x"}
OVEN = {"url": "https://example.org/oven", "title": "Oven", "content": "An oven is hot."}


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    made.find(OVEN, BELL)
    yield made
    made.close()


@pytest.fixture
def model(engine: sotto.Engine) -> sotto.Engine:
    engine.load_model(
        "npc", options=options({"hi": [calls(call("search", {"query": "bell"})), says("Well.")]})
    )
    return engine


def look_up(engine: sotto.Engine, source: WebSource, query: str = "bell") -> Any:
    return Search(engine, source, max_tokens=4000).find(query)


def test_a_server_is_asked_as_searxng_is(model: sotto.Engine, web: Web) -> None:
    source = WebSource(
        web.url + "/", headers={"Authorization": SECRET}, language="en", categories="general", safe_search=2
    )
    with model.session(model="npc") as session:
        (made,) = Agent(session, [Search(model, source)]).say("hi").calls
    assert made.result.startswith("[1] Bell (https://example.org/bell)\nA bell of bronze.\n[2] Oven")
    assert made.sources[0] == Source(1, "Bell", "https://example.org/bell")
    ((path, query, headers),) = web.got
    expected = {"q": "bell", "format": "json", "language": "en", "categories": "general", "safesearch": "2"}
    assert path == "/search" and query == expected and headers["authorization"] == SECRET
    assert headers["accept-encoding"] == "identity" and headers["host"] == web.url.removeprefix("http://")
    assert SECRET not in repr(source) + repr(made)


def test_queries_are_encoded(model: sotto.Engine, web: Web) -> None:
    asked = "50% & more? #1 夜 = +x/../"
    look_up(model, WebSource(f"{web.url}/search"), asked)
    assert web.got[0][0] == "/search" and web.got[0][1]["q"] == asked and len(web.got[0][1]) == 3


@pytest.mark.parametrize(
    ("results", "urls"),
    [
        ([], []),
        ([BELL, BELL], [BELL["url"]]),
        ([{"url": "javascript:alert(1)", "title": "a", "content": "b"}, BELL], [BELL["url"]]),
        ([{"url": "file:///etc/passwd", "title": "a"}, {"title": "a"}, None, 7, "x", []], []),
        (
            [
                {"url": "http://a/", "title": 1, "content": "b"},
                {"url": "http://a/" + "x" * 3000, "title": "a"},
            ],
            [],
        ),
        ([{"url": "http://a/", "title": None, "content": "bell"}], ["http://a/"]),
        ([{"url": "http://a/", "title": "bell", "content": None}], ["http://a/"]),
        ([{"url": "http://a/"}], []),
        ([{**BELL, "url": f"http://a/{at}"} for at in range(50)], [f"http://a/{at}" for at in range(20)]),
    ],
)
def test_results_are_checked(model: sotto.Engine, web: Web, results: list[Any], urls: list[str]) -> None:
    web.find(*results)
    found = Search(model, WebSource(web.url), max_tokens=9000, max_results=30).find("bell")
    assert sorted(one.url for one in found.sources) == sorted(urls)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (Page("{}", "application/json", 500), "status 500"),
        (Page("no", "text/html", 403), "status 403: add `json` to `search: formats`"),
        (Page("<html>", "text/html"), "answered with 'text/html', not application/json"),
        (Page("{}", "application/json"), "other JSON than"),
        (Page('{"results": {}}', "application/json"), "other JSON than"),
        (Page("[" * 200_000, "application/json"), "other JSON than"),
        (Page(b"\xff", "application/json"), "other JSON than"),
        (Page("9" * 50_000, "application/json"), "other JSON than"),
        (Page(b" " * (5 << 20), "application/json"), "more than 4194304 bytes"),
        (Page("", "application/json", 204), "status 204"),
    ],
)
def test_servers_that_fail(model: sotto.Engine, web: Web, page: Page, why: str) -> None:
    web.pages["/search"] = page
    source = WebSource(web.url, headers={"Authorization": SECRET})
    with model.session(model="npc") as session:
        (made,) = Agent(session, [Search(model, source)]).say("hi").calls
    assert made.status == "failed" and why in made.result and SECRET not in repr(made)


def test_servers_that_compress_are_refused(model: sotto.Engine, web: Web) -> None:
    page = web.pages["/search"]
    page.body = gzip.compress(b" " * (100 << 20), 1)
    page.headers["content-encoding"] = "gzip"
    with pytest.raises(FetchError, match="compressed"):
        look_up(model, WebSource(web.url))


def test_servers_that_are_away_or_slow(model: sotto.Engine, web: Web) -> None:
    with pytest.raises(FetchError, match=r"'127.0.0.1' cannot be reached"):
        look_up(model, WebSource("http://127.0.0.1:9"))
    web.pages["/search"].wait.clear()
    began = time.monotonic()
    with pytest.raises(FetchError, match=r"no answer within 0\.2 s"):
        look_up(model, WebSource(web.url, timeout=0.2))
    assert time.monotonic() - began < 10


# Pages


def with_pages(web: Web, *names: str) -> list[dict[str, str]]:
    results = [
        {"url": f"{web.url}/{name}", "title": name.title(), "content": f"snippet of {name}"} for name in names
    ]
    web.find(*results)
    return results


def test_pages_are_fetched_and_ranked_by_passages(model: sotto.Engine, web: Web) -> None:
    with_pages(web, "tower", "plain", "gone", "third")
    filler = "<p>" + "The river is wide. " * 60 + "</p>"
    web.pages["/tower"] = Page(f"<title>T</title>{filler * 5}<h2>Bell</h2><p>The bell was cast in 1403.</p>")
    web.pages["/plain"] = Page("Bells are <b>bronze</b>.", "text/plain; charset=latin-1")
    found = look_up(model, WebSource(web.url, pages=3, allow_private=True), "bell cast bronze")
    assert "1403" in found.hits[0].text and found.sources[0].url == f"{web.url}/tower"
    assert (
        "<b>bronze</b>" in found.text and "snippet of third" not in found.text.replace("of third", "") + "x"
    )
    assert "snippet of gone" in found.text  # its page cannot be had
    assert sorted(web.paths()) == ["/gone", "/plain", "/search", "/tower"]
    fetched = [headers for path, _, headers in web.got if path == "/tower"]
    assert "authorization" not in fetched[0] and "text/html" in fetched[0]["accept"]


def test_private_pages_are_not_fetched(
    model: sotto.Engine, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (result,) = with_pages(web, "admin")
    web.pages["/admin"] = Page("the secret")
    source = WebSource(web.url, pages=1, headers={"Authorization": SECRET})
    found = look_up(model, source, "admin secret")
    assert "snippet of admin" in found.text and web.paths() == ["/search"]
    assert "is not of the internet" in caplog.text and SECRET not in caplog.text
    assert found.sources[0].url == result["url"]


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/", "http://localhost/", "http://[::1]/", "http://10.0.0.1/", "http://169.254.169.254/",
        "http://[::ffff:127.0.0.2]/", "http://[64:ff9b::7f00:2]/", "//192.168.1.1/x", "http://0.0.0.0/",
        "http://user:password@127.0.0.1/", "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/",
        "http://:0/", "http://[::1", "/loop", "http://127.0.0.1:99999/",
    ],
)  # fmt: skip
def test_redirects_to_private_addresses_are_refused(
    model: sotto.Engine, web: Web, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """127.0.0.1 stands for a server of the internet; every other address is what it is."""
    loopback = ipaddress.ip_address("127.0.0.1")
    monkeypatch.setattr(addresses, "is_public", lambda one: one == loopback or is_public(one))
    with_pages(web, "page")
    page = web.pages["/page"] = Page("moved", status=302)
    page.headers["location"] = target
    loop = web.pages["/loop"] = Page("moved", status=307)
    loop.headers["location"] = "/loop"
    found = look_up(model, WebSource(web.url, pages=1), "page")
    assert "snippet of page" in found.text and "moved" not in found.text
    assert set(web.paths()) <= {"/search", "/page", "/loop"} and len(web.got) <= 8


def test_redirects_on_the_internet_are_followed(
    model: sotto.Engine, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback = ipaddress.ip_address("127.0.0.1")
    monkeypatch.setattr(addresses, "is_public", lambda one: one == loopback)
    monkeypatch.setattr(addresses, "look_up", lambda host, port: [loopback] if host == "example.org" else [])
    port = web.url.rpartition(":")[2]
    web.find({"url": f"http://example.org:{port}/a", "title": "a", "content": "snippet"})
    web.pages["/a"] = Page("moved", status=301)
    web.pages["/a"].headers["location"] = "/b?x=1#y"
    web.pages["/b"] = Page("<p>The page itself.</p>")
    source = WebSource(web.url, pages=1, headers={"Authorization": SECRET})
    assert "The page itself." in look_up(model, source).text
    (fetched,) = [one for one in web.got if one[0] == "/b"]
    assert fetched[1] == {"x": "1"} and fetched[2]["host"] == f"example.org:{port}"
    assert "authorization" not in fetched[2]


def test_a_host_with_one_private_address_is_refused(
    model: sotto.Engine, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [ipaddress.ip_address("93.184.215.14"), ipaddress.ip_address("127.0.0.1")]
    asked: list[str] = []
    monkeypatch.setattr(addresses, "look_up", lambda host, port: asked.append(host) or both)
    web.find({"url": "http://rebinding.example/", "title": "a", "content": "snippet of a"})
    assert "snippet of a" in look_up(model, WebSource(web.url, pages=1)).text
    assert asked == ["rebinding.example"] and web.paths() == ["/search"]


def test_the_server_itself_may_not_redirect_elsewhere(model: sotto.Engine, web: Web) -> None:
    other = Web()
    other.find(BELL)
    try:
        page = web.pages["/search"] = Page("moved", status=302)
        page.headers["location"] = other.url + "/search"
        with pytest.raises(FetchError, match="not of the internet"):
            look_up(model, WebSource(web.url, headers={"Authorization": SECRET}))
        assert other.got == []
        allowed = WebSource(web.url, headers={"Authorization": SECRET}, allow_private=True)
        assert look_up(model, allowed).sources[0].url == BELL["url"]
        assert "authorization" not in other.got[0][2]  # which is for the server alone
    finally:
        other.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for example.org, signed by itself, with its key."""
    made = tmp_path_factory.mktemp("tls") / "one.pem"
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=example.org"]
    names = ["-addext", "subjectAltName=DNS:example.org", "-keyout", made, "-out", f"{made}.cert"]
    try:
        subprocess.run(["openssl", "req", *kind, *names], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl to make a certificate with")
    made.write_bytes(made.read_bytes() + Path(f"{made}.cert").read_bytes())
    return made


@pytest.mark.parametrize(("host", "works"), [("example.org", True), ("example.com", False)])
def test_the_certificate_of_the_name_is_checked(
    model: sotto.Engine, web: Web, certificate: Path, monkeypatch: pytest.MonkeyPatch, host: str, works: bool
) -> None:
    """Connecting to an address that was looked up leaves TLS as it is: name and certificate are checked."""
    loopback = ipaddress.ip_address("127.0.0.1")
    monkeypatch.setattr(addresses, "is_public", lambda one: one == loopback)
    monkeypatch.setattr(addresses, "look_up", lambda host, port: [loopback])
    trusting = ssl.create_default_context(cafile=str(certificate) + ".cert")
    monkeypatch.setattr(httpx2, "create_ssl_context", lambda: trusting)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    names: list[str] = []
    server.sni_callback = lambda connection, name, context: names.append(str(name))
    secure = Web(server)
    try:
        secure.pages["/a"] = Page("<p>The page itself.</p>")
        web.find({"url": f"https://{host}:{secure.port}/a", "title": "a", "content": "snippet of a"})
        found = look_up(model, WebSource(web.url, pages=1), "page")
        assert ("The page itself." in found.text) is works and ("snippet of a" in found.text) is not works
        assert names == [host] and secure.paths() == (["/a"] if works else [])
    finally:
        secure.close()


@pytest.mark.parametrize(
    "page",
    [
        Page("x" * 20_000), Page("binary", "application/octet-stream"), Page("pdf", "application/pdf"),
        Page("typeless", ""), Page("<script>only()</script>"), Page("", status=500),
    ],
)  # fmt: skip
def test_pages_that_cannot_be_had_leave_their_snippets(model: sotto.Engine, web: Web, page: Page) -> None:
    with_pages(web, "page")
    web.pages["/page"] = page
    source = WebSource(web.url, pages=1, allow_private=True, max_page_bytes=10_000)
    assert "snippet of page" in look_up(model, source, "page").text


def test_a_slow_page_does_not_hold_the_others(model: sotto.Engine, web: Web) -> None:
    with_pages(web, "slow", "fast")
    web.pages["/slow"], web.pages["/fast"] = Page("late"), Page("<p>in time</p>")
    web.pages["/slow"].wait.clear()
    found = look_up(model, WebSource(web.url, pages=2, allow_private=True, timeout=2), "slow time")
    assert "snippet of slow" in found.text and "in time" in found.text


def test_arguments_are_checked() -> None:
    for url in (
        "ftp://127.0.0.1/",
        "127.0.0.1",
        "http://",
        "file:///etc/passwd",
        "http://a:b@c/",
        "http://a:x/",
        "http://a/search?q=x",
        "http://a/#b",
    ):
        with pytest.raises(sotto.ArgumentError, match="invalid url"):
            WebSource(url)
    wrong: list[dict[str, Any]] = [
        {"pages": 11}, {"pages": -1}, {"timeout": 0}, {"safe_search": 3}, {"time_range": "week"},
        {"max_page_bytes": 1 << 40}, {"language": ""},
    ]  # fmt: skip
    for fields in wrong:
        with pytest.raises(sotto.ArgumentError, match=next(iter(fields))):
            WebSource("http://127.0.0.1", **fields)
    for headers in ({"a": "b\r\nHost: c"}, {"a\n": "b"}, {"a": "ü"}):
        with pytest.raises(sotto.ArgumentError, match="invalid headers") as raised:
            WebSource("http://127.0.0.1", headers=headers)
        assert "Host" not in str(raised.value)
    for fields in (
        {"headers": "x"},
        {"headers": {"a": 1}},
        {"headers": {b"a": "b"}},
        {"allow_private": 1},
        {"timeout": "9"},
        {"categories": 7},
    ):
        with pytest.raises(TypeError, match=next(iter(fields))):
            WebSource("http://127.0.0.1", **fields)  # type: ignore[arg-type]
    with pytest.raises(sotto.ArgumentError, match="url"):
        WebSource("")
    assert json.dumps(repr(WebSource("https://example.org/searx/"))).count("/searx/search") == 1


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ImportError, match=r"pip install sotto-runtime\[agent\]"):
        WebSource("http://127.0.0.1")
