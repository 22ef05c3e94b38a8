"""`ManagementClient`: construction, `ensure()`, `delete()`, on a double of the control plane."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
from typing import Any

import pytest

import sotto.fleet as fleet
from fleet_faces import LIVE, SDK, Face
from fleet_mock import FakePlane, spec
from sotto.fleet import Backend, OnDrift


@pytest.mark.row("D-003", "D-014", "D-053", "D-062", "D-070", "D-075", "D-083", "D-089", "D-008", "D-066")
def test_signatures_are_those_of_the_reference() -> None:
    def names(function: Any) -> list[tuple[str, Any, Any]]:
        found = inspect.signature(function).parameters.values()
        return [(one.name, one.kind.name[0], one.default) for one in found if one.name not in ("self", "cls")]

    none, empty = None, inspect.Parameter.empty
    texts = [("prompt", "K", none), ("messages", "K", none), ("temperature", "K", none)]
    expected: dict[Any, Any] = {
        fleet.ManagementClient.__init__: [
            ("base_url", "K", empty), ("sdk_token", "K", empty), ("project", "K", none),
        ],
        fleet.ManagementClient.from_env: [
            ("base_url", "K", none), ("project", "K", none), ("sdk_token", "K", none),
        ],
        fleet.ManagementClient.ensure: [
            ("spec", "P", empty), ("on_drift", "K", OnDrift.RECONCILE), ("project", "K", none),
        ],
        fleet.ManagementClient.wait_until_ready: [
            ("workload_slug", "P", empty), ("project", "K", none), ("timeout", "K", 600.0),
            ("on_progress", "K", none), ("silent", "K", False),
        ],
        fleet.ManagementClient.delete: [("workload_slug", "P", empty), ("project", "K", none)],
        fleet.DataClient.__init__: [
            ("base_url", "K", empty), ("project", "K", empty), ("api_key", "K", none),
            ("resume_timeout", "K", 60.0),  # not of the reference
        ],
        fleet.DataClient.from_env: [("base_url", "K", none), ("project", "K", none), ("api_key", "K", none)],
        fleet.DataClient.endpoint: [("workload_slug", "P", empty), ("api_key", "K", none)],
        fleet.Endpoint.generate_text: [*texts, ("max_tokens", "K", none)],
        fleet.Endpoint.generate_text_stream: [*texts, ("max_tokens", "K", none)],
        fleet.Endpoint.embed: [("input", "K", empty)],
    }  # fmt: skip
    assert {function.__qualname__: names(function) for function in expected} == {
        function.__qualname__: wanted for function, wanted in expected.items()
    }
    for name in ("ManagementClient", "DataClient", "Endpoint"):
        twin, own = getattr(fleet, f"Async{name}"), getattr(fleet, name)
        for method in [one for one in vars(own) if not one.startswith("_") and callable(getattr(own, one))]:
            assert names(getattr(twin, method)) == names(getattr(own, method))


@pytest.mark.row("D-002")
def test_each_plane_has_its_own_methods() -> None:
    for name in ("generate_text", "generate_text_stream", "embed", "endpoint"):
        assert not hasattr(fleet.ManagementClient, name)
    for name in ("ensure", "delete", "wait_until_ready"):
        assert not hasattr(fleet.DataClient, name) and not hasattr(fleet.Endpoint, name)


@pytest.mark.row("D-003", "D-004", "D-006", "D-046")
def test_construction(plane: FakePlane, face: Face) -> None:
    with pytest.raises(TypeError):
        face.management("http://127.0.0.1", SDK)
    with pytest.raises(TypeError):
        face.management(sdk_token=SDK)
    client = face.client(plane.url + "/")
    assert client.base_url == plane.url and client.project == "acme"
    client.ensure(spec())
    assert plane.requests[0].path == "/api/projects/acme/workloads"
    assert plane.last.headers["authorization"] == f"Bearer {SDK}"
    assert SDK[16:] not in repr(client)


@pytest.mark.row("D-005", "D-007", "D-182", "D-178")
@pytest.mark.parametrize("token", ["", "   ", "\n"])
def test_a_blank_token_is_refused_before_any_request(face: Face, token: str) -> None:
    with pytest.raises(fleet.ConfigurationError, match="invalid sdk_token"):
        face.management(base_url="http://127.0.0.1:9", sdk_token=token)
    with pytest.raises(fleet.ConfigurationError, match="INFERENCEKEY_SDK_TOKEN"):
        face.management.from_env(project="acme")


@pytest.mark.parametrize(
    "url", ["", "nonsense", "ftp://x", "http://", "http://a b", "http://u:p@h", "http://h?q"]
)
def test_an_address_that_is_none_is_refused(face: Face, url: str) -> None:
    with pytest.raises(fleet.ConfigurationError, match="invalid base_url"):
        face.management(base_url=url, sdk_token=SDK)
    with pytest.raises(fleet.ConfigurationError, match="invalid base_url"):
        face.data(base_url=url, project="acme")


@pytest.mark.row("D-008", "D-009", "D-010", "D-011", "D-012", "D-013")
@pytest.mark.parametrize("explicit, variable", list(itertools.product([True, False], [None, "", "set"])))
def test_from_env(face: Face, monkeypatch: pytest.MonkeyPatch, explicit: bool, variable: str | None) -> None:
    token = SDK.replace("a" * 64, "c" * 64)
    if variable is not None:
        given = {"BASE_URL": "http://env:1", "PROJECT": "env", "SDK_TOKEN": token}
        for name, value in given.items():
            monkeypatch.setenv(f"INFERENCEKEY_{name}", value if variable else "")
    if explicit:
        client = face.management.from_env(base_url="http://own:2", project="own", sdk_token=SDK)
        assert (client.base_url, client.project) == ("http://own:2", "own")
    elif variable:
        client = face.management.from_env()
        assert (client.base_url, client.project) == ("http://env:1", "env")
    else:
        client = face.management.from_env(sdk_token=SDK)
        assert (client.base_url, client.project) == ("https://api.inferencekey.com", None)
        monkeypatch.setenv("INFERENCEKEY_SDK_TOKEN", token)
        client = face.management.from_env(project="acme")
        assert client.project == "acme"


@pytest.mark.row("D-015", "D-018", "D-021", "D-095", "D-097", "D-098", "D-099", "D-100", "D-111", "D-112")
def test_ensure_creates_once(plane: FakePlane, face: Face) -> None:
    client, wanted = face.client(plane.url), spec(slug="My Slug!")
    before = copy.deepcopy(wanted)
    ref = client.ensure(wanted)
    assert wanted == before
    assert (ref.project_slug, ref.workload_slug) == ("acme", "my-slug")
    assert ref == fleet.EndpointRef("acme", "my-slug") and ref.plan.action == "create"
    assert plane.writes[0].body == {
        "name": "Smith", "slug": "my-slug", "task_type": "text2text", "backend": "llamacpp",
        "model_name": "m",
    }  # fmt: skip
    assert client.ensure(spec(slug="my-slug")) == ref and len(plane.writes) == 1
    client.ensure(spec(slug="MY slug", name="Other"))
    assert len(plane.workloads) == 1 and plane.writes[-1].body == {"name": "Other"}


@pytest.mark.row("D-101", "D-102", "D-103", "D-104", "D-105", "D-106", "D-107", "D-108", "D-109", "D-110")
def test_every_field_is_sent(plane: FakePlane, face: Face) -> None:
    client = face.client(plane.url)
    full = spec(
        backend=Backend.VLLM, project="other", description="d", command="vllm serve m", vllm_version="0.9",
        task_type=fleet.TaskType.EMBEDDING, config={"a": 1}, execution_policy="autoscaling", worker_id="w",
        execution_policy_config={"min_workers": 1, "max_workers": 2}, gpu_resource_id="g",
    )  # fmt: skip
    client.ensure(full)
    assert plane.last.path == "/api/projects/other/workloads"
    assert plane.last.body == {
        "name": "Smith", "slug": "smith", "task_type": "embedding", "backend": "vllm", "model_name": "m",
        "description": "d", "config": {"a": 1, "command": "vllm serve m", "vllm_version": "0.9"},
        "worker_id": "w", "gpu_resource_id": "g", "execution_policy": "autoscaling",
        "execution_policy_config": {"min_workers": 1, "max_workers": 2},
    }  # fmt: skip
    client.ensure(full)
    assert len(plane.writes) == 1


@pytest.mark.row("D-006", "D-017", "D-019", "D-020", "D-182")
@pytest.mark.parametrize(
    "argument, field, own", list(itertools.product([None, "arg"], [None, "spec"], [None, "own"]))
)
def test_project_resolution(
    plane: FakePlane, face: Face, argument: str | None, field: str | None, own: str | None
) -> None:
    client, expected = face.client(plane.url, own), argument or field or own
    if expected is None:
        with pytest.raises(fleet.ConfigurationError, match="no project"):
            client.ensure(spec(project=field), project=argument)
        assert plane.requests == []
        return
    assert client.ensure(spec(project=field), project=argument).project_slug == expected
    assert plane.requests[0].path == f"/api/projects/{expected}/workloads"


@pytest.mark.row("D-032", "D-188")
@pytest.mark.parametrize(
    "field, value",
    [
        ("description", "ik_live_x"),
        ("name", SDK),
        ("command", f"vllm serve m --api-key {LIVE}"),
        ("config", {"deep": [{"er": LIVE}]}),
        ("config", {SDK: 1}),
        ("execution_policy_config", {"a": SDK}),
    ],
)
def test_a_token_in_a_spec_is_refused(plane: FakePlane, face: Face, field: str, value: Any) -> None:
    with pytest.raises(fleet.ConfigurationError, match="holds a token") as failed:
        face.client(plane.url).ensure(spec(backend="vllm", **{field: value}))
    assert plane.requests == [] and "b" * 64 not in str(failed.value) and "a" * 64 not in str(failed.value)


@pytest.mark.row("D-033", "D-100", "D-105", "D-181")
@pytest.mark.parametrize(
    "fields, what",
    [
        ({"name": " "}, "invalid name"),
        ({"slug": ""}, "invalid slug"),
        ({"slug": "日本"}, "at least one letter a-z"),
        ({"slug": "🐉"}, "at least one letter a-z"),
        ({"slug": "x" * 64}, "at most 63"),
        ({"model": "\t"}, "invalid model"),
        ({"backend": "tgi"}, "invalid backend 'tgi': expected one of ollama"),
        ({"task_type": "text2smell"}, "invalid task_type"),
        ({"execution_policy": "sometimes"}, "invalid execution_policy"),
        ({"config": []}, "invalid config of type 'list'"),
        ({"description": 5}, "invalid description"),
        ({"vllm_version": "1"}, "invalid vllm_version"),
        ({"command": "a", "config": {"command": "b"}}, "differs from the field command"),
        ({"config": {"a": float("nan")}}, "expected JSON values"),
    ],
)
def test_an_invalid_spec_is_refused(plane: FakePlane, face: Face, fields: dict[str, Any], what: str) -> None:
    with pytest.raises(fleet.ValidationError, match=what):
        face.client(plane.url).ensure(spec(**fields))
    assert plane.writes == []


@pytest.mark.parametrize(
    "slug, made",
    [("Ünï Çödé", "n-d"), ("İx", "x"), ("a_b.c", "a-b-c"), (" a ", "a"), ("Ⅷb", "b"), ("--A--B--", "a-b")],
)
def test_slugs_of_any_script_have_one_canonical_form(
    plane: FakePlane, face: Face, slug: str, made: str
) -> None:
    client = face.client(plane.url)
    assert client.ensure(spec(slug=slug)).workload_slug == made
    assert client.delete(slug) and plane.workloads == {}


@pytest.mark.row("D-034", "D-184", "D-188")
def test_a_key_of_the_data_plane_is_refused_without_a_request(plane: FakePlane, face: Face) -> None:
    client = face.keep(face.management(base_url=plane.url, sdk_token=LIVE, project="acme"))
    for action in (
        lambda: client.ensure(spec()),
        lambda: client.delete("a"),
        lambda: client.wait_until_ready("a"),
    ):
        with pytest.raises(fleet.PermissionDenied, match="wrong_credential_type") as failed:
            action()
        assert failed.value.code == "wrong_credential_type" and "ik_live_89abcdef…" in str(failed.value)
        assert "b" * 8 not in str(failed.value)
    assert plane.requests == []


@pytest.mark.row("D-053", "D-054", "D-055", "D-056", "D-059", "D-060")
def test_delete(plane: FakePlane, face: Face) -> None:
    client = face.client(plane.url)
    client.ensure(spec(slug="My Slug!"))
    assert client.delete("My Slug!") is True and plane.workloads == {}
    assert client.delete("my-slug") is False and client.delete("my-slug") is False
    with pytest.raises(fleet.ValidationError, match="invalid workload_slug"):
        client.delete("ö")


@pytest.mark.row("D-057")
def test_delete_takes_the_project_of_the_environment(
    plane: FakePlane, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = face.client(plane.url, None)
    with pytest.raises(fleet.ConfigurationError, match="no project"):
        client.delete("a")
    monkeypatch.setenv("INFERENCEKEY_PROJECT", "env")
    assert client.delete("a") is False and plane.last.path == "/api/projects/env/workloads"
    client.delete("a", project="arg")
    assert plane.last.path == "/api/projects/arg/workloads"


def test_the_bodies_are_json(plane: FakePlane, face: Face) -> None:
    face.client(plane.url).ensure(spec(name="Grüße 🐉 \ud800"))
    assert json.dumps(plane.writes[0].body)
