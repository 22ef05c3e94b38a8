"""The control plane's interface, with both stores: workloads, tokens, scopes, readiness."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import inferencekey
import pytest

import sotto.fleet as fleet
from fleet_control import Control, FakePlacement
from fleet_mock import spec
from fleet_upstream import Upstream

WORKLOADS = "/api/projects/acme/workloads"
BODY = {"name": "Smith", "slug": "My Smith", "backend": "llamacpp", "model_name": "sotto/house"}


@pytest.mark.row("D-191", "D-192", "D-193", "D-194", "D-196", "D-022", "D-150", "D-147", "D-148", "D-149")
def test_the_life_of_a_workload(control: Control) -> None:
    token = control.token()
    assert control.ask("GET", WORKLOADS, token).json() == []
    made = control.ask("POST", WORKLOADS, token, BODY)
    record = made.json()
    assert made.status_code == 201
    assert {name: record[name] for name in BODY} == {**BODY, "slug": "my-smith"}
    assert record["task_type"] == "text2text" and record["execution_policy"] == "fixed"
    for name in ("description", "worker_id", "gpu_resource_id"):
        assert record[name] is None
    assert set(record) >= {
        "id",
        "project_id",
        "config",
        "execution_policy_config",
        "created_at",
        "updated_at",
    }
    again = control.ask("POST", WORKLOADS, token, {**BODY, "slug": "my-smith"})
    assert again.status_code == 200 and again.json()["id"] == record["id"]
    taken = control.ask("POST", WORKLOADS, token, {**BODY, "model_name": "other"})
    assert taken.status_code == 409 and "model_name" in taken.json()["message"]
    path = f"/api/workloads/{record['id']}"
    changed = control.ask("PATCH", path, token, {"model_name": "b", "backend": "vllm"}).json()
    assert changed["model_name"] == "b" and changed["updated_at"] > record["updated_at"]
    assert [one["backend"] for one in control.ask("GET", WORKLOADS, token).json()] == ["vllm"]
    assert control.ask("GET", f"{WORKLOADS}/My%20Smith", token).json()["id"] == record["id"]
    control.deployed("my-smith")
    gone = control.ask("DELETE", path, token)
    assert gone.status_code == 204 and gone.content == b""
    assert control.placement.calls[-1] == ("remove", "my-smith") and control.placement.current == {}
    for method in ("GET", "PATCH", "DELETE"):
        assert control.ask(method, path, token, {}).status_code == 404


@pytest.mark.row("D-036", "D-018")
@pytest.mark.parametrize("package", [fleet, inferencekey])
def test_16_clients_that_ensure_one_slug_make_one_workload(control: Control, package: Any) -> None:
    token = control.token()
    barrier = threading.Barrier(16)

    def ensure(_: int) -> str:
        client = package.ManagementClient(base_url=control.url, sdk_token=token, project="acme")
        barrier.wait()
        made: str = client.ensure(package.WorkloadSpec("Smith", "My Smith", "m", "llamacpp")).workload_slug
        return made

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ensure, range(16))) == {"my-smith"}
    assert len(control.ask("GET", WORKLOADS, token).json()) == 1


@pytest.mark.row("D-058", "D-184", "D-185", "D-186", "D-179", "D-180", "D-190")
@pytest.mark.parametrize("package", [fleet, inferencekey])
def test_codes_of_refused_tokens(control: Control, package: Any) -> None:
    sdk, live, other = control.token(), control.token("live"), control.token(project="other")
    reader = control.token(scopes=["workloads:read"])
    client = package.ManagementClient(base_url=control.url, sdk_token=sdk, project="acme")
    client.ensure(package.WorkloadSpec("Smith", "smith", "m", "llamacpp"))
    id = control.ask("GET", WORKLOADS, sdk).json()[0]["id"]

    def denied(token: str, action: str) -> Any:
        one = package.ManagementClient(base_url=control.url, sdk_token=token, project="acme")
        with pytest.raises(package.PermissionDenied) as failed:
            if action == "ensure":
                one.ensure(package.WorkloadSpec("Smith", "second", "m", "llamacpp"))
            elif action == "delete":
                one.delete("smith")
            else:
                one.wait_until_ready("smith", silent=True)
        return str(failed.value)

    for action in ("ensure", "delete", "wait"):
        assert "project_scope_mismatch" in denied(other, action)
        assert "wrong_credential_type" in denied(live, action)
    for action in ("ensure", "delete"):
        assert "scope_insufficient" in denied(reader, action)
    assert control.ask("DELETE", f"/api/workloads/{id}", other).json()["code"] == "project_scope_mismatch"
    elsewhere = control.token("live", workload="elsewhere")
    keys = {
        elsewhere: "project_scope_mismatch",
        control.token("live", project="other"): "project_scope_mismatch",
    }
    for key, code in keys.items():
        data = package.DataClient(base_url=control.url, project="acme", api_key=key)
        with pytest.raises(package.PermissionDenied, match=code):
            data.endpoint("smith").generate_text(prompt="a")
    answer = control.ask("POST", "/endpoint/acme/smith/v1/embeddings", sdk, {"input": ["a"]})
    assert (answer.status_code, answer.json()["error"]) == (403, "wrong_credential_type")


@pytest.mark.row("D-180", "D-199", "D-188")
def test_tokens_that_are_none(control: Control) -> None:
    token = control.token()
    other = token.replace("ik_sdk_", "ik_live_")
    wrong = ["x", token[:-1], token + "0", token.upper(), token[:40], other, "ik_sdk_" + "é" * 8, "a b"]
    wrong += [f"ik_sdk_00000000_{token[16:]}", token[:16] + "0" * 64]
    headers = ["Bearer", "Basic YTpi", token, *(f"Bearer {one}" for one in wrong)]
    for header in (None, *headers):
        answer = _get(control, {} if header is None else {"Authorization": header.encode()})
        assert answer.status_code == 401, header
        assert answer.json()["code"] == "unauthorized" and "www-authenticate" in answer.headers
        assert token[20:] not in answer.text
    assert control.ask("GET", WORKLOADS, token).status_code == 200


def _get(control: Control, headers: Any) -> Any:
    with httpx2.Client(trust_env=False, verify=False) as http:
        return http.get(control.url + WORKLOADS, headers=headers)


@pytest.mark.row("D-199")
def test_the_store_has_no_secret(control: Control) -> None:
    token = control.token()

    async def rows() -> str:
        listed = await control.service.tokens.all("acme")
        return json.dumps([{name: str(value) for name, value in vars(one).items()} for one, _ in listed])

    text = control.run(rows())
    assert token[7:15] in text and token[16:] not in text


@pytest.mark.row("D-199")
@pytest.mark.parametrize("kind", ["sdk", "live"])
def test_a_revoked_token_is_refused_within_a_second(database: str, kind: str) -> None:
    """Two control planes on one store: one revokes; requests that are sent a second later fail at both."""
    path = {"sdk": WORKLOADS, "live": "/endpoint/acme/smith/v1/models"}[kind]
    method = {"sdk": "GET", "live": "POST"}[kind]
    with (
        Upstream() as upstream,
        Control(database, FakePlacement(upstream.url)) as first,
        Control(database, FakePlacement(upstream.url)) as second,
    ):
        client = fleet.ManagementClient(base_url=first.url, sdk_token=first.token(), project="acme")
        client.ensure(spec())
        client.wait_until_ready("smith", timeout=30, silent=True)
        token, other = first.token(kind), first.token(kind)
        id = token.split("_")[2]
        for one in (first, second):
            assert [one.ask(method, path, key, {}).status_code for key in (token, other)] == [200, 200]
        assert first.run(first.service.tokens.revoke(id)) is True
        revoked = time.monotonic()
        assert first.ask(method, path, token, {}).status_code == 401
        while True:
            sent = time.monotonic()
            if second.ask(method, path, token, {}).status_code == 401:
                break
            assert sent - revoked < 1.0
        for one in (first, second):
            assert [one.ask(method, path, key, {}).status_code for key in (token, other)] == [401, 200]
        assert first.run(first.service.tokens.revoke(id)) is False


@pytest.mark.row("D-129", "D-130", "D-131", "D-132", "D-050", "D-195", "D-043", "D-128", "D-046")
@pytest.mark.parametrize("package", [fleet, inferencekey])
def test_phases(control: Control, package: Any) -> None:
    control.placement.automatic = False
    client = package.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
    client.ensure(package.WorkloadSpec("Smith", "smith", "m", "llamacpp"))
    control.deployed("smith")
    seen: list[Any] = []
    progress = iter(
        [
            ("provisioning", "buying a machine", None),
            ("bootstrapping", "loading \x1b[31mm", "model_load"),
            ("bootstrapping", "secret step", "not allow-listed"),
            ("ready", "serving", None),
        ]
    )

    def take(event: Any) -> None:
        seen.append(event)
        if (following := next(progress, None)) is not None:
            control.say("smith", *following)

    client.wait_until_ready("smith", timeout=20, on_progress=take)
    phases = [(one.phase, one.message, one.step) for one in seen]
    assert phases == [
        ("scheduling", "waiting for a worker", None),
        ("provisioning", "buying a machine", None),
        ("bootstrapping", "loading [31mm", "model_load"),
        ("bootstrapping", "secret step", None),
        ("ready", "serving", None),
    ]
    assert [one.elapsed_ms for one in seen] == sorted(one.elapsed_ms for one in seen)
    late: list[Any] = []
    client.wait_until_ready("smith", timeout=5, on_progress=late.append)  # a snapshot when one connects
    assert [one.phase for one in late] == ["ready"]


@pytest.mark.row("D-133", "D-044")
@pytest.mark.parametrize("package", [fleet, inferencekey])
def test_an_error_phase(control: Control, package: Any) -> None:
    control.placement.automatic = False
    client = package.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
    client.ensure(package.WorkloadSpec("Smith", "smith", "m", "llamacpp"))
    control.deployed("smith")
    control.say("smith", "error", "m needs 9 MB, the node has 8 MB")
    with pytest.raises(package.ApiError, match="m needs 9 MB"):
        client.wait_until_ready("smith", timeout=20, silent=True)
    client.delete("smith")
    with pytest.raises(package.ApiError):
        client.wait_until_ready("smith", timeout=20, silent=True)


@pytest.mark.row("D-040", "D-045")
def test_a_workload_that_is_deleted_while_one_waits(control: Control) -> None:
    control.placement.automatic = False
    client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
    client.ensure(spec())
    with pytest.raises(TimeoutError):
        client.wait_until_ready("smith", timeout=0.5, silent=True)
    threading.Timer(0.3, lambda: control.ask("DELETE", _path(control), control.token())).start()
    with pytest.raises(fleet.ApiError, match="the workload was deleted"):
        client.wait_until_ready("smith", timeout=20, silent=True)


def _path(control: Control) -> str:
    return f"/api/workloads/{control.ask('GET', WORKLOADS, control.token()).json()[0]['id']}"


@pytest.mark.row("D-024", "D-030", "D-109", "D-110", "D-107")
def test_changes_reach_the_placement(control: Control) -> None:
    client = fleet.ManagementClient(base_url=control.url, sdk_token=control.token(), project="acme")
    client.ensure(spec(worker_id="n1", gpu_resource_id="gpu0"))
    first = control.deployed("smith")
    assert (first.generation, first.worker_id, first.gpu_resource_id) == (1, "n1", "gpu0")
    client.ensure(spec(name="Other", description="d", worker_id="n1"))
    client.ensure(spec(execution_policy="fixed", execution_policy_config={"replicas": 3}))
    _until(lambda: control.deployed("smith").replicas == 3)
    assert control.deployed("smith").generation == 1  # the same process
    client.ensure(spec(model="b"))
    _until(lambda: control.deployed("smith").generation == 2)
    bounds = {"min_workers": 4, "max_workers": 5, "max_hourly_cost_usd": 1.5}
    client.ensure(spec(model="b", execution_policy="autoscaling", execution_policy_config=bounds))
    _until(lambda: control.deployed("smith").replicas == 4)


def _until(done: Any) -> None:
    end = time.monotonic() + 10
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nodes_and_health(control: Control) -> None:
    token = control.token()
    _until(lambda: control.ask("GET", "/api/projects/acme/nodes", token).json())  # noted after the start
    found = control.ask("GET", "/api/projects/acme/nodes", token).json()
    assert [(one["id"], one["cores"], one["gpus"]) for one in found] == [("n1", 8, ["gpu0"])]
    assert control.ask("GET", "/health").json()["status"] == "ok"
    assert control.ask("GET", "/nowhere").status_code == 404
    assert control.ask("PUT", WORKLOADS).status_code == 405
