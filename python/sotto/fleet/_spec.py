"""Checks a `WorkloadSpec`, writes it as the body of a request, and compares it with a workload."""

from __future__ import annotations

from typing import Any

from . import _slug, _tokens
from .enums import Backend, ExecutionPolicy, TaskType, member
from .errors import ApiError, ConfigurationError, ValidationError
from .types import WorkloadSpec

COMPARED = (
    "name",
    "backend",
    "model_name",
    "description",
    "config",
    "worker_id",
    "gpu_resource_id",
    "execution_policy",
    "execution_policy_config",
)
_VLLM = (Backend.VLLM, Backend.VLLM_OMNI)


def slug_of(slug: str, parameter: str = "workload_slug") -> str:
    """Returns the canonical slug. Raises `ValidationError` if it has none."""
    if not isinstance(slug, str):
        raise ValidationError(f"invalid {parameter} of type '{type(slug).__name__}': expected a string")
    why = _slug.problem(slug)
    if why is not None:
        raise ValidationError(f"invalid {parameter} '{slug[:100]}': {why}")
    return _slug.canonical(slug)


def body_of(spec: WorkloadSpec) -> dict[str, Any]:
    """Returns the body that creates the workload of a spec.

    Raises:
        ConfigurationError: A string of the spec holds a token.
        ValidationError: A field is blank, unknown or of another type.
    """
    if not isinstance(spec, WorkloadSpec):
        raise ValidationError(f"invalid spec of type '{type(spec).__name__}': expected a WorkloadSpec")
    leaked = _tokens.secret_in(vars(spec))
    if leaked is not None:
        raise ConfigurationError(
            f"invalid spec: '{leaked}' holds a token; a spec is stored and shown, so keep tokens out of it"
        )
    for name in ("name", "slug", "model"):
        value = getattr(spec, name)
        if not isinstance(value, str) or not value.strip():
            raise ValidationError(f"invalid {name} '{value}': expected text that is not blank")
    backend = member(Backend, "backend", spec.backend)
    body = {
        "name": spec.name,
        "slug": slug_of(spec.slug, "slug"),
        "task_type": member(TaskType, "task_type", spec.task_type or TaskType.TEXT2TEXT).value,
        "backend": backend.value,
        "model_name": spec.model,
        "description": _text("description", spec.description),
        "config": _config(spec, backend),
        "worker_id": _text("worker_id", spec.worker_id),
        "gpu_resource_id": _text("gpu_resource_id", spec.gpu_resource_id),
        "execution_policy": None,
        "execution_policy_config": _mapping("execution_policy_config", spec.execution_policy_config),
    }
    if spec.execution_policy is not None:
        body["execution_policy"] = member(ExecutionPolicy, "execution_policy", spec.execution_policy).value
    return {name: value for name, value in body.items() if value is not None}


def differences(spec: WorkloadSpec, body: dict[str, Any], live: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Returns the fields in which a workload differs from the spec: its value and the wanted one.

    A field that the spec leaves unset never differs, nor does `task_type`, which cannot be changed. If the
    spec sets `command` or `vllm_version` but no `config`, other keys of the workload's config are kept.
    """
    wanted = {name: body[name] for name in COMPARED if name in body}
    if "config" in wanted and spec.config is None:
        wanted["config"] = {**(live.get("config") or {}), **wanted["config"]}
    found = {
        name: (live.get(name), value) for name, value in wanted.items() if not _same(live.get(name), value)
    }
    if "execution_policy" in found and "execution_policy_config" not in found:
        config = wanted.get("execution_policy_config", {})
        found["execution_policy_config"] = (live.get("execution_policy_config"), config)
    return found


def _same(live: Any, wanted: Any) -> bool:
    return bool(live == wanted) or (wanted == {} and live is None)


def _config(spec: WorkloadSpec, backend: Backend) -> dict[str, Any] | None:
    config = dict(_mapping("config", spec.config) or {})
    if spec.vllm_version is not None and backend not in _VLLM:
        raise ValidationError(
            f"invalid vllm_version '{spec.vllm_version}': backend '{backend}' has none; leave it out"
        )
    for name in ("command", "vllm_version"):
        value = _text(name, getattr(spec, name))
        if value is None:
            continue
        if name in config and config[name] != value:
            raise ValidationError(f"invalid config: '{name}' differs from the field {name}; set one of them")
        config[name] = value
    return config if config or spec.config is not None else None


def _text(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValidationError(f"invalid {name} of type '{type(value).__name__}': expected a string")


def _mapping(name: str, value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    raise ValidationError(f"invalid {name} of type '{type(value).__name__}': expected a dict")


def record(value: Any) -> dict[str, Any]:
    """Returns a workload as the control plane describes it. Raises `ApiError` for another value."""
    if isinstance(value, dict) and isinstance(value.get("slug"), str) and isinstance(value.get("id"), str):
        return value
    raise ApiError("invalid response: expected a workload with 'id' and 'slug'")
