"""Admission: whether a request may run, what it takes of quotas, and what it used.

The gateway and replicas that clients ask directly admit requests alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...terms import PRIORITIES
from .. import _slug
from ..enums import Backend, TaskType
from . import bodies
from .errors import Refusal
from .meter import Measured, Meter
from .quotas import Grant, Quotas
from .tokens import INFERENCE, Identity, Tokens
from .usage import Tail, UsageLog
from .workloads import Route

ROUTES = frozenset(
    {
        "audio/speech", "audio/transcriptions", "audio/translations", "chat/completions", "completions",
        "embeddings", "images/background", "images/edits", "images/generations", "messages", "models",
        "rerank", "responses",
    }
)  # fmt: skip
_ASYNC_ONLY = {  # task types without a synchronous route, and the routes that they have all the same
    TaskType.RERANKER: frozenset({"rerank", "models"}),
    TaskType.CLASSIFICATION: frozenset({"models"}),
    TaskType.REWARD: frozenset({"models"}),
}
_LIMITED = ("chat/completions", "completions", "messages")  # whose answers `max_tokens` limits
_PACED = (*_LIMITED, "responses")  # which have the fields `priority` and `target_tps`
_MAX_SESSION = 128  # characters of a session's name
_RANKS = list(PRIORITIES)  # the first is served first


class Admitted(NamedTuple):
    """A request that may run.

    Attributes:
        identity: Whose key it has.
        route: Which workload it asks.
        body: Its body, with the limits of the key.
        fields: The same, parsed; {} if it is not JSON.
        grant: What it took of quotas.
        measured: Receives the progress of its answer.
    """

    identity: Identity
    route: Route
    body: bytes
    fields: dict[str, Any]
    grant: Grant
    measured: Measured


class Admission:
    """Checks keys and quotas, counts usage, and measures the load.

    Args:
        default_max_tokens: `max_tokens` of requests that set none, for keys with a quota of tokens.
    """

    def __init__(
        self, tokens: Tokens, quotas: Quotas, usage: UsageLog, meter: Meter, default_max_tokens: int
    ) -> None:
        self._tokens, self._quotas, self._usage, self._meter = tokens, quotas, usage, meter
        self._default_max_tokens = default_max_tokens

    async def identify(self, authorization: str | None, project: str, workload: str) -> Identity:
        """Returns who asks for a workload. Raises `Refusal` 401 or 403."""
        identity = await self._tokens.identify(authorization)
        identity.require("live", INFERENCE, project)
        slug = _slug.canonical(workload)
        if identity.workload_slug not in (None, slug):
            raise Refusal(403, f"this key is not for workload '{slug}'", "project_scope_mismatch")
        return identity

    async def take(
        self, identity: Identity, route: Route, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Admitted:
        """Takes what a request needs of quotas, and applies the limits of the key to its body.

        `settle()` has to follow.

        Raises:
            Refusal: 400: the body is not JSON. 429: a quota is used up, or smaller than the request.
        """
        quotas = await self._quotas.applying(identity)
        fields = bodies.parse(body) if body and "json" in headers.get("content-type", "json") else {}
        if not isinstance(fields, dict):
            raise Refusal(400, "invalid body: expected a JSON object")
        reserved = len(body) // 3
        changes = _model(route, fields) | _terms(identity, route, path, fields)
        if path in _LIMITED and any(quota.metric == "tokens" for quota in quotas):
            most, limit = self._most_tokens(fields)
            reserved += most
            changes |= limit
        if changes:
            fields |= changes
            body = json.dumps(fields).encode()
        grant = await self._quotas.take(quotas, reserved)
        streamed = fields.get("stream") is True
        measured = self._meter.began(route.workload_id, _session(headers, fields), streamed=streamed)
        return Admitted(identity, route, body, fields, grant, measured)

    def missed(self, route: Route) -> None:
        """Notes a request whose workload has no replica now."""
        self._meter.missed(route.workload_id)

    def settle(self, admitted: Admitted, answer: Tail, *, failed: bool) -> None:
        """Gives back what a request did not use of quotas, and counts it."""
        identity, route, counts = admitted.identity, admitted.route, answer.counts()
        admitted.measured.end(counts.completion_tokens, answer.generation_s())
        self._quotas.settle(admitted.grant, sum(counts))
        self._usage.count(identity.project_id, route.workload_id, identity.token_id, counts, failed)

    def _most_tokens(self, fields: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Returns how long the answer may become, and the field that limits it if the request has none."""
        given = fields.get("max_tokens", fields.get("max_completion_tokens"))
        if given is None:
            return self._default_max_tokens, {"max_tokens": self._default_max_tokens}
        whole = isinstance(given, int) and not isinstance(given, bool) and given >= 0
        return (given if whole else self._default_max_tokens), {}


def check_route(route: Route, path: str) -> None:
    """Raises `Refusal` 404 or 400 if a workload has no route `/v1/{path}`."""
    if path not in ROUTES:
        raise Refusal(404, f"no route '/v1/{path[:100]}': expected one of {', '.join(sorted(ROUTES))}")
    allowed = _ASYNC_ONLY.get(TaskType(route.task_type))
    if allowed is not None and path not in allowed:
        raise Refusal(
            400,
            f"task type '{route.task_type}' has no route '/v1/{path}': send a job to '/jobs'",
            "async_only",
        )


def _session(headers: Mapping[str, str], fields: Mapping[str, Any]) -> str | None:
    """Returns what names the session of a request; None: nothing does."""
    for found in (headers.get("x-session-id"), fields.get("prompt_cache_key"), fields.get("user")):
        if isinstance(found, str) and found:
            return found[:_MAX_SESSION]
    return None


def _model(route: Route, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the name by which other engines than ours know their model, unless the request has it."""
    if not fields or route.backend == Backend.LLAMACPP or fields.get("model") == route.model:
        return {}
    return {"model": route.model}


def _terms(identity: Identity, route: Route, path: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the priority and the pace of a request, within those of its key; {} if the key has none.

    A request with null for one of them counts as one that does not name it.
    """
    if route.backend != Backend.LLAMACPP or path not in _PACED:
        return {}
    terms: dict[str, Any] = {}
    if (most := identity.priority) is not None:
        asked = "normal" if (given := fields.get("priority")) is None else given
        higher = asked in _RANKS and _RANKS.index(asked) < _RANKS.index(most)
        terms["priority"] = most if higher else asked  # the server refuses what is no priority
    if (limit := identity.target_tps) is not None:
        pace = 0 if (given := fields.get("target_tps")) is None else given  # 0: as fast as the engine can
        number = isinstance(pace, int | float) and not isinstance(pace, bool)
        terms["target_tps"] = limit if number and not 0 < pace <= limit else pace
    return terms
