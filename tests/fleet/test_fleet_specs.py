"""Bodies that the control plane refuses, and execution policies."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from fleet_control import Control
from fleet_faces import LIVE
from sotto.fleet.control import policies
from sotto.fleet.control.errors import Refusal

WORKLOADS = "/api/projects/acme/workloads"
BODY = {"name": "Smith", "slug": "smith", "backend": "llamacpp", "model_name": "m"}
AUTO = {"execution_policy": "autoscaling"}
CRON = {"execution_policy": "scheduled"}


@pytest.mark.row("D-032", "D-100", "D-103", "D-104", "D-105", "D-108")
@pytest.mark.parametrize(
    "change, what",
    [
        ({"slug": "日本語"}, "invalid slug"),
        ({"slug": "x" * 64}, "at most 63"),
        ({"slug": 5}, "invalid slug"),
        ({"slug": None}, "invalid slug"),
        ({"name": " "}, "invalid name"),
        ({"name": "x" * 201}, "at most 200"),
        ({"model_name": ""}, "invalid model_name"),
        ({"model_name": "a\x00b"}, "without NUL"),
        ({"backend": "tgi"}, "invalid backend 'tgi': expected one of ollama"),
        ({"task_type": "smell"}, "invalid task_type"),
        ({"provider": "aws"}, "invalid field 'provider'"),
        ({"description": LIVE}, "invalid description: it holds a token"),
        ({"config": {"options": {"a": [LIVE]}}}, "holds a token"),
        ({"config": []}, "invalid config"),
        ({"config": {"a": "x" * 70_000}}, "invalid config"),
        ({"config": {"gpu_layers": 5}}, "'llamacpp'"),
        ({"config": {"options": 5}}, "config.options"),
        ({"config": {"budget_mb": -5}}, "config.budget_mb"),
        ({"config": {"mode": "fast"}}, "config.mode"),
        ({"config": {"deterministic": 1}}, "config.deterministic"),
        ({"config": {"vllm_version": "1"}}, "vllm_version"),
        ({"config": {"command": "rm -rf /"}}, "begins with 'llama-server'"),
        ({"config": {"command": "sh -c 'llama-server'"}}, "begins with 'llama-server'"),
        ({"config": {"command": "llama-server 'a"}}, "No closing quotation"),
        ({"config": {"command": "llama-server -m m --api-key=x"}}, "expected no --api-key"),
        ({"config": {"command": 5}}, "config.command"),
        ({"backend": "vllm", "config": {"command": "/tmp/vllm serve"}}, "begins with 'vllm'"),
        ({"execution_policy": "sometimes"}, "invalid execution_policy"),
        ({"execution_policy_config": {"replicas": -1}}, "replicas"),
        ({"execution_policy_config": {"min_workers": 1}}, "min_workers"),
        (AUTO, "missing max_workers"),
        ({**AUTO, "execution_policy_config": {"min_workers": 3, "max_workers": 2}}, "min_workers"),
        (
            {**AUTO, "execution_policy_config": {"max_workers": 2, "max_hourly_cost_usd": 0}},
            "max_hourly_cost",
        ),
        ({**AUTO, "execution_policy_config": {"max_workers": True}}, "max_workers"),
        (CRON, "exactly one of cron"),
        ({**CRON, "execution_policy_config": {"cron": "0 0 30 2 *"}}, "invalid cron"),
        ({**CRON, "execution_policy_config": {"cron": "x"}}, "invalid cron"),
        ({**CRON, "execution_policy_config": {"cron": 5}}, "invalid cron"),
        ({**CRON, "execution_policy_config": {"cron": "* * * * *", "window": {}}}, "exactly one of cron"),
        ({**CRON, "execution_policy_config": {"window": {"start": "25:00", "end": "01:00"}}}, "window.start"),
        ({**CRON, "execution_policy_config": {"window": {"start": "01:00", "end": "01:00"}}}, "window.end"),
        ({**CRON, "execution_policy_config": {"cron": "* * * * *", "minutes": 0}}, "minutes"),
    ],
)
def test_invalid_workloads_are_refused(shared: Control, change: dict[str, Any], what: str) -> None:
    token = shared.token()
    answer = shared.ask("POST", WORKLOADS, token, {**BODY, **change})
    assert answer.status_code == 400 and what in answer.json()["message"]
    assert "b" * 64 not in answer.text
    made = shared.ask("POST", WORKLOADS, token, BODY).json()
    changed = {name: value for name, value in change.items() if name != "slug"}
    if changed:
        answer = shared.ask("PATCH", f"/api/workloads/{made['id']}", token, changed)
        assert answer.status_code == 400
    assert [one["id"] for one in shared.ask("GET", WORKLOADS, token).json()] == [made["id"]]


@pytest.mark.parametrize(
    "content, status", [(b"", 400), (b"{", 400), (b"[]", 400), (b"5", 400), (b" " * (2 << 20), 413)]
)
def test_bodies_that_are_no_workload(shared: Control, content: bytes, status: int) -> None:
    assert shared.ask("POST", WORKLOADS, shared.token(), content=content).status_code == status


@pytest.mark.row("D-029", "D-030", "D-193")
def test_what_cannot_be_changed(shared: Control) -> None:
    token = shared.token()
    made = shared.ask("POST", WORKLOADS, token, BODY).json()
    path = f"/api/workloads/{made['id']}"
    for change in ({"task_type": "embedding"}, {"slug": "other"}):
        answer = shared.ask("PATCH", path, token, change)
        assert answer.status_code == 400 and "cannot be changed" in answer.json()["message"]
    answer = shared.ask("PATCH", path, token, {"execution_policy": "autoscaling"})  # without its settings
    assert answer.status_code == 400
    assert shared.ask("PATCH", path, token, {"name": None}).status_code == 400
    same = shared.ask("PATCH", path, token, {"slug": "smith", "task_type": "text2text", "name": "Smith"})
    assert same.status_code == 200 and same.json()["updated_at"] == made["updated_at"]


@pytest.mark.row("D-103")
def test_shell_characters_are_arguments(shared: Control) -> None:
    command = "llama-server -m m.gguf --alias 'a; rm -rf / $(x) `y` | z > w'"
    body = {**BODY, "slug": "shell", "config": {"command": command}}
    answer = shared.ask("POST", WORKLOADS, shared.token(), body)
    assert answer.status_code == 201 and answer.json()["config"]["command"] == command


def at(text: str) -> float:
    """Returns a point in time of 2026, in UTC."""
    return datetime.strptime(f"2026-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc).timestamp()


@pytest.mark.row("D-174", "D-175", "D-176", "D-177")
@pytest.mark.parametrize(
    "policy, config, when, expected",
    [
        ("fixed", {}, "11-30 10:00", 1),
        ("fixed", {"replicas": 0}, "11-30 10:00", 0),
        ("scheduled", {"window": {"start": "18:00", "end": "23:00"}, "replicas": 2}, "11-30 17:59", 0),
        ("scheduled", {"window": {"start": "18:00", "end": "23:00"}, "replicas": 2}, "11-30 18:00", 2),
        ("scheduled", {"window": {"start": "18:00", "end": "23:00"}}, "11-30 23:00", 0),
        ("scheduled", {"window": {"start": "22:00", "end": "02:00"}}, "11-30 01:59", 1),
        ("scheduled", {"window": {"start": "22:00", "end": "02:00"}}, "11-30 02:00", 0),
        ("scheduled", {"cron": "0 18 * * 5", "minutes": 180}, "12-04 18:00", 1),
        ("scheduled", {"cron": "0 18 * * 5", "minutes": 180}, "12-04 20:59", 1),
        ("scheduled", {"cron": "0 18 * * 5", "minutes": 180}, "12-04 21:00", 0),
        ("scheduled", {"cron": "0 18 * * 5", "minutes": 180}, "12-03 18:00", 0),
    ],
)
def test_replicas_of_a_policy(policy: str, config: dict[str, Any], when: str, expected: int) -> None:
    policies.check(policy, config)
    assert policies.replicas(policy, config, at(when)) == expected


@pytest.mark.parametrize(
    "config", [{"minutes": 5, "window": {"start": "01:00", "end": "02:00"}}, {"cron": ""}]
)
def test_contradictions(config: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        policies.check("scheduled", config)
