"""Server-sent events of a workload's way to readiness: a snapshot when a client connects, then every step."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

from .changes import Changes
from .errors import Refusal
from .placement import STEPS
from .tables import Event, Workload
from .workloads import Workloads

_LOOK = 1.0  # seconds after which events are looked for without a notice


async def events(
    workloads: Workloads, changes: Changes, workload: Workload, ping: float
) -> AsyncIterator[str]:
    """Yields events as text until the workload is ready or has failed; comments in between.

    `elapsed_ms` counts from the call.
    """
    began = time.monotonic()
    waiter = changes.waiter()
    try:
        known = await asyncio.shield(workloads.events(workload.id, 0))  # a transaction is never cancelled
        mine = [one for one in known if one.generation == workload.generation]
        last, said = 0, began
        pending = mine[-1:] or []
        while True:
            for event in pending:
                last, said = event.id, time.monotonic()
                yield _text(event, began)
                if event.phase in ("ready", "error"):
                    return
            await changes.wait(_LOOK, waiter)
            pending = await asyncio.shield(workloads.events(workload.id, last))
            if not pending and await asyncio.shield(_is_deleted(workloads, workload.id)):
                yield _data("error", "the workload was deleted", began, None)
                return
            if not pending and time.monotonic() - said >= ping:
                said = time.monotonic()
                yield ": ping\n\n"
    finally:
        changes.forget(waiter)


async def _is_deleted(workloads: Workloads, id: str) -> bool:
    try:
        await workloads.get(id)
    except Refusal:
        return True
    return False


def _text(event: Event, began: float) -> str:
    step = event.step if event.step in STEPS else None
    return _data(event.phase, event.message, began, step)


def _data(phase: str, message: str, began: float, step: str | None) -> str:
    plain = " ".join("".join(one if one.isprintable() else " " for one in message).split())
    body = {"phase": phase, "message": plain[:500], "elapsed_ms": round((time.monotonic() - began) * 1000)}
    if step is not None:
        body["step"] = step
    return f"event: readiness\ndata: {json.dumps(body)}\n\n"
