"""Answers that survive in the gateway, for clients that know nothing of it: lost streams go on elsewhere."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inferencekey
import pytest
from sqlalchemy import select

import sotto.fleet as fleet
from client_mock import Reply, Request, delta, events, stream
from fleet_control import Clock, Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import CHAT, LAST, Upstream, body
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.control.tables import Project, Quota

CHAT_PATH = "/endpoint/acme/smith/v1/chat/completions"
SSE = {"Content-Type": "text/event-stream"}


class Script(Upstream):
    """A workload that answers requests one after the other; the last reply repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[Reply | Callable[[Request], Reply]] = []

    def reply_to(self, request: Request) -> Reply:
        """Returns the reply to a request."""
        if not self.script:
            return super().reply_to(request)
        one = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return one if isinstance(one, Reply) else one(request)


def lost(*pieces: bytes) -> Reply:
    """Returns a stream whose connection breaks after its pieces."""

    def sent() -> Iterator[bytes]:
        yield from pieces
        raise OSError("killed")

    return Reply(sent(), headers=SSE)


def killed(request: Request) -> Reply:
    """Closes the connection without a response."""
    raise ConnectionError("killed")


def said(*texts: str) -> bytes:
    """Returns chunks without the end of the stream."""
    return events(*(delta(one) for one in texts), done=False)


REST = stream(events(delta("i"), LAST))


@pytest.fixture
def upstream() -> Iterator[Script]:
    """A workload."""
    with Script() as made:
        yield made


@pytest.fixture
def gate(tmp_path: Path, upstream: Script) -> Iterator[Control]:
    """A control plane with the workload `smith`, which is ready."""
    with gateway(tmp_path, upstream, ControlSettings(timeout=20.0)) as made:
        yield made


def gateway(folder: Path, upstream: Script, settings: ControlSettings) -> Control:
    """Returns a control plane that provisions `smith` when it is entered."""
    made = Control(folder / "fleet.db", FakePlacement(upstream.url), Clock(), settings)
    enter = made.__enter__

    class Ready:
        def __enter__(self) -> Control:
            enter()
            client = fleet.ManagementClient(base_url=made.url, sdk_token=made.token(), project="acme")
            client.ensure(spec())
            client.wait_until_ready("smith", timeout=30, silent=True)
            return made

        def __exit__(self, *exc: object) -> None:
            made.__exit__(*exc)

    return Ready()  # type: ignore[return-value]


def ask(gate: Control, **more: Any) -> tuple[str, list[dict[str, Any]]]:
    """Asks for a stream. Returns its text and its chunks."""
    answer = gate.ask("POST", CHAT_PATH, gate.token("live"), body(stream=True, **more))
    assert answer.status_code == 200, answer.text
    data = [line[6:] for line in answer.text.split("\n") if line.startswith("data: ")]
    chunks = [json.loads(one) for one in data if one != "[DONE]"]
    text = "".join(one["choices"][0]["delta"].get("content", "") for one in chunks if one.get("choices"))
    return text + ("." if data[-1] == "[DONE]" else ""), chunks


def usage(gate: Control, requests: int = 1) -> list[tuple[int, ...]]:
    """Returns requests, failures, tokens of prompts and of completions, once so many requests are counted."""
    names = ("requests", "failures", "prompt_tokens", "completion_tokens")
    token, end = gate.token(), time.monotonic() + 20
    while True:
        found = gate.ask("GET", "/api/projects/acme/usage", token).json()
        if sum(one["requests"] for one in found) >= requests:
            return [tuple(one[name] for name in names) for one in found]
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    "first",
    [
        lost(said("H")),
        lost(said("H") + b'data: {"choices": [{"index": 0, "del'),
        lost(said("H")[:20], said("H")[20:]),
        stream(said("H")),
        stream(said("H") + events({"error": {"code": 503, "message": "the process ends"}}, done=False)),
    ],
    ids=["lost", "within an event", "in pieces", "ended", "error"],
)
def test_a_stream_goes_on_at_another_replica(gate: Control, upstream: Script, first: Reply) -> None:
    upstream.script = [first, REST]
    text, chunks = ask(gate, max_tokens=9)
    assert text == "Hi." and [one.get("resumed") for one in chunks] == [None, True, True]
    assert chunks[-1]["timings"] == {"cache_n": 3, "prompt_n": 3, "predicted_n": 3}
    assert upstream.last.body == body(
        stream=True,
        max_tokens=8,
        messages=[*body()["messages"], {"role": "assistant", "content": "H"}],
        continue_final_message=True,
        add_generation_prompt=False,
    )
    assert usage(gate) == [(1, 0, 6, 3)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_streams_that_do_not_break(gate: Control, upstream: Script, newline: str) -> None:
    """Whole, in single bytes, and without `[DONE]`: the bytes are passed on as they are."""
    content = events(delta("H"), delta("i", "stop"), newline=newline)
    for one in (stream(content), stream(*(bytes([byte]) for byte in content)), stream(content[:-14])):
        upstream.script = [one]
        expected = b"".join(one.body)
        answer = gate.ask("POST", CHAT_PATH, gate.token("live"), body(stream=True))
        assert answer.content == expected
    assert len(upstream.requests) == 3


def test_the_published_client_sees_a_whole_answer(gate: Control, upstream: Script) -> None:
    upstream.script = [lost(said("H")), REST]
    data = inferencekey.DataClient(base_url=gate.url, project="acme", api_key=gate.token("live"))
    chunks = list(data.endpoint("smith").generate_text_stream(prompt="Hi"))
    assert [one.text for one in chunks] == ["H", "i", ""] and chunks[-1].finish_reason == "stop"
    upstream.script = [killed, Reply(CHAT)]
    assert data.endpoint("smith").generate_text(prompt="Hi").text == "Hi"
    assert upstream.requests[-1].body == upstream.requests[-2].body


def test_a_stream_that_was_lost_before_its_first_event(gate: Control, upstream: Script) -> None:
    for first in (killed, lost(), lost(b": ping\n\n")):
        upstream.script = [first, REST]
        assert ask(gate)[0] == "i."
        assert upstream.requests[-1].body == upstream.requests[-2].body


def test_only_the_end_of_the_stream_was_lost(gate: Control, upstream: Script) -> None:
    upstream.script = [lost(said("H", "i"))]
    text, chunks = ask(gate, max_tokens=2)
    assert text == "Hi." and chunks[-1]["choices"][0]["finish_reason"] == "length"
    upstream.script = [lost(events(delta("Hi", "stop"), done=False))]
    assert ask(gate)[0] == "Hi."
    assert len(upstream.requests) == 2


def test_the_other_replica_is_another_process(gate: Control, upstream: Script) -> None:
    with Script() as other:

        def dies(request: Request) -> Reply:
            gate.say("smith", "bootstrapping", "restarting", "restart")
            threading.Timer(0.4, start).start()
            return lost(said("H"))

        def start() -> None:
            gate.placement.address = other.url
            gate.say("smith", "ready", "serving")

        upstream.script, other.script = [dies], [REST]
        assert ask(gate)[0] == "Hi."
        assert len(upstream.requests) == len(other.requests) == 1


@pytest.mark.parametrize(
    "more",
    [{"n": 2}, {"logprobs": True, "top_logprobs": 2}, {"session": "mara"}],
)
def test_requests_whose_answers_are_not_resumed(gate: Control, upstream: Script, more: Any) -> None:
    upstream.script = [lost(said("H"))]
    text, chunks = ask(gate, **more)
    assert text == "H" and chunks[-1]["error"]["code"] == 502 and len(upstream.requests) == 1
    assert usage(gate) == [(1, 1, 0, 0)]


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0}]}, "finish_reason": None}]},
        {"error": {"code": 500, "message": "m"}},
    ],
)
def test_answers_that_are_not_resumed(gate: Control, upstream: Script, chunk: Any) -> None:
    upstream.script = [lost(said("H") + events(chunk, done=False))]
    _, chunks = ask(gate)
    assert chunks[-1]["error"]["code"] in (500, 502) and len(upstream.requests) == 1


@pytest.mark.parametrize(
    "second",
    [
        lost(said("i")),
        stream(said("i")),
        Reply({"error": "no"}, 400),
        stream(b"data: {\n\n"),
        stream(b"data: 5\n\n"),
    ],
)
def test_an_answer_is_resumed_once(gate: Control, upstream: Script, second: Reply) -> None:
    upstream.script = [lost(said("H")), second]
    text, chunks = ask(gate)
    assert not text.endswith(".") and chunks[-1]["error"]["code"] == 502 and len(upstream.requests) == 2
    assert usage(gate)[0][:2] == (1, 1)


def test_no_replica_in_time(tmp_path: Path, upstream: Script) -> None:
    with gateway(tmp_path, upstream, ControlSettings(resume_timeout=0.3)) as gate:

        def dies(request: Request) -> Reply:
            gate.say("smith", "bootstrapping", "restarting", "restart")
            return lost(said("H"))

        upstream.script = [dies]
        began = time.monotonic()
        _, chunks = ask(gate)
        assert "not ready: bootstrapping" in chunks[-1]["error"]["message"]
        assert 0.3 <= time.monotonic() - began < 5
        gate.say("smith", "ready", "serving")
        upstream.script = [lost(said("H")), Reply({"error": "busy"}, 503)]
        assert "answers 503" in ask(gate)[1][-1]["error"]["message"]
        assert 3 <= len(upstream.requests) <= 8


def test_a_workload_that_failed_is_not_waited_for(gate: Control, upstream: Script) -> None:
    def dies(request: Request) -> Reply:
        gate.say("smith", "error", "ended 6 times")
        return lost(said("H"))

    upstream.script = [dies]
    began = time.monotonic()
    assert "ended 6 times" in ask(gate)[1][-1]["error"]["message"]
    answer = gate.ask("POST", CHAT_PATH, gate.token("live"), body())
    assert answer.status_code == 503 and answer.headers["x-should-retry"] == "false"
    assert time.monotonic() - began < 10


def test_answers_are_not_resumed_if_the_setting_says_so(tmp_path: Path, upstream: Script) -> None:
    with gateway(tmp_path, upstream, ControlSettings(resume_timeout=0)) as gate:
        upstream.script = [lost(said("H") + b"data: {")]
        answer = gate.ask("POST", CHAT_PATH, gate.token("live"), body(stream=True))
        assert answer.content.startswith(said("H") + b"data: {") and len(upstream.requests) == 1


def test_a_quota_is_charged_once(gate: Control, upstream: Script) -> None:
    async def limit() -> None:
        async with gate.service.store.write() as session:
            project = (await session.scalars(select(Project))).one()
            for metric, amount in (("requests", 3), ("tokens", 300)):
                session.add(Quota(project_id=project.id, metric=metric, seconds=60, amount=amount))
        gate.service.changes.deliver("quotas")

    gate.run(limit())
    for _ in range(3):
        upstream.script = [lost(said("H")), REST]
        assert ask(gate, max_tokens=20)[0] == "Hi."
    assert gate.ask("POST", CHAT_PATH, gate.token("live"), body(max_tokens=20)).status_code == 429
    assert usage(gate, 3) == [(1, 0, 6, 3)] * 3


def test_a_client_that_leaves_ends_the_request_at_the_other_replica(gate: Control, upstream: Script) -> None:
    endless = (said("x" * 1000) for _ in range(1_000_000))
    upstream.script = [lost(said("H")), Reply(endless, headers=SSE)]
    data = fleet.DataClient(base_url=gate.url, project="acme", api_key=gate.token("live"))
    answer: Any = data.endpoint("smith").generate_text_stream(prompt="a")
    assert next(answer).text == "H" and next(answer).raw["resumed"] is True
    upstream.gone.clear()
    answer.close()
    assert upstream.gone.wait(20)
