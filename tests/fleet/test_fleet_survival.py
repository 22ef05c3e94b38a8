"""Answers that survive `kill -9` of the process that writes them, with the house model."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import sotto.fleet as fleet
from fleet_faces import FACES
from fleet_mock import spec
from fleet_process import Served, serving
from sotto.fleet import _answers

PACE = 3  # tokens per second: slow enough to be killed amid an answer
SHEET = "Name: Mara\nRole: ferrywoman\nManner: gruff\nPrices:\n- a crossing: 3 copper"
QUESTIONS = ("How much is a crossing?", "Who are you?")


@contextlib.contextmanager
def provisioned(folder: Path, *words: str) -> Iterator[tuple[Served, str]]:
    """Yields a control plane with the workload `smith`, and a key."""
    with serving(folder, *words) as made:
        token = made.command("keys", "create", "acme", "--kind", "sdk", "--new-project")
        mgmt = fleet.ManagementClient(base_url=made.url, sdk_token=token, project="acme")
        mgmt.ensure(spec(model="sotto/house", config={"deterministic": True}))
        mgmt.wait_until_ready("smith", timeout=300, silent=True)
        yield made, made.command("keys", "create", "acme")


def kill(served: Served, begun: threading.Semaphore, answers: int) -> None:
    """Kills the process of the workload once some answers have begun."""
    for _ in range(answers):
        assert begun.acquire(timeout=60)
    (pid,) = served.children()
    os.kill(pid, signal.SIGKILL)


def messages(question: str) -> list[dict[str, str]]:
    """Returns a chat."""
    return [{"role": "system", "content": SHEET}, {"role": "user", "content": question}]


def test_clients_see_no_broken_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of clients, at a gateway that resumes nothing."""
    chat = _answers.Requests.chat

    def paced(*given: Any, **named: Any) -> Any:
        call = chat(*given, **named)
        if call.body["stream"]:
            call.body["target_tps"] = PACE
        return call

    monkeypatch.setattr(_answers.Requests, "chat", paced)
    asked = [(kind, question) for kind in sorted(FACES) for question in QUESTIONS]
    begun, together = threading.Semaphore(0), threading.Barrier(len(asked))

    def speak(kind: str, question: str) -> tuple[str, str]:
        given = {"messages": messages(question), "temperature": 0, "max_tokens": 24}
        with FACES[kind]() as face:
            data = face.keep(face.data(base_url=served.url, project="acme", api_key=key))
            endpoint, chunks = data.endpoint("smith"), []
            whole = endpoint.generate_text(**given).text
            together.wait(60)
            for one in endpoint.generate_text_stream(**given):
                chunks.append(one)
                if len(chunks) == 2:
                    begun.release()
            assert chunks[-1].finish_reason and chunks[-1].raw.get("resumed") is True
            return "".join(one.text for one in chunks), whole

    with provisioned(tmp_path, "--resume-timeout", "0") as (served, key), ThreadPoolExecutor() as threads:
        answers = [threads.submit(speak, *one) for one in asked]
        kill(served, begun, len(answers))
        for answer in answers:
            text, whole = answer.result(120)
            assert text == whole


def test_other_clients_see_no_broken_answer(tmp_path: Path) -> None:
    """A client that knows nothing of it: a stream, and an answer that is not one; each counts once."""
    begun = threading.Semaphore(0)
    fields = {"messages": messages(QUESTIONS[1]), "temperature": 0, "max_tokens": 24, "target_tps": PACE}

    def stream() -> str:
        body, text = {**fields, "stream": True}, ""
        with httpx2.stream("POST", url, json=body, headers=headers, timeout=120) as told:
            lines = [line for line in told.iter_lines() if line.startswith("data: ") and not begun.release()]
        for line in lines[:-1]:
            text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
        assert lines[-1] == "data: [DONE]" and '"resumed": true' in lines[-2]
        return text

    def whole() -> str:
        answer = httpx2.post(url, json=fields, headers=headers, timeout=120)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["choices"][0]["message"]["content"])

    with provisioned(tmp_path) as (served, key):
        url = f"{served.url}/endpoint/acme/smith/v1/chat/completions"
        headers = {"Authorization": f"Bearer {key}"}
        expected = whole()
        with ThreadPoolExecutor() as threads:
            answers = [threads.submit(stream), threads.submit(whole)]
            kill(served, begun, 2)
            assert [one.result(120) for one in answers] == [expected, expected]
        end = time.monotonic() + 20
        while sum(one["requests"] for one in usage(served)) < 3:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert [(one["requests"], one["failures"]) for one in usage(served)] == [(3, 0)]


def usage(served: Served) -> list[dict[str, Any]]:
    """Returns what was used, as `sotto fleet usage` prints it."""
    found: list[dict[str, Any]] = json.loads(served.command("usage", "acme", "--json"))
    return found
