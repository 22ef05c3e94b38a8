"""`Service`: what the routes of a control plane use; started and stopped together."""

from __future__ import annotations

import time
from collections.abc import Callable

from .admission import Admission
from .changes import Changes
from .gateway import Gateway
from .jobs import Jobs
from .load import FleetLoad, LoadLog
from .meter import Meter
from .overview import Overview
from .placement import Placement
from .quotas import Quotas
from .reconciler import Reconciler
from .refusals import Refusals
from .scaling import Scaling
from .settings import ControlSettings
from .store import Store
from .tokens import Tokens
from .usage import UsageLog
from .workloads import Workloads


class Service:
    """A control plane without its HTTP.

    Args:
        store: The store; closed by `stop()`.
        placement: What runs workloads.
        settings: Limits.
        clock: Returns seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        placement: Placement,
        settings: ControlSettings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.settings = store, settings or ControlSettings()
        self.changes = Changes(store)
        self.tokens = Tokens(store, self.changes, clock)
        self.workloads = Workloads(store, self.changes, self.settings, clock)
        self.usage = UsageLog(store, clock)
        quotas = Quotas(store, self.changes, self.settings.quota_lease, clock)
        self.refusals, meter = Refusals(clock), Meter(clock)
        self.load_log, load = LoadLog(store, meter, clock), FleetLoad(store)
        most = self.settings.default_max_tokens
        admission = Admission(self.tokens, quotas, self.usage, meter, most)
        self.gateway = Gateway(admission, self.workloads, self.refusals, self.settings)
        prices = self.settings.prices
        self.scaling = Scaling(load, placement, prices, clock)
        self.overview = Overview(store, self.workloads, load, self.refusals, prices, clock)
        self.jobs = Jobs(store, self.changes, self.gateway, self.workloads, clock)
        self.reconciler = Reconciler(store, self.changes, self.workloads, placement, self.scaling, clock)

    async def start(self) -> None:
        """Begins to reconcile, to run jobs and to write usage."""
        await self.changes.start()
        await self.usage.start()
        await self.load_log.start()
        await self.jobs.start()
        await self.reconciler.start()

    async def stop(self) -> None:
        """Ends everything, and closes the store."""
        await self.jobs.stop()
        await self.reconciler.stop()
        await self.gateway.close()
        await self.usage.stop()
        await self.load_log.stop()
        await self.changes.stop()
        await self.store.close()
