"""Checks the bodies that create and change workloads."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from .. import _slug, _tokens
from ..enums import Backend, ExecutionPolicy, TaskType
from . import policies
from .errors import Refusal, invalid
from .launch import check_command

CREATED = (
    "name", "slug", "task_type", "backend", "model_name", "description", "config", "worker_id",
    "gpu_resource_id", "execution_policy", "execution_policy_config",
)  # fmt: skip
CHANGED = tuple(name for name in CREATED if name not in ("slug", "task_type"))
RUNTIME = ("backend", "model_name", "config", "worker_id", "gpu_resource_id")  # whose change needs a process
_ENUMS: dict[str, Any] = {"task_type": TaskType, "backend": Backend, "execution_policy": ExecutionPolicy}
_LENGTHS = {"name": 200, "model_name": 1000, "description": 10_000, "worker_id": 200, "gpu_resource_id": 200}
_MAX_CONFIG = 64 << 10  # bytes of JSON
_LLAMACPP = {"command", "options", "budget_mb", "deterministic", "mode", "threads"}
_MODES = ("balance", "prioritize_compute", "prioritize_graphics")


def created(body: Any) -> dict[str, Any]:
    """Returns the columns of a new workload.

    Raises:
        Refusal: 400: the message names the field, the value and what is expected.
    """
    given = _object(body, CREATED)
    for name in ("name", "slug", "model_name", "backend"):
        if given.get(name) is None:
            raise Refusal(
                400, f"invalid {name}: missing; a workload needs name, slug, model_name and backend"
            )
    why = _slug.problem(given["slug"]) if isinstance(given["slug"], str) else "expected a string"
    if why is not None:
        raise Refusal(400, f"invalid slug '{str(given['slug'])[:100]}': {why}")
    columns = {
        "task_type": TaskType.TEXT2TEXT.value,
        "config": {},
        "execution_policy": ExecutionPolicy.FIXED.value,
        "execution_policy_config": {},
        **{name: _checked(name, value) for name, value in given.items() if value is not None},
        "slug": _slug.canonical(given["slug"]),
    }
    _together(columns)
    return columns


def changed(body: Any, live: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns that a change of a workload sets to other values.

    Raises:
        Refusal: 400: a field is unknown or cannot be changed, or a value is invalid.
    """
    given = _object(body, CREATED)
    for name in ("slug", "task_type"):
        if name in given and given[name] != live[name]:
            raise Refusal(
                400, f"invalid {name} '{str(given[name])[:100]}': it cannot be changed; delete the workload"
            )
    given = {name: value for name, value in given.items() if name in CHANGED}
    for name in ("name", "backend", "model_name", "execution_policy"):
        if name in given and given[name] is None:
            raise invalid(name, None, "a value")
    if given.get("execution_policy", live["execution_policy"]) != live["execution_policy"]:
        given.setdefault("execution_policy_config", {})
    columns = {name: None if value is None else _checked(name, value) for name, value in given.items()}
    for name in ("config", "execution_policy_config"):
        if name in columns and columns[name] is None:
            columns[name] = {}
    _together({**live, **columns})
    return {name: value for name, value in columns.items() if value != live[name]}


def _object(body: Any, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise Refusal(400, "invalid body: expected a JSON object")
    unknown = sorted(set(body) - set(known))
    if unknown:
        raise Refusal(400, f"invalid field '{unknown[0][:100]}': expected one of {', '.join(known)}")
    leaked = _tokens.secret_in(body)
    if leaked is not None:
        raise Refusal(400, f"invalid {leaked}: it holds a token; a spec is stored and shown")
    return body


def _checked(name: str, value: Any) -> Any:
    if name in _ENUMS:
        known = [one.value for one in _ENUMS[name]]
        if value not in known:
            raise invalid(name, value, f"one of {', '.join(known)}")
        return value
    if name in ("config", "execution_policy_config"):
        if not isinstance(value, dict):
            raise invalid(name, value, "an object")
        if len(json.dumps(value)) > _MAX_CONFIG:
            raise Refusal(400, f"invalid {name}: expected at most {_MAX_CONFIG} bytes of JSON")
        return value
    if not isinstance(value, str) or (name != "description" and not value.strip()):
        raise invalid(name, value, "text that is not blank")
    limit = _LENGTHS.get(name)
    if limit is not None and len(value) > limit:
        raise invalid(name, value, f"at most {limit} characters")
    if "\x00" in value:
        raise invalid(name, value, "text without NUL")
    return value


def _together(columns: Mapping[str, Any]) -> None:
    """Checks fields that depend on each other."""
    backend, config = columns["backend"], columns["config"]
    policies.check(columns["execution_policy"], columns["execution_policy_config"])
    if backend == Backend.LLAMACPP:
        _check_llamacpp(config)
    command = config.get("command")
    if command is not None:
        try:
            if not isinstance(command, str) or "\x00" in command:
                raise ValueError("expected a string")
            check_command(backend, shlex.split(command))
        except ValueError as error:
            raise Refusal(400, f"invalid config.command '{str(command)[:100]}': {error}") from None
    if "vllm_version" in config and backend not in (Backend.VLLM, Backend.VLLM_OMNI):
        raise Refusal(400, f"invalid config.vllm_version: backend '{backend}' has none; leave it out")


def _check_llamacpp(config: Mapping[str, Any]) -> None:
    unknown = sorted(set(config) - _LLAMACPP - {"vllm_version"})
    if unknown:
        raise invalid(
            "config", unknown[0], f"the keys {', '.join(sorted(_LLAMACPP))}, for backend 'llamacpp'"
        )
    if "command" in config and len(config) > 1:
        raise Refusal(400, "invalid config: 'command' has all settings; leave the other keys out")
    if not isinstance(config.get("options", {}), dict):
        raise invalid("config.options", config["options"], "an object, as for `sotto serve --options`")
    if config.get("mode", _MODES[0]) not in _MODES:
        raise invalid("config.mode", config["mode"], f"one of {', '.join(_MODES)}")
    if not isinstance(config.get("deterministic", False), bool):
        raise invalid("config.deterministic", config["deterministic"], "true or false")
    for name, most in (("budget_mb", 1 << 30), ("threads", 4096)):
        value = config.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise invalid(f"config.{name}", value, f"an integer from 1 to {most}")
