"""Provisioning as sequences of requests: each generator yields calls and returns the result."""

from __future__ import annotations

import logging
from typing import Any

from . import _spec
from ._wire import Call, Credential, Reply, Steps, fail, parsed, segment
from .enums import OnDrift
from .errors import ApiError, ValidationError
from .types import EndpointRef, Plan, WorkloadSpec

log = logging.getLogger("sotto.fleet")
_ATTEMPTS = 4  # a workload can be created or removed by others between two requests


class Provisioning:
    """The requests of the control plane's client for one project."""

    def __init__(self, project: str, credential: Credential) -> None:
        self._project, self._credential = project, credential
        self._path = f"/api/projects/{segment(project)}/workloads"

    def ensure(self, spec: WorkloadSpec, body: dict[str, Any], on_drift: OnDrift) -> Steps[EndpointRef]:
        """Creates the workload of a spec, or compares it with the existing one."""
        ref = EndpointRef(self._project, body["slug"])
        for _ in range(_ATTEMPTS):
            live = yield from self._find(body["slug"])
            plan = Plan("create") if live is None else _plan(_spec.differences(spec, body, live))
            if on_drift is OnDrift.DRY_RUN:
                log.info(
                    "dry run of workload '%s': %s %s", body["slug"], plan.action, ", ".join(plan.changes)
                )
                return ref.planned(plan)
            if live is None:
                done = yield from self._create(body)
            elif plan.action == "none" or on_drift is not OnDrift.RECONCILE:
                return ref.planned(_keep(plan, body["slug"], on_drift))
            else:
                done = yield from self._update(live, plan)
            if done:
                return ref.planned(plan)
        raise ApiError(f"workload '{body['slug']}' was created and removed by others meanwhile; try again")

    def delete(self, slug: str) -> Steps[bool]:
        """Deletes a workload. Returns False if there was none."""
        live = yield from self._find(slug)
        if live is None:
            return False
        call = Call("DELETE", f"/api/workloads/{segment(live['id'])}")
        reply = yield call
        if reply.status == 404:
            return False
        self._check(call, reply)
        return True

    def readiness(self, slug: str) -> Call:
        """Returns the request for the progress of a workload."""
        return Call("GET", f"{self._path}/{segment(slug)}/readiness-events")

    def _find(self, slug: str) -> Steps[dict[str, Any] | None]:
        call = Call("GET", self._path)
        reply = yield call
        self._check(call, reply)
        found = parsed(call, reply)
        if isinstance(found, dict):
            found = found.get("workloads")
        if found is None:
            return None
        if not isinstance(found, list):
            raise ApiError(f"GET {self._path}: invalid response: expected a list of workloads")
        records = [_spec.record(one) for one in found]
        return next((one for one in records if one["slug"] == slug), None)

    def _create(self, body: dict[str, Any]) -> Steps[bool]:
        call = Call("POST", self._path, body)
        reply = yield call
        if reply.status == 409:  # another process was faster
            return False
        self._check(call, reply)
        return True

    def _update(self, live: dict[str, Any], plan: Plan) -> Steps[bool]:
        changed = {name: wanted for name, (_, wanted) in plan.changes.items()}
        call = Call("PATCH", f"/api/workloads/{segment(live['id'])}", changed)
        reply = yield call
        if reply.status == 404:  # another process removed it
            return False
        self._check(call, reply)
        return True

    def _check(self, call: Call, reply: Reply) -> None:
        if not 200 <= reply.status < 300:
            fail(call, reply, self._credential)


def _plan(changes: dict[str, tuple[Any, Any]]) -> Plan:
    return Plan("update" if changes else "none", changes)


def _keep(plan: Plan, slug: str, on_drift: OnDrift) -> Plan:
    """Returns the plan of a workload that stays as it is. Raises `ValidationError` for `OnDrift.FAIL`."""
    differing = ", ".join(plan.changes)
    if plan.changes and on_drift is OnDrift.FAIL:
        raise ValidationError(f"workload '{slug}' drifted from spec: {differing}")
    if plan.changes and on_drift is OnDrift.WARN:
        log.warning("workload '%s' drifted from spec: %s; it was not changed", slug, differing)
    return plan
