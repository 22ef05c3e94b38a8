"""`Role`: a task that one process of a store does at a time, such as that of the reconciler."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import delete, or_, update
from sqlalchemy.exc import IntegrityError

from .store import Store
from .tables import Lease

LEASE = 15.0  # seconds after which another process may take the role


class Role:
    """Holds a lease in the store. `held`: True while this process has the role."""

    def __init__(self, store: Store, name: str, clock: Callable[[], float] = time.time) -> None:
        self._store, self._name, self._clock = store, name, clock
        self._id = secrets.token_hex(8)
        self._waits_until = 0.0
        self.held = False

    async def take(self) -> bool:
        """Takes or keeps the role. Returns whether this process has it; the caller notes it in `held`.

        The lease of a process that could not reach the store is as old as the outage, so other processes that
        could not reach it either leave the role to that process for 15 s more.
        """
        now = self._clock()
        free = Lease.holder == self._id
        if now >= self._waits_until:
            free = or_(free, Lease.expires_at < now)
        change = update(Lease).where(Lease.name == self._name, free)
        async with self._store.write() as session:
            result = await session.execute(change.values(holder=self._id, expires_at=now + LEASE))
            taken = bool(result.rowcount)  # type: ignore[attr-defined]
            exists = taken or await session.get(Lease, self._name) is not None
        if not exists:
            with suppress(IntegrityError):
                async with self._store.write() as session:
                    session.add(Lease(name=self._name, holder=self._id, expires_at=now + LEASE))
                taken = True
        return taken

    def lost_sight(self) -> None:
        """Notes that the store cannot be reached."""
        self._waits_until = self._clock() + LEASE

    async def give_back(self) -> None:
        """Lets another process take the role at once."""
        async with self._store.write() as session:
            await session.execute(delete(Lease).where(Lease.holder == self._id, Lease.name == self._name))
