"""Figures of real hosts: how they are made from turns, read, and compared with the simulator's."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import fleet_hosts
from fleetsim import measured

from sotto.server import sessions

RUN = {"policy": "consistent_hash", "sessions": 80, "seconds": 240, "think_s": 10}


def synthetic(tmp_path: Path, change: float = 1.0) -> Path:
    """A file as of four hosts whose figures are the simulator's own, of another seed: not measured."""
    run = {**RUN, "line": [10, 30], "answer": [20, 60]}
    hosts = {"hosts": 4, "slots": 8}
    found = measured.simulated(hosts, run, seed=77)
    figures = {name: change * found[name] for name in ("p50_ms", "tokens_per_s", "answers")}
    path = tmp_path / "synthetic_hosts.json"
    path.write_text(json.dumps({**hosts, "runs": [{**run, "figures": figures}]}))
    return path


def test_figures_of_hosts_are_compared_within_15_percent(tmp_path: Path) -> None:
    hosts = measured.read(synthetic(tmp_path))
    found = measured.compare(hosts, seeds=3)
    assert found["ok"] and [row["figure"] for row in found["rows"]] == ["p50_ms", "tokens_per_s", "answers"]
    slower = measured.compare(measured.read(synthetic(tmp_path, change=1.3)), seeds=3)
    assert not slower["ok"] and all(row["error"] > 0.15 for row in slower["rows"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "expected a JSON object"),
        ("[]", "expected an object with runs"),
        ('{"runs": []}', "expected an object with runs"),
        ('{"runs": [{}], "hosts": 0, "slots": 8}', "invalid hosts '0'"),
        ('{"runs": [{}], "hosts": 4, "slots": 8}', r"missing policy in .*runs\[0\]"),
        (
            json.dumps({"hosts": 4, "slots": 8, "runs": [{**RUN, "policy": "best", "figures": {}}]}),
            "invalid policy 'best'",
        ),
        (
            json.dumps({"hosts": 4, "slots": 8, "runs": [{**RUN, "figures": {"p42_ms": 1}}]}),
            r"invalid field 'p42_ms' in .*runs\[0\].figures",
        ),
        (
            json.dumps({"hosts": 4, "slots": 8, "service": {"speed": 1}, "runs": [{**RUN, "figures": {}}]}),
            "invalid field 'speed' in .*service",
        ),
    ],
)
def test_a_wrong_file_of_figures_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "hosts.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        measured.read(path)


def test_turns_of_real_hosts_become_a_run(tmp_path: Path) -> None:
    talk = fleet_hosts.Talk(0, "a", ["word"], sessions=2, ends_at=200.0)
    line = {"first": 0.01, "took": 2.0, "answer": 30}
    talk.turns = [
        fleet_hosts.Turn(at=1.0, prompt=9, cached=0, novel=9, **line),  # before the figures begin
        fleet_hosts.Turn(at=150.0, prompt=500, cached=480, novel=20, **line),
        fleet_hosts.Turn(at=160.0, prompt=550, cached=0, novel=20, **line),  # on another replica
        fleet_hosts.Turn(at=170.0, prompt=440, cached=400, novel=440, kind="new", **line),
        fleet_hosts.Turn(at=180.0, prompt=900, cached=400, novel=-300, kind="cut", **line),
    ]
    run = fleet_hosts.run_of("consistent_hash", talk, 100.0)
    assert (run["line"], run["first"], run["shared"]) == ([20, 20], 440, 400)
    assert run["figures"]["answers"] == 4 and run["figures"]["tokens_per_s"] == 1.2
    assert run["figures"]["repeated_prefill"] == pytest.approx((530 + 480) / 2390, abs=1e-4)
    path = tmp_path / "hosts.json"
    path.write_text(json.dumps({"hosts": 2, "slots": 4, "road_s": 0.0, "runs": [run], "busy_pct": {}}))
    rows = measured.compare(measured.read(path), seeds=1)["rows"]
    assert {row["figure"] for row in rows} == set(run["figures"])
    with pytest.raises(SystemExit, match="0 turns are too few"):
        fleet_hosts.run_of("consistent_hash", fleet_hosts.Talk(0, "b", [], 1, 9e9), 1.0)


class Quick(fleet_hosts.Client):
    """A client without a server: a wait is 10 ms, and 1 ms for each token that is not cached."""

    names: ClassVar[list[str]] = []

    def __init__(self, port: int, session: str) -> None:
        self.names.append(session)
        self._known = 0

    def ask(
        self, messages: list[dict[str, str]], tokens: int, pace: float = 0.0
    ) -> tuple[str, fleet_hosts.Turn]:
        prompt = sum(len(one["content"].split()) for one in messages)
        first = 0.010 + 0.001 * (prompt - self._known)
        turn = fleet_hosts.Turn(time.monotonic(), first, 0.063, prompt, self._known, tokens)
        self._known = prompt
        return "", turn

    def close(self) -> None:
        pass


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> type[Quick]:
    monkeypatch.setattr(fleet_hosts, "Client", Quick)
    monkeypatch.setattr(Quick, "names", [])
    return Quick


def test_service_times_are_those_of_the_replica(quick: type[Quick]) -> None:
    found = fleet_hosts.service_times(0, ["word"] * 20)
    assert found["prefill_base_s"] == pytest.approx(0.010, rel=0.01)
    assert found["prefill_token_s"] == pytest.approx(0.001, rel=0.01)
    assert found["prefill_depth_s"] == pytest.approx(0.0, abs=1e-8)
    assert found["step_base_s"] == pytest.approx(0.001) and found["step_stream_s"] == 0.0


def test_the_server_allows_the_names_of_the_calibration(quick: type[Quick]) -> None:
    fleet_hosts.service_times(0, ["word"] * 20)
    assert quick.names
    for name in quick.names:
        sessions.checked_id(name)


def test_players_who_think_at_the_end_do_not_delay_it(quick: type[Quick]) -> None:
    talk = fleet_hosts.Talk(0, "a", ["word"], 1, time.monotonic() + 0.05, think_s=600.0)
    fleet_hosts.Player(talk, 1).play()
    assert time.monotonic() < talk.ends_at + 1 and not talk.turns
