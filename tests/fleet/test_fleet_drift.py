"""`ensure()` of a workload that differs from its spec, on a double of the control plane."""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest

import sotto.fleet as fleet
from fleet_faces import Face
from fleet_mock import FakePlane, spec
from sotto.fleet import OnDrift


@pytest.mark.row("D-016", "D-024", "D-167", "D-168", "D-169", "D-170", "D-171", "D-172")
@pytest.mark.parametrize("form", [OnDrift, str])
@pytest.mark.parametrize("name", [one.value for one in OnDrift])
def test_drift(plane: FakePlane, face: Face, caplog: pytest.LogCaptureFixture, name: str, form: Any) -> None:
    client, policy = face.client(plane.url), form(name)
    caplog.set_level(logging.INFO, "sotto.fleet")
    client.ensure(spec(model="one"))
    assert client.ensure(spec(model="one"), on_drift=policy).plan.action == "none"
    caplog.clear()
    before = copy.deepcopy(plane.workloads)
    if name == "fail":
        with pytest.raises(fleet.ValidationError, match="drifted from spec: model_name"):
            client.ensure(spec(model="two"), on_drift=policy)
    else:
        ref = client.ensure(spec(model="two"), on_drift=policy)
        assert ref.plan.action == "update" and ref.plan.changes == {"model_name": ("one", "two")}
    if name == "reconcile":
        assert plane.writes[-1].body == {"model_name": "two"}
        assert plane.workloads["w0"]["model_name"] == "two"
        assert client.ensure(spec(model="two")).plan.action == "none" and len(plane.writes) == 2
    else:
        assert plane.workloads == before and len(plane.writes) == 1
    logged = [record.levelname for record in caplog.records if "model_name" in record.message]
    assert logged == {"warn": ["WARNING"], "dry_run": ["INFO"]}.get(name, [])


@pytest.mark.row("D-026")
def test_a_dry_run_creates_nothing(plane: FakePlane, face: Face) -> None:
    ref = face.client(plane.url).ensure(spec(), on_drift="dry_run")
    assert ref.plan.action == "create" and plane.writes == []


@pytest.mark.row("D-016", "D-081")
def test_an_unknown_policy_is_refused(plane: FakePlane, face: Face) -> None:
    with pytest.raises(fleet.ValidationError, match="invalid on_drift 'zzz': expected one of reconcile"):
        face.client(plane.url).ensure(spec(), on_drift="zzz")
    assert plane.requests == []


@pytest.mark.row("D-029", "D-030")
@pytest.mark.parametrize(
    "field, first, second, sent",
    [
        ("name", "a", "b", {"name": "b"}),
        ("model", "a", "b", {"model_name": "b"}),
        ("backend", "vllm", "sglang", {"backend": "sglang"}),
        ("description", None, "b", {"description": "b"}),
        ("config", {"a": 1}, {"b": 1}, {"config": {"b": 1}}),
        ("command", "vllm a", "vllm b", {"config": {"command": "vllm b"}}),
        ("worker_id", "a", "b", {"worker_id": "b"}),
        ("gpu_resource_id", "a", "b", {"gpu_resource_id": "b"}),
        (
            "execution_policy_config",
            {"replicas": 1},
            {"replicas": 2},
            {"execution_policy_config": {"replicas": 2}},
        ),
        (
            "execution_policy",
            "fixed",
            "autoscaling",
            {"execution_policy": "autoscaling", "execution_policy_config": {}},
        ),
    ],
)
def test_each_field_is_compared(
    plane: FakePlane, face: Face, field: str, first: Any, second: Any, sent: dict[str, Any]
) -> None:
    client = face.client(plane.url)
    client.ensure(spec(**{field: first}))
    client.ensure(spec(**{field: second}))
    assert plane.writes[-1].body == sent
    writes = len(plane.writes)
    if field not in ("name", "model", "backend"):
        client.ensure(spec(**{field: None}))  # unset: never differs
        assert len(plane.writes) == writes


def test_a_command_alone_keeps_the_rest_of_the_config(plane: FakePlane, face: Face) -> None:
    client = face.client(plane.url)
    client.ensure(spec(backend="vllm", config={"a": 1}, command="vllm x"))
    client.ensure(spec(backend="vllm", command="vllm y"))
    assert plane.writes[-1].body == {"config": {"a": 1, "command": "vllm y"}}
