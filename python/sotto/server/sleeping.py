"""Evicts the models of an idle server; the engine reloads them for the next request."""

from __future__ import annotations

import asyncio
import logging
import time

import anyio

from .. import aio
from .._lib import lib
from .service import Service

log = logging.getLogger("sotto.server")
_PATIENCE = 5.0  # seconds for the eviction


async def sleep_when_idle(service: Service, seconds: float) -> None:
    """Evicts all models whenever no request has run for `seconds`. Returns when it is cancelled."""
    while True:
        await asyncio.sleep(min(seconds / 4, 1.0))
        idle = not service.loading and not service.live and not service.engine.stats().live
        if idle and time.monotonic() - service.last_end >= seconds and not asleep(service.engine):
            await _evict(service)
            log.info("models sleep until the next request")


def asleep(engine: aio.Engine) -> bool:
    """Returns True if all models are evicted."""
    return all(model["state"] == "evicted" for model in engine.memory()["models"])


async def _evict(service: Service) -> None:
    """Lowers the budget until the models are evicted. A request that comes meanwhile waits, and reloads."""
    handle, before = service.engine._handle, service.engine.stats().vram_budget
    handle.call(lib.sotto_engine_set_vram_budget, 1)
    try:
        with anyio.move_on_after(_PATIENCE):
            while not asleep(service.engine) and not service.live:
                await asyncio.sleep(0.02)
    finally:
        handle.call(lib.sotto_engine_set_vram_budget, before)
