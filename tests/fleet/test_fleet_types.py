"""Names, errors, results, specs and enumerations of `sotto.fleet`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import sotto.fleet as fleet


@pytest.mark.row(
    "D-001", "D-178", "D-179", "D-180", "D-181", "D-182", "D-183", "D-124", "D-115", "D-113", "D-114"
)
def test_names_and_errors() -> None:
    documented = (
        "ManagementClient DataClient Endpoint WorkloadSpec EndpointRef TextResult EmbedResult Backend "
        "TaskType OnDrift ExecutionPolicy InferenceKeyError PermissionDenied AuthError ValidationError "
        "ConfigurationError ApiError TextChunk ReadinessEvent"
    )
    assert set(documented.split()) <= set(fleet.__all__) and all(
        hasattr(fleet, name) for name in fleet.__all__
    )
    for name in ("PermissionDenied", "AuthError", "ValidationError", "ConfigurationError", "ApiError"):
        assert getattr(fleet, name).__bases__ == (fleet.InferenceKeyError,)
    assert fleet.InferenceKeyError.__bases__ == (Exception,)
    assert issubclass(fleet.ReadinessTimeout, TimeoutError)


@pytest.mark.row("D-112", "D-115", "D-120", "D-124", "D-134", "D-138", "D-141", "D-113", "D-114", "D-126")
@pytest.mark.parametrize(
    "kind, fields, given",
    [
        (fleet.EndpointRef, "project_slug workload_slug", ("a", "b")),
        (fleet.TextResult, "text model finish_reason raw", ("a", "b")),
        (fleet.TextChunk, "text finish_reason raw", ("a",)),
        (fleet.ReadinessEvent, "phase message elapsed_ms step", ("a", "b")),
        (fleet.EmbedResult, "embeddings model raw", ([], "b")),
        (fleet.RerankItem, "index relevance_score", (1, 2.0)),
        (fleet.RerankResult, "results model raw", ([], "b")),
    ],
)
def test_results_are_frozen(kind: Any, fields: str, given: tuple[Any, ...]) -> None:
    assert [one.name for one in dataclasses.fields(kind)] == fields.split()
    made, other = kind(*given), kind(*given)
    assert made == other
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, fields.split()[0], None)
    if "raw" in fields:
        assert made.raw == {} and made.raw is not other.raw
    if hasattr(made, "finish_reason"):
        assert made.finish_reason is None
    if kind is fleet.ReadinessEvent:
        assert (made.elapsed_ms, made.step) == (0, None)


@pytest.mark.row("D-095", "D-096")
def test_a_spec_has_the_documented_fields() -> None:
    documented = (
        "name slug model backend project description command vllm_version task_type config "
        "execution_policy execution_policy_config worker_id gpu_resource_id"
    )
    assert [one.name for one in dataclasses.fields(fleet.WorkloadSpec)] == documented.split()
    for given in ({}, {"provider": "x"}, {"min_vram_gb": 8}):
        with pytest.raises(TypeError):
            fleet.WorkloadSpec("n", "s", "m", **given)
    assert fleet.WorkloadSpec("n", "s", "m", fleet.Backend.VLLM, command="c").to_wire() == {
        "name": "n", "slug": "s", "model": "m", "backend": "vllm", "command": "c",
    }  # fmt: skip


@pytest.mark.row("D-145", "D-146", *(f"D-{number}" for number in range(147, 161)))
@pytest.mark.row(*(f"D-{number}" for number in range(162, 177)))
@pytest.mark.parametrize(
    "kind, values",
    [
        (fleet.Backend, "ollama vllm vllm-omni sglang llamacpp"),
        (
            fleet.TaskType,
            "text2text embedding text2image text2audio audio2text reranker classification reward "
            "text2video image2image image2video omni forecast",
        ),
        (fleet.OnDrift, "reconcile fail dry_run warn ignore"),
        (fleet.ExecutionPolicy, "fixed scheduled autoscaling"),
    ],
)
def test_enumerations_are_their_strings(kind: Any, values: str) -> None:
    assert [one.value for one in kind] == values.split()
    for one in kind:
        assert one == one.value and str(one) == one.value and f"{one:>3}".strip() == one.value
        assert kind[one.value.upper().replace("-", "_")] is one and isinstance(one, str)
