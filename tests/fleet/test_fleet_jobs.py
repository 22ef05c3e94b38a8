"""Jobs and their webhooks: signatures, retries, workloads that come late."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

import sotto.fleet as fleet
from client_mock import MockServer, Reply, Request
from fleet_control import Clock, Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import CHAT, Upstream, body
from sotto.fleet.control.jobs import RETRIES
from sotto.fleet.control.tables import Job, Project
from sotto.fleet.webhooks import sign, verify_webhook

PATH = "/endpoint/acme/smith/jobs"


class Receiver(MockServer):
    """Receives webhooks; fails the first `failures` ones."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0

    def reply_to(self, request: Request) -> Reply:
        self.failures -= 1
        return Reply({}, 500 if self.failures >= 0 else 200)

    def wait(self, count: int) -> list[Request]:
        """Waits for a number of webhooks."""
        for _ in range(1000):
            if len(self.requests) >= count:
                break
            time.sleep(0.01)
        return list(self.requests)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with Receiver() as made:
        yield made


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A workload."""
    with Upstream() as made:
        yield made


@pytest.fixture
def plant(database: str, upstream: Upstream, receiver: Receiver) -> Iterator[Control]:
    """A control plane with the workload `smith` and a webhook."""
    with Control(database, FakePlacement(upstream.url), Clock()) as made:
        client = fleet.ManagementClient(base_url=made.url, sdk_token=made.token(), project="acme")
        client.ensure(spec())
        client.wait_until_ready("smith", timeout=30, silent=True)

        async def change() -> None:
            async with made.service.store.write() as session:
                project = (await session.scalars(select(Project))).one()
                project.webhook_url, project.webhook_secret = f"{receiver.url}/hook", "whsec_x"

        made.run(change())
        yield made


def states(control: Control) -> list[tuple[str, int]]:
    """Returns state and attempts of each job."""

    async def read() -> list[tuple[str, int]]:
        async with control.service.store.read() as session:
            return [(job.state, job.attempts) for job in (await session.scalars(select(Job))).all()]

    return control.run(read())


def wait_for(control: Control, state: tuple[str, int]) -> None:
    """Waits until the one job is in a state."""
    for _ in range(1000):
        if states(control) == [state]:
            return
        time.sleep(0.01)
    raise AssertionError(f"{states(control)}, not {state}")


@pytest.mark.row("D-198", "D-161")
def test_the_answer_of_a_job_is_signed(plant: Control, receiver: Receiver, upstream: Upstream) -> None:
    job = {"kind": "chat", "body": body(), "context": {"npc": 7}}
    accepted = plant.ask("POST", PATH, plant.token("live"), job)
    assert accepted.status_code == 202
    request = receiver.wait(1)[0]
    assert request.body == {
        "job_id": accepted.json()["job_id"], "workload_id": request.body["workload_id"], "kind": "chat",
        "status": "succeeded", "http_status": 200, "context": {"npc": 7}, "result": CHAT,
    }  # fmt: skip
    assert upstream.last.path == "/v1/chat/completions" and upstream.last.body == body()
    content, signature = json.dumps(request.body).encode(), request.headers["inferencekey-signature"]
    assert verify_webhook(content, signature, "whsec_x", now=plant._clock.now)
    wait_for(plant, ("done", 0))


@pytest.mark.row("D-198")
def test_a_job_of_bytes(plant: Control, receiver: Receiver, upstream: Upstream) -> None:
    upstream.answer = Reply(b"\xff\x00", headers={"Content-Type": "audio/wav"})
    data = base64.b64encode(json.dumps(body()).encode()).decode()
    job = {"kind": "transcription", "body_b64": data, "content_type": "application/json"}
    assert plant.ask("POST", PATH, plant.token("live"), job).status_code == 202
    told = receiver.wait(1)[0].body
    assert (told["result_b64"], told["content_type"]) == (base64.b64encode(b"\xff\x00").decode(), "audio/wav")
    assert upstream.last.path == "/v1/audio/transcriptions"
    assert upstream.last.headers["content-type"] == job["content_type"]


@pytest.mark.row("D-198")
def test_webhooks_are_retried(plant: Control, receiver: Receiver) -> None:
    receiver.failures = 100
    plant.ask("POST", PATH, plant.token("live"), {"kind": "chat", "body": body()})
    for attempt, wait in enumerate(RETRIES, 1):
        wait_for(plant, ("sending", attempt))
        count = len(receiver.requests)
        time.sleep(0.05)
        assert len(receiver.requests) == count == attempt
        plant._clock.now += wait
        plant.service.changes.deliver("jobs")
    wait_for(plant, ("failed", len(RETRIES)))
    assert len(receiver.requests) == 6 and RETRIES == (60, 300, 900, 3600, 21600)
    signatures = {one.headers["inferencekey-signature"] for one in receiver.requests}
    assert len({one.body["job_id"] for one in receiver.requests}) == 1 and len(signatures) == 6


def test_a_job_that_ended_is_removed_after_a_week(plant: Control, receiver: Receiver) -> None:
    plant.ask("POST", PATH, plant.token("live"), {"kind": "chat", "body": body()})
    wait_for(plant, ("done", 0))

    async def bodies() -> list[str]:
        async with plant.service.store.read() as session:
            return list((await session.scalars(select(Job.body))).all())

    assert plant.run(bodies()) == [""]
    for days, left in ((6.9, 1), (0.2, 0)):
        plant._clock.now += days * 86_400
        plant.run(plant.service.reconciler._housekeeping.prune())
        assert len(states(plant)) == left


def test_a_job_waits_for_its_workload(plant: Control, receiver: Receiver) -> None:
    plant.say("smith", "bootstrapping", "restarting")
    plant.ask("POST", PATH, plant.token("live"), {"kind": "chat", "body": body()})
    wait_for(plant, ("queued", 0))
    time.sleep(0.1)
    assert receiver.requests == []
    plant.say("smith", "ready", "serving")
    plant._clock.now += 5
    plant.service.changes.deliver("jobs")
    assert receiver.wait(1)[0].body["status"] == "succeeded"


def test_a_job_whose_workload_fails(plant: Control, receiver: Receiver, upstream: Upstream) -> None:
    upstream.answer = Reply({"error": {"code": 400, "message": "too long"}}, 400)
    plant.ask("POST", PATH, plant.token("live"), {"kind": "chat/completions", "body": body()})
    told = receiver.wait(1)[0].body
    assert (told["status"], told["http_status"], told["kind"]) == ("failed", 400, "chat")


@pytest.mark.parametrize(
    "job, what",
    [
        ([], "expected a JSON object"),
        ({}, "invalid kind"),
        ({"kind": "../admin", "body": {}}, "invalid kind"),
        ({"kind": ["chat"], "body": {}}, "invalid kind"),
        ({"kind": "chat"}, "'body' or 'body_b64'"),
        ({"kind": "chat", "body": {}, "body_b64": ""}, "'body' or 'body_b64'"),
        ({"kind": "chat", "body": {"stream": True}}, "without 'stream'"),
        ({"kind": "chat", "body_b64": "!", "content_type": "a/b"}, "invalid body_b64"),
        ({"kind": "chat", "body_b64": "AA=="}, "invalid content_type"),
        ({"kind": "chat", "body_b64": "AA==", "content_type": "a\r\nb"}, "invalid content_type"),
        ({"kind": "chat", "body": {}, "url": "http://x"}, "invalid field 'url'"),
    ],
)
def test_invalid_jobs(small: Control, job: Any, what: str) -> None:
    fleet.ManagementClient(base_url=small.url, sdk_token=small.token(), project="acme").ensure(spec())
    answer = small.ask("POST", PATH, small.token("live"), job)
    assert answer.status_code == 400 and what in answer.json()["message"]


def test_a_project_without_a_webhook(small: Control) -> None:
    fleet.ManagementClient(base_url=small.url, sdk_token=small.token(), project="acme").ensure(spec())
    answer = small.ask("POST", PATH, small.token("live"), {"kind": "chat", "body": {}})
    assert answer.status_code == 400 and "sotto fleet webhook" in answer.json()["message"]


def test_forged_and_replayed_webhooks() -> None:
    content, at = b'{"job_id": "1"}', 1_800_000_000.0
    signature = sign(content, "secret", at)
    assert verify_webhook(content, signature, "secret", now=at + 299)
    assert not verify_webhook(content, signature, "secret", now=at + 301)
    assert not verify_webhook(content, signature, "secret", now=at - 301)
    assert not verify_webhook(content, signature, "other", now=at)
    assert not verify_webhook(content + b" ", signature, "secret", now=at)
    for wrong in ("", "t=1", signature[:-1], signature.upper(), f"t={'9' * 99},v1={'0' * 64}", "é"):
        assert not verify_webhook(content, wrong, "secret", now=at)
