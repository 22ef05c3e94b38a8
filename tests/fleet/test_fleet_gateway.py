"""The gateway: routes, relayed bytes, quotas and usage, in front of a double of a workload."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inferencekey
import pytest
from sqlalchemy import select

import sotto.fleet as fleet
from client_mock import Reply, delta, events
from fleet_control import Clock, Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import CHAT, LAST, Upstream, body
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.control.tables import Project, Quota
from sotto.fleet.control.usage import totals

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A workload."""
    with Upstream() as made:
        yield made


@pytest.fixture
def gate(tmp_path: Path, upstream: Upstream) -> Iterator[Control]:
    """A control plane with the workload `smith`, which is ready; its clock stands still."""
    settings = ControlSettings(write_timeout=1.0, body_timeout=1.0, timeout=5.0, max_body_bytes=1 << 20)
    placement = FakePlacement(upstream.url)
    with Control(tmp_path / "fleet.db", placement, Clock(), settings) as made:
        ensure(made)
        yield made


def ensure(control: Control, **fields: Any) -> None:
    """Makes a workload, and waits until it is ready."""
    client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
    ref = client.ensure(spec(**fields))
    client.wait_until_ready(ref.workload_slug, timeout=30, silent=True)


@pytest.mark.row("D-197", "D-190", "D-072", "D-082", "D-087", "D-094")
@pytest.mark.parametrize("package", [fleet, inferencekey])
def test_requests_reach_the_workload(gate: Control, upstream: Upstream, package: Any) -> None:
    data = package.DataClient(base_url=gate.url, project="acme", api_key=gate.token("live", workload="smith"))
    endpoint = data.endpoint("smith")
    result = endpoint.generate_text(prompt="Hi", temperature=0.5, max_tokens=9)
    assert (result.text, result.model, result.raw) == ("Hi", "house", CHAT)
    assert upstream.last.path == "/v1/chat/completions"
    assert upstream.last.body == body(temperature=0.5, max_tokens=9, stream=False)
    assert "authorization" not in upstream.last.headers
    chunks = list(endpoint.generate_text_stream(prompt="Hi"))
    assert [one.text for one in chunks] == ["H", "i", ""] and chunks[-1].raw == LAST
    assert endpoint.embed(input=["a", "b"]).embeddings == [[0.5], [0.5]]
    assert endpoint.rerank(query="q", documents=["a"]).results[0].relevance_score == 0.5


@pytest.mark.row("D-161", "D-158", "D-159", "D-160", "D-198", "D-105")
@pytest.mark.parametrize("task", ["reranker", "classification", "reward"])
def test_async_only_tasks_have_no_synchronous_route(gate: Control, upstream: Upstream, task: str) -> None:
    ensure(gate, slug=task, task_type=task)
    key = gate.token("live")
    for path in ("chat/completions", "embeddings", "completions"):
        answer = gate.ask("POST", f"/endpoint/acme/{task}/v1/{path}", key, body())
        assert answer.status_code == 400 and answer.json()["code"] == "async_only"
    ranked = gate.ask("POST", f"/endpoint/acme/{task}/v1/rerank", key, {"query": "q", "documents": ["a"]})
    assert ranked.status_code == (200 if task == "reranker" else 400)  # which `Endpoint.rerank()` needs
    set_webhook(gate, "http://127.0.0.1:1")
    job = {"kind": {"reranker": "rerank"}.get(task, task), "body": {"input": "a"}}
    accepted = gate.ask("POST", f"/endpoint/acme/{task}/jobs", key, job)
    assert accepted.status_code == 202 and len(accepted.json()["job_id"]) == 32


def set_webhook(control: Control, url: str) -> None:
    """Sets where results of jobs are sent; the secret is "s"."""

    async def change() -> None:
        async with control.service.store.write() as session:
            project = (await session.scalars(select(Project))).one()
            project.webhook_url, project.webhook_secret = url, "s"

    control.run(change())


def test_only_known_routes_are_relayed(gate: Control, upstream: Upstream) -> None:
    key = gate.token("live")
    for path in ("slots", "props", "models/unload", "../health", "%2e%2e/health", "chat/completions/", ""):
        answer = gate.ask("POST", f"/endpoint/acme/smith/v1/{path}", key, {})
        assert answer.status_code == 404, path
    assert gate.ask("POST", "/endpoint/acme/nobody/v1/embeddings", key, {}).status_code == 404
    assert upstream.requests == []


def test_a_slug_in_an_address_is_made_canonical(gate: Control) -> None:
    assert (
        gate.ask("POST", "/endpoint/acme/%20SMITH%20/v1/chat/completions", gate.token("live"), body()).json()
        == CHAT
    )


@pytest.mark.parametrize(
    "content, status",
    [(b"{", 400), (b"[]", 400), (b'{"a": NaN}', 400), (b"[" * 100_000, 400), (b" " * (1 << 21), 413)],
)
def test_invalid_bodies_do_not_reach_the_workload(
    gate: Control, upstream: Upstream, content: bytes, status: int
) -> None:
    answer = gate.ask("POST", CHAT_PATH, gate.token("live"), content=content)
    assert answer.status_code == status and upstream.requests == []


def test_errors_of_the_workload_are_passed_on(gate: Control, upstream: Upstream) -> None:
    upstream.answer = Reply({"error": {"code": 400, "message": "too long"}}, 400)
    answer = gate.ask("POST", CHAT_PATH, gate.token("live"), body())
    assert answer.status_code == 400 and answer.json() == {"error": {"code": 400, "message": "too long"}}


def test_a_workload_that_is_not_ready(gate: Control) -> None:
    gate.placement.automatic = False
    client = fleet.ManagementClient(base_url=gate.url, sdk_token=gate.token(), project="acme")
    client.ensure(spec(slug="late"))
    answer = gate.ask("POST", "/endpoint/acme/late/v1/embeddings", gate.token("live"), {"input": "a"})
    assert answer.status_code == 503 and answer.headers["retry-after"]
    assert "scheduling: waiting for a worker" in answer.json()["message"]


def test_a_workload_that_cannot_be_reached(tmp_path: Path) -> None:
    settings = ControlSettings(resume_timeout=0.2)
    with Control(tmp_path / "fleet.db", FakePlacement("http://127.0.0.1:9"), settings=settings) as control:
        ensure(control)
        answer = control.ask("POST", CHAT_PATH, control.token("live"), body())
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"


@pytest.mark.row("D-088")
def test_a_stream_that_breaks_ends_with_an_error(gate: Control, upstream: Upstream) -> None:
    def pieces() -> Any:
        yield events(delta("H"), done=False)
        raise OSError("gone")

    upstream.answer = Reply(pieces(), headers={"Content-Type": "text/event-stream"})
    key = gate.token("live")
    data = fleet.DataClient(base_url=gate.url, project="acme", api_key=key, resume_timeout=0)
    answer = data.endpoint("smith").generate_text_stream(prompt="a")
    assert next(answer).text == "H"
    with pytest.raises(fleet.ApiError, match="closed the connection"):
        next(answer)


def test_a_client_that_leaves_ends_the_request(gate: Control, upstream: Upstream) -> None:
    endless = (events(delta("x" * 1000), done=False) for _ in range(1_000_000))
    upstream.answer = Reply(endless, headers={"Content-Type": "text/event-stream"})
    data = fleet.DataClient(base_url=gate.url, project="acme", api_key=gate.token("live"))
    answer: Any = data.endpoint("smith").generate_text_stream(prompt="a")
    next(answer)
    answer.close()
    assert upstream.gone.wait(20)


def test_a_client_that_leaves_before_the_answer_ends_the_request(gate: Control, upstream: Upstream) -> None:
    asked = threading.Event()

    def wait() -> Any:
        asked.set()
        for _ in range(200):
            time.sleep(0.05)
            yield b" "

    upstream.answer = Reply(wait())
    with raw(gate) as client:
        assert asked.wait(20)
        client.close()
        assert upstream.gone.wait(20)


@pytest.mark.row("D-086")
def test_a_client_that_never_reads_is_cut_off(gate: Control, upstream: Upstream) -> None:
    endless = (events(delta("x" * 10_000), done=False) for _ in range(1_000_000))
    upstream.answer = Reply(endless, headers={"Content-Type": "text/event-stream"})
    with raw(gate):
        assert upstream.gone.wait(30)  # while the client's socket is open, and full
    assert gate.ask("GET", "/health").status_code == 200


def raw(control: Control) -> socket.socket:
    """Sends a request for a stream. Returns the socket."""
    host, port = control.url.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)))
    content = b'{"stream": true, "messages": []}'
    head = f"POST {CHAT_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {control.token('live')}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    client.sendall(head.encode() + content)
    return client


def test_a_body_that_never_arrives(gate: Control) -> None:
    host, port = gate.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as client:
        head = f"POST {CHAT_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {gate.token('live')}\r\n"
        client.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in client.recv(4096).splitlines()[0]


def limit(control: Control, metric: str, amount: int, token: str | None = None) -> None:
    """Sets a quota of a minute."""

    async def add() -> None:
        async with control.service.store.write() as session:
            project = (await session.scalars(select(Project))).one()
            quota = Quota(project_id=project.id, token_id=token, metric=metric, seconds=60, amount=amount)
            session.add(quota)
        control.service.changes.deliver("quotas")

    control.run(add())


def test_a_quota_of_requests(gate: Control) -> None:
    one, two = gate.token("live"), gate.token("live")
    limit(gate, "requests", 3, one[8:16])
    statuses = [gate.ask("POST", CHAT_PATH, one, body()).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    refused = gate.ask("POST", CHAT_PATH, one, body())
    assert refused.json()["code"] == "quota_exceeded" and 0 < int(refused.headers["retry-after"]) <= 60
    assert gate.ask("POST", CHAT_PATH, two, body()).status_code == 200
    gate._clock.now += 60
    assert gate.ask("POST", CHAT_PATH, one, body()).status_code == 200


def test_a_quota_of_tokens(gate: Control, upstream: Upstream) -> None:
    key = gate.token("live")
    limit(gate, "tokens", 200)
    answered = 0
    for _ in range(50):
        answer = gate.ask("POST", CHAT_PATH, key, body(max_tokens=30))
        answered += answer.status_code == 200
    assert 20 * answered <= 200 and 20 * answered >= 120  # each answer takes 20, and reserves 30 and its body
    assert gate.ask("POST", CHAT_PATH, key, body()).status_code == 429  # reserves 1024
    gate._clock.now += 60
    limit(gate, "tokens", 100_000)
    upstream.requests.clear()
    gate.ask("POST", CHAT_PATH, key, body())
    assert [one.body.get("max_tokens") for one in upstream.requests] in ([], [1024])


def test_gateways_share_a_quota(tmp_path: Path, upstream: Upstream) -> None:
    """Two gateways on one store grant no more than the quota together."""
    clock, database = Clock(), tmp_path / "fleet.db"
    with Control(database, FakePlacement(upstream.url), clock) as one:
        ensure(one)
        with Control(database, FakePlacement(upstream.url), clock) as two:
            key = one.token("live")
            limit(one, "requests", 20)
            two.service.changes.deliver("quotas")
            answers = [
                gateway.ask("POST", CHAT_PATH, key, body()) for _ in range(15) for gateway in (one, two)
            ]
    granted = sum(answer.status_code == 200 for answer in answers)
    assert 18 <= granted <= 20  # a lease of 2 may be left at a gateway


def test_usage_is_counted(gate: Control) -> None:
    key, data = gate.token("live"), None
    gate.ask("POST", CHAT_PATH, key, body())
    data = fleet.DataClient(base_url=gate.url, project="acme", api_key=key)
    list(data.endpoint("smith").generate_text_stream(prompt="a"))
    gate.run(gate.service.usage.flush())
    gate.ask("POST", CHAT_PATH, key, body())
    found = gate.ask("GET", "/api/projects/acme/usage", gate.token()).json()
    assert [(one["project"], one["token_id"]) for one in found] == [("acme", key[8:16])]
    counts = {name: found[0][name] for name in ("requests", "failures", "prompt_tokens", "completion_tokens")}
    assert counts == {"requests": 3, "failures": 0, "prompt_tokens": 31, "completion_tokens": 18}
    assert gate.run(totals(gate.service.store, "other")) == []


def test_other_engines_are_sent_the_name_of_their_model(gate: Control, upstream: Upstream) -> None:
    ensure(gate, slug="other", backend="vllm", model="org/model")
    gate.ask("POST", "/endpoint/acme/other/v1/chat/completions", gate.token("live"), body())
    assert upstream.last.body["model"] == "org/model"
