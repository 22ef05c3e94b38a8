"""Clients ask replicas on a real Ray cluster directly, through the ingress of each node."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

import sotto.fleet as fleet
from fleet_mock import spec
from fleet_postgres import Postgres
from fleet_ray import RayFleet, Studio, until

pytest.importorskip("ray", reason="the extra 'fleet-ray' is not installed")


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[RayFleet]:
    """A cluster with two ingresses for all tests of this module."""
    with RayFleet(tmp_path_factory.mktemp("ray"), postgres.database()) as made:
        yield made


@pytest.fixture(scope="module")
def studio(ray: RayFleet) -> Iterator[Studio]:
    """Clients that ask the second node's ingress; workload `smith` with two replicas."""
    made = Studio(ray.served, ray.ingresses[1])
    made.run("smith", execution_policy_config={"replicas": 2})
    assert made.say("smith")
    yield made
    made.workloads.delete("smith")
    assert ray.applications() == {}


def chat(url: str, key: str, session: str, text: str) -> dict[str, Any]:
    """Sends one message of a session. Returns the answer."""
    headers = {"Authorization": f"Bearer {key}", "x-session-id": session}
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 4, "temperature": 0}
    with httpx2.Client(trust_env=False, timeout=60) as http:
        answer = http.post(f"{url}/endpoint/acme/smith/v1/chat/completions", headers=headers, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_session_has_one_replica_through_all_ingresses(studio: Studio, ray: RayFleet) -> None:
    first, second = ray.ingresses
    for number in range(8):
        session = f"player-{number}"
        text = f"I am player {number}, " + "and I tell you a long story of my way to the mill. " * 4
        before = chat(first, studio.key, session, text)["timings"]
        again = chat(second, studio.key, session, text)["timings"]
        assert again["cache_n"] >= 0.9 * (before["cache_n"] + before["prompt_n"]), (before, again)


def test_what_is_used_is_counted_once(studio: Studio, ray: RayFleet) -> None:
    def used() -> dict[str, int]:
        rows = json.loads(ray.served.command("usage", "acme", "--json"))
        return {name: sum(row[name] for row in rows) for name in ("requests", "completion_tokens")}

    time.sleep(1.5)  # counts are written every second
    before = used()
    for number in range(6):
        chat(ray.ingresses[number % 2], studio.key, f"s{number}", "Hi")
    until(lambda: used()["requests"] >= before["requests"] + 6, 10)
    after = used()
    assert after["requests"] == before["requests"] + 6
    assert after["completion_tokens"] - before["completion_tokens"] in range(6, 25)


def test_replicas_that_are_killed_cost_no_answer(studio: Studio, ray: RayFleet) -> None:
    """Both at once, amid a stream: it goes on when Ray has started others."""
    whole = studio.say("smith", 60)
    paced = ray.served.command("keys", "create", "acme", "--target-tps", "20")
    data = fleet.DataClient(base_url=ray.ingresses[1], project="acme", api_key=paced)
    before, text, resumed = ray.pids(), "", False
    asked = {"prompt": "Hi", "temperature": 0.0, "max_tokens": 60}
    for chunk in data.endpoint("smith").generate_text_stream(**asked):
        if not text and chunk.text:
            for pid in before:
                os.kill(pid, signal.SIGKILL)
        text += chunk.text or ""
        resumed |= bool((chunk.raw or {}).get("resumed"))
    assert resumed and len(text) >= len(whole) / 2
    until(lambda: len(ray.pids()) == 2 and not set(ray.pids()) & set(before))
    assert studio.say("smith")


def test_versions_and_replicas_change_under_load(studio: Studio, ray: RayFleet) -> None:
    before = ray.pids()
    with studio.load("smith") as answers:
        config = {"options": {"context": 1024}}
        studio.run("smith", config=config, execution_policy_config={"replicas": 2})
        until(lambda: len(ray.applications()) == 1 and not set(ray.pids()) & set(before))
        count = len(answers)
        for replicas in (3, 1, 2):
            policy = {"replicas": replicas}
            fields = {"model": "sotto/house", "config": config, "execution_policy_config": policy}
            studio.workloads.ensure(spec(slug="smith", **fields))
            until(lambda replicas=replicas: len(ray.pids()) == replicas)
        until(lambda: len(answers) > count + 10)
    assert count > 10 and all(answers)


def test_replicas_follow_the_load(studio: Studio, ray: RayFleet) -> None:
    def ensure(**policy: Any) -> None:
        config = {"options": {"context": 1024}}
        fields = {"model": "sotto/house", "config": config, "execution_policy_config": policy}
        kind = "autoscaling" if policy.get("max_workers") else "fixed"
        studio.workloads.ensure(spec(slug="smith", execution_policy=kind, **fields))

    ensure(min_workers=1, max_workers=3, target_wait_ms=20, scale_down_after_s=5)
    until(lambda: len(ray.pids()) == 1)
    with studio.load("smith", callers=12) as answers:
        until(lambda: len(ray.pids()) == 3)
        count = len(answers)
        until(lambda: len(answers) > count + 20)
        assert len(ray.pids()) == 3
    until(lambda: len(ray.pids()) == 1)
    assert all(answers) and len(answers) > 30
    ensure(replicas=2)
    until(lambda: len(ray.pids()) == 2)


def test_a_revoked_key_is_refused_by_every_replica(studio: Studio, ray: RayFleet) -> None:
    key = ray.served.command("keys", "create", "acme", "--name", "guest")
    for number in range(8):
        chat(ray.ingresses[number % 2], key, f"g{number}", "Hi")
    ray.served.command("keys", "revoke", key.split("_")[2])
    time.sleep(1.0)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(trust_env=False, timeout=60) as http:
        for number in range(8):
            url = f"{ray.ingresses[number % 2]}/endpoint/acme/smith/v1/models"
            assert http.get(url, headers=headers | {"x-session-id": f"g{number}"}).status_code == 401
