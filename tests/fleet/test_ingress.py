"""The ingress: its configuration, and HAProxy with it before replicas that answer with their names."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingress_upstreams import QUICK, ingress, upstreams
from sotto import cli
from sotto.fleet.ingress import (
    HaProxy,
    IngressError,
    IngressSettings,
    Replica,
    Route,
    configuration,
    ring_ids,
)
from sotto.fleet.ingress.table import read_routes

NAMES = [f"replica-{number}" for number in range(5)]


def until(done: Callable[[], bool], seconds: float = 10) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ring_ids_follow_from_the_name() -> None:
    names = [f"node-{number}" for number in range(5000)]  # some have one number
    ids = ring_ids(names)
    assert len(set(ids.values())) == 5000 and all(0 < one < 1 << 20 for one in ids.values())
    assert ring_ids(reversed(names)) == ids
    assert ring_ids(["node-7"]) == {"node-7": ids["node-7"]} == {"node-7": 263181}


def test_the_configuration_depends_on_its_arguments_alone(tmp_path: Path) -> None:
    replicas = tuple(Replica(name, "10.0.0.1", 8081) for name in NAMES)
    routes = [Route("/a", replicas), Route("/a/b", replicas), Route("")]
    text = configuration(routes, IngressSettings(), tmp_path)
    turned = [Route("/a", replicas[::-1]), Route(""), Route("/a/b", replicas)]
    assert configuration(turned, IngressSettings(), tmp_path) == text
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("hash-type consistent") == 3 and "hash-balance-factor" not in text
    assert text.index("use_backend workload:a:b ") < text.index("use_backend workload:a ")
    bounded = configuration(routes, IngressSettings(load_factor=125), tmp_path)
    assert bounded.count("hash-balance-factor 125") == 3
    assert IngressSettings().detection == pytest.approx(3.8)  # as the docs say: at most 4 s


def test_sessions_stay_whatever_the_ingress_and_whoever_goes(tmp_path: Path) -> None:
    with upstreams(*NAMES) as servers:
        routes = [Route("", tuple(one.replica for one in servers))]
        with ingress(tmp_path / "one", routes) as one, ingress(tmp_path / "two", routes) as two:
            before = one.homes(60)
            assert two.homes(60) == before and set(before) == set(NAMES)
            rest = Route("", tuple(one.replica for one in servers[1:]))
            one.reload(rest)
            after = one.homes(60)
            moved = [was for was, now in zip(before, after, strict=True) if was != now]
            assert set(moved) == {NAMES[0]} and NAMES[0] not in after
            servers[0].ready = 503  # down for the other ingress: its sessions go where they went there
            until(lambda: two.up() == set(NAMES[1:]))
            assert two.homes(60) == after
            servers[0].ready = 200
            one.reload(*routes)
            assert one.homes(60) == before


def test_sessions_are_shared_out_evenly(tmp_path: Path) -> None:
    with (
        upstreams(*[f"node-{number}" for number in range(10)]) as servers,
        ingress(tmp_path / "in", [Route("", tuple(one.replica for one in servers))]) as one,
    ):
        shares = Counter(one.homes(400))
    assert len(shares) == 10 and max(shares.values()) <= 60, shares


LONG = "You are Mara, a ferrywoman. " * 400  # 11 kB
SAYS: list[Any] = [
    {"prompt_cache_key": "k{0}", "messages": [{"role": "user", "content": "{1}"}]},
    {"user": "u{0}", "messages": [{"role": "user", "content": "{1}"}]},
    {"session": "s{0}", "messages": [{"role": "user", "content": "{1}"}]},
    {"system": "{0}" + LONG, "messages": [{"role": "user", "content": "{1}"}]},
    {
        "messages": [
            {"role": "system", "content": "{0}" + LONG + '"\\\u00e9'},
            {"role": "user", "content": "{1}" * 90_000},
        ]
    },
    {"input": "{1}", "user": "u{0}"},
]


@pytest.mark.parametrize("said", SAYS, ids=["cache key", "user", "session", "system", "message", "input"])
def test_a_session_is_found_in_the_body(tmp_path: Path, said: Any) -> None:
    """Bodies with the same `{0}` reach one replica, whatever `{1}` is."""

    def filled(session: int, turn: int) -> Any:
        text = json.dumps(said).replace("{0}", str(session)).replace("{1}", str(turn))
        return json.loads(text)

    with (
        upstreams(*NAMES) as servers,
        ingress(tmp_path / "in", [Route("", tuple(one.replica for one in servers))]) as one,
    ):
        homes = [{one.ask("/v1/x", filled(session, turn))[1] for turn in range(3)} for session in range(20)]
        assert {len(some) for some in homes} == {1} and len(set.union(*homes)) >= 4
        given = [one.ask("/v1/x", filled(7, turn), x_session_id=f"a-{turn}")[1] for turn in range(20)]
        assert len(set(given)) >= 4  # the header comes first


def test_a_session_is_found_in_the_path(tmp_path: Path) -> None:
    with (
        upstreams(*NAMES) as servers,
        ingress(tmp_path / "in", [Route("/w", tuple(one.replica for one in servers))]) as one,
    ):
        for session in range(10):
            home = one.ask("/w/v1/x", x_session_id=f"s{session}")[1]
            assert one.ask(f"/w/v1/sessions/s{session}")[1] == home
            assert one.ask(f"/w/v1/sessions/s{session}/edit", {})[1] == home


def test_requests_without_a_session_go_to_all(tmp_path: Path) -> None:
    with (
        upstreams(*NAMES) as servers,
        ingress(tmp_path / "in", [Route("", tuple(one.replica for one in servers))]) as one,
    ):
        assert {one.ask("/v1/x", x_sotto_affinity="7")[1] for _ in range(20)} == set(NAMES)
        assert {one.ask("/v1/x", x_session_id="")[1] for _ in range(20)} == set(NAMES)
        assert {one.ask("/v1/x", [1, 2])[1] for _ in range(20)} == set(NAMES)


def test_paths_lose_the_prefix_of_their_workload(tmp_path: Path) -> None:
    with upstreams("a", "b", "c") as (a, b, c):
        routes = [
            Route("/endpoint/acme/x.y", (a.replica,)),
            Route("/endpoint/acme/x.y/z", (b.replica,)),
            Route("/endpoint/acme/empty"),
        ]
        with ingress(tmp_path / "in", routes) as one:
            assert one.ask("/endpoint/acme/x.y/v1/chat?a=/b", {}) == (200, "a")
            assert one.ask("/endpoint/acme/x.y", {}) == (200, "a")
            assert one.ask("/endpoint/acme/x.y/z/v1", {}) == (200, "b")
            assert (a.seen, b.seen) == (["/v1/chat?a=/b", "/"], ["/v1"])
            for path, status, code in (
                ("/endpoint/acme/x.yz/v1", 404, "not_found"),
                ("/endpoint/acme/x-y/v1", 404, "not_found"),
                ("/endpoint/acme/empty/v1", 503, "no_replica"),
            ):
                got, text = one.ask(path)
                assert (got, json.loads(text)["error"]["code"]) == (status, code)
            assert one.ask("/-/healthz") == (200, "ok")
            one.reload(*routes, Route("", (c.replica,)))
            assert one.ask("/endpoint/acme/x.yz/v1") == (200, "c")


def test_a_request_whose_replica_vanishes_is_asked_again_elsewhere(tmp_path: Path) -> None:
    with (
        upstreams("a", "b") as servers,
        ingress(tmp_path / "in", [Route("", tuple(one.replica for one in servers))], retries=1) as one,
    ):
        until(lambda: one.up() == {"a", "b"})
        status, text = one.ask("/v1/vanish", {}, x_session_id="1")
        assert status == 502 and json.loads(text)["error"]["code"] == "replica_lost"
        asked = [one.seen for one in servers]  # HAProxy does not retry if it was still sending the request
        assert all(one in ([], ["/v1/vanish"]) for one in asked) and any(asked)
        servers[0].shutdown(), servers[0].server_close()
        with ingress(tmp_path / "in", [Route("", tuple(one.replica for one in servers))], fall=100) as one:
            assert one.homes(30) == ["b"] * 30  # before a check has found that it is down


def test_a_reload_and_a_drain_break_no_stream(tmp_path: Path) -> None:
    with upstreams("a", "b") as servers:
        whole = Route("", tuple(one.replica for one in servers))
        with ingress(tmp_path / "in", [whole]) as one:
            until(lambda: one.up() == {"a", "b"})
            got: list[tuple[int, str]] = []
            asking = [
                threading.Thread(target=lambda n=n: got.append(one.ask("/v1/slow", {}, x_session_id=str(n))))
                for n in range(20)
            ]
            for thread in asking:
                thread.start()
            time.sleep(0.2)
            one.reload(Route("", (servers[1].replica,)))
            servers[1].ready = 404
            until(lambda: one.up() == set())
            assert [each.draining for each in asyncio.run(one.haproxy.servers())] == [True]
            for thread in asking:
                thread.join()
            assert got == [(200, "x " * 20)] * 20
            assert one.ask("/v1/x")[0] == 503  # it gets nothing new


def test_a_refused_configuration_changes_nothing(tmp_path: Path) -> None:
    with (
        upstreams("a") as (server,),
        ingress(tmp_path / "in", [Route("", (server.replica,))]) as one,
    ):
        file = tmp_path / "in" / "haproxy.cfg"
        text = file.read_text()
        one.haproxy.settings = IngressSettings(port=one.port, certificate=tmp_path / "absent.pem")
        with pytest.raises(IngressError, match=r"(?s)refuses the configuration.*absent\.pem"):
            one.reload(Route("", (server.replica,)))
        assert one.ask("/v1/x") == (200, "a") and file.read_text() == text
        with pytest.raises(ValueError, match="expected one workload with the prefix '/a'"):
            one.reload(Route("/a"), Route("/a"))


def test_another_configuration_than_the_rendered_one_is_found(tmp_path: Path) -> None:
    with upstreams("a") as (server,):
        route = Route("", (server.replica,))
        with ingress(tmp_path / "in", [route]) as one:
            verify = one.haproxy._verify
            file = tmp_path / "in" / "haproxy.cfg"
            asyncio.run(verify([route], file.read_text()))
            with pytest.raises(IngressError, match="a folder of its own"):
                asyncio.run(verify([route], "global"))
            other = Route("", (Replica("b", "127.0.0.1", 9),))
            with pytest.raises(IngressError, match=r"HAProxy runs .*'a'.*expected .*'b'"):
                asyncio.run(verify([other], file.read_text()))
            one.haproxy.settings = IngressSettings(port=one.port, weight=7)
            with pytest.raises(IngressError, match=r"100.*7"):
                asyncio.run(verify([route], file.read_text()))


def test_haproxy_outlives_its_owner_and_is_taken_over(tmp_path: Path) -> None:
    with upstreams("a", "b") as (a, b):
        with ingress(tmp_path / "in", [Route("", (a.replica,))]) as one:  # asyncio.run(): its loop has ended
            again = HaProxy(tmp_path / "in", IngressSettings(port=one.port, **QUICK))
            asyncio.run(again.start([Route("", (b.replica,))]))
            assert one.ask("/v1/x") == (200, "b")
        with pytest.raises(OSError):
            one.ask("/v1/x")
        with pytest.raises(IngressError, match="does not run"):
            one.reload()


def test_a_port_that_is_taken_and_a_program_that_is_absent(tmp_path: Path) -> None:
    with upstreams("a") as (server,):
        settings = IngressSettings(port=server.replica.port)
        with pytest.raises(IngressError, match=r"(?s)did not start.*[Cc]annot bind"):
            asyncio.run(HaProxy(tmp_path / "in", settings).start([]))
        with pytest.raises(IngressError, match="no-such-haproxy is missing: install HAProxy"):
            asyncio.run(HaProxy(tmp_path / "in", settings, program="no-such-haproxy").start([]))
    with pytest.raises(ValueError, match="expected a path of at most 90 bytes"):
        HaProxy(tmp_path / ("a" * 90), settings)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: IngressSettings(address="localhost"), "invalid address 'localhost': expected an IP address"),
        (lambda: IngressSettings(port=0), "invalid port '0': expected an integer between 1 and 65535"),
        (lambda: IngressSettings(weight=257), "invalid weight '257'"),
        (lambda: IngressSettings(load_factor=100), "invalid load_factor '100': expected an integer"),
        (lambda: IngressSettings(timeout=float("nan")), "invalid timeout 'nan': expected seconds"),
        (lambda: IngressSettings(fall=True), "invalid fall 'True'"),
        (lambda: IngressSettings(health_path="/a b"), "invalid health_path '/a b': expected /, then names"),
        (lambda: IngressSettings(certificate=Path("/a\n")), "invalid certificate"),
        (lambda: Replica("a b", "10.0.0.1", 1), "invalid name of a replica 'a b'"),
        (lambda: Replica("a\nserver", "10.0.0.1", 1), "invalid name of a replica"),
        (lambda: Replica("a", "node.lan", 1), "invalid address of the replica 'a' 'node.lan'"),
        (lambda: Replica("a", "10.0.0.1", 70000), "invalid port of the replica 'a' '70000'"),
        (lambda: Route("a"), "invalid prefix 'a': expected /"),
        (lambda: Route("/a/"), "invalid prefix '/a/': expected no / at its end"),
        (lambda: Route("/a/../b\\1"), "invalid prefix"),
        (lambda: Route("/a", (Replica("a", "::1", 1), Replica("a", "::1", 2))), "expected 'a' once"),
    ],
)  # fmt: skip
def test_invalid_settings_are_named(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "expected JSON"),
        ("[]", "invalid routes file '[]': expected an object with routes"),
        ('{"routes": {}}', "invalid routes '{}': expected an array"),
        ('{"routes": [{"prefix": "/a"}]}', "invalid routes[0] "),
        ('{"routes": [{"prefix": 5, "replicas": []}]}', "invalid prefix '5'"),
        ('{"routes": [{"prefix": "", "replicas": [{"name": "a"}]}]}', "invalid routes[0].replicas[0] "),
        (
            '{"routes": [{"prefix": "", "replicas": [{"name": "a", "address": 7, "port": 1}]}]}',
            "invalid address of the replica 'a' '7'",
        ),
    ],
)
def test_an_invalid_file_of_routes_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "routes.json").write_text(text)
    with pytest.raises(ValueError) as caught:
        read_routes(tmp_path / "routes.json")
    assert words in str(caught.value)


def test_the_command_follows_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "routes.json"

    def write(*servers: Any) -> None:
        replicas = [vars(one.replica) for one in servers]
        (tmp_path / "new").write_text(json.dumps({"routes": [{"prefix": "/w", "replicas": replicas}]}))
        (tmp_path / "new").replace(table)

    with upstreams("a", "b") as (a, b):
        write(a)
        with ingress(tmp_path / "other", []) as other:  # for a free port
            port = other.port
        words = ["fleet", "ingress", str(table), "--port", str(port), "--folder", str(tmp_path / "in")]
        command = [sys.executable, "-m", "sotto.cli", *words]
        log = tmp_path / "log"
        with (
            log.open("w") as said,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process,
        ):
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == f"sotto fleet ingress: ready at http://127.0.0.1:{port}\n"
                assert other.ask("/w/v1/x") == (200, "a")
                write(b)
                until(lambda: other.ask("/w/v1/x") == (200, "b"))
                table.write_text("{}")
                until(lambda: "expected an object with routes; the routes before stay" in log.read_text())
                assert other.ask("/w/v1/x") == (200, "b")
            finally:
                process.send_signal(signal.SIGTERM)
                status = process.wait(30)
            assert status == 0
        with pytest.raises(OSError):
            other.ask("/w/v1/x")
    assert cli.main(["fleet", "ingress", str(tmp_path / "absent")]) == 2
    assert "No such file" in capsys.readouterr().err
