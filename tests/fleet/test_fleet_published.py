"""One script, two packages: where `sotto.fleet` and the published `inferencekey` differ, and that is all."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import inferencekey
import pytest

import sotto.fleet as fleet
from client_mock import Reply, delta, events, stream
from fleet_control import Control
from fleet_faces import SDK
from fleet_mock import FakePlane, told

PACKAGES = pytest.mark.parametrize("package", [fleet, inferencekey])


@PACKAGES
@pytest.mark.row("D-014", "D-015", "D-018", "D-021", "D-024", "D-028", "D-053", "D-055", "D-101", "D-102")
def test_the_same_script(control: Control, package: Any) -> None:
    """What both packages do alike, on the control plane."""
    mgmt = package.ManagementClient(base_url=control.url + "/", sdk_token=control.token(), project="acme")
    spec = package.WorkloadSpec(
        name="Smith", slug="The Smith", model="m", backend=package.Backend.VLLM, command="vllm serve m",
        vllm_version="0.9", description="d", task_type=package.TaskType.TEXT2TEXT,
        execution_policy=package.ExecutionPolicy.AUTOSCALING, worker_id="n1", gpu_resource_id="gpu0",
        execution_policy_config={"max_workers": 2, "max_hourly_cost_usd": 1.5},
    )  # fmt: skip
    for policy in package.OnDrift:
        if policy != "dry_run":
            assert mgmt.ensure(spec, on_drift=policy) == package.EndpointRef("acme", "the-smith")
    mgmt.wait_until_ready("the-smith", timeout=30, silent=True)
    made = record(control)
    assert made["config"] == {"command": "vllm serve m", "vllm_version": "0.9"}
    assert (made["worker_id"], made["gpu_resource_id"]) == ("n1", "gpu0")
    changed = package.WorkloadSpec(name="Smith", slug="the-smith", model="b", backend="vllm")
    for policy in ("ignore", "warn", package.OnDrift.DRY_RUN):
        mgmt.ensure(changed, on_drift=policy)
        assert record(control)["model_name"] == "m"
    mgmt.ensure(changed)
    assert record(control)["model_name"] == "b" and record(control)["config"] == made["config"]
    mgmt.wait_until_ready("the-smith", timeout=30, silent=True)
    with pytest.raises(package.ValidationError):
        mgmt.ensure(package.WorkloadSpec(name="n", slug="x", model="m", backend="vllm", worker_id="\x00"))
    with pytest.raises(package.ValidationError):
        mgmt.ensure(changed, on_drift="zzz")
    assert mgmt.delete("the-smith") is True and mgmt.delete("the-smith") is False
    with pytest.raises(package.ApiError):
        mgmt.wait_until_ready("the-smith", timeout=30, silent=True)


def record(control: Control) -> dict[str, Any]:
    """Returns the one workload."""
    (found,) = control.ask("GET", "/api/projects/acme/workloads", control.token()).json()
    return dict(found)


def outcome(work: Callable[[], Any]) -> str:
    """Returns the name of the exception that `work` raises, or "returns"."""
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return "returns"


@pytest.mark.row("D-025", "D-026", "D-032", "D-033", "D-059", "D-100", "D-179", "D-180")
@pytest.mark.parametrize(
    "case, published, ours",
    [
        ("Q15 fail", "ApiError", "ValidationError"),
        ("Q16", "PermissionDenied", "AuthError"),
        ("Q17", "forbidden", "scope_insufficient"),
        ("Q18 config", "{}", "{'a': 1}"),
        ("Q18 token", "returns", "ConfigurationError"),
        ("Q18 blank", "returns", "ValidationError"),
        ("Q18 backend", "returns", "ValidationError"),
        ("Q19", "False", "True"),
        ("Q20", "late", "in time"),
        ("Q21", "False", "True"),
        ("Q23", "returns", "ApiError"),
    ],
)
def test_the_differences(plane: FakePlane, case: str, published: str, ours: str) -> None:
    assert _case(inferencekey, plane, case) == published
    plane.failure = None
    plane.workloads.clear()
    assert _case(fleet, plane, case) == ours


def _case(package: Any, plane: FakePlane, case: str) -> str:
    mgmt = package.ManagementClient(base_url=plane.url, sdk_token=SDK, project="acme")

    def spec(**fields: Any) -> Any:
        return package.WorkloadSpec(
            **{"name": "n", "slug": "My Smith", "model": "m", "backend": "vllm", **fields}
        )

    if case == "Q15 fail":
        mgmt.ensure(spec())
        return outcome(lambda: mgmt.ensure(spec(model="other"), on_drift="fail"))
    if case == "Q16":
        plane.fail(401, {"error": "unauthorized"})
        return outcome(lambda: mgmt.ensure(spec()))
    if case == "Q17":
        plane.fail(403, {"error": {"code": "scope_insufficient", "message": "m"}})
        with pytest.raises(package.PermissionDenied) as failed:
            mgmt.ensure(spec())
        return str(failed.value).split("[")[1].split("]")[0]
    if case == "Q18 config":
        mgmt.ensure(spec(config={"a": 1}))
        return str(plane.workloads["w0"].get("config"))
    changes = {"token": {"description": SDK}, "blank": {"name": " "}, "backend": {"backend": "tgi"}}
    if case.startswith("Q18"):
        return outcome(lambda: mgmt.ensure(spec(**changes[case.split()[1]])))
    if case == "Q19":
        mgmt.ensure(spec())
        return str(mgmt.delete("My Smith"))
    if case in ("Q20", "Q21"):
        return _late(package, plane, mgmt, case)
    plane.chat = stream(events(delta("a"), done=False))
    key = "ik_live_01234567_" + "c" * 64
    endpoint = package.DataClient(base_url=plane.url, project="acme", api_key=key).endpoint("smith")
    result = outcome(lambda: list(endpoint.generate_text_stream(prompt="a")))
    plane.chat = Reply({})
    return result


def _late(package: Any, plane: FakePlane, mgmt: Any, case: str) -> str:
    """A wait of half a second, in which no event comes for 1.5 seconds."""

    def pieces() -> Any:
        yield b'data: {"phase": "scheduling", "message": "m"}\n\n'
        time.sleep(1.5)
        yield b'data: {"phase": "scheduling", "message": "m"}\n\n'

    plane.readiness = [Reply(pieces(), headers={"Content-Type": "text/event-stream"}), told("scheduling")]
    began = time.monotonic()
    with pytest.raises(TimeoutError) as failed:
        mgmt.wait_until_ready("smith", timeout=0.5, silent=True)
    if case == "Q21":
        return str(isinstance(failed.value, package.InferenceKeyError))
    return "late" if time.monotonic() - began > 1.2 else "in time"


@pytest.mark.row("D-001", "D-003", "D-014", "D-037", "D-053", "D-062", "D-070", "D-075", "D-083", "D-089")
def test_the_same_parameters() -> None:
    for name in ("ManagementClient", "DataClient", "Endpoint"):
        published, ours = getattr(inferencekey, name), getattr(fleet, name)
        for method in [one for one in vars(published) if not one.startswith("_")]:
            assert parameters(getattr(published, method)) == parameters(getattr(ours, method)), method
    for name in ("WorkloadSpec", "EndpointRef", "TextResult", "TextChunk", "EmbedResult", "ReadinessEvent"):
        assert parameters(getattr(inferencekey, name)) == parameters(getattr(fleet, name))
    for name in ("Backend", "TaskType", "OnDrift", "ExecutionPolicy"):
        published = {one.name: one.value for one in getattr(inferencekey, name)}
        assert published == {one.name: one.value for one in getattr(fleet, name)}


def parameters(function: Any) -> list[tuple[str, int, str]]:
    """Returns name, kind and default of each parameter."""
    found = inspect.signature(function).parameters.values()
    return [(one.name, int(one.kind), str(one.default)) for one in found]
