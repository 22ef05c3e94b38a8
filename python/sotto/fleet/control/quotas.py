"""Quotas: requests and tokens in a window of time, leased from the store in pieces.

A gateway takes a part of a quota from the store and spends it without asking again. A request takes what it
may need before it starts, and gives back what it did not use. So what all gateways grant in a window exceeds
the quota by at most what answers take beyond their reservation; a store that is down adds at most one lease.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from .changes import ALL, QUOTAS, Changes
from .errors import Refusal
from .store import Store
from .tables import Quota, QuotaWindow
from .tokens import Identity

REQUESTS, TOKENS = "requests", "tokens"
METRICS = (REQUESTS, TOKENS)
_MAX_KNOWN = 10_000  # keys


@dataclass
class _Lease:
    """What this process may still grant of a quota in a window. `owed`: granted while the store was down."""

    window: int
    left: int = 0
    owed: int = 0


@dataclass
class Grant:
    """What a request took: quotas, their windows and amounts."""

    taken: list[tuple[Quota, int, int]] = field(default_factory=list)

    @property
    def limits_tokens(self) -> bool:
        """True if a quota of tokens applies."""
        return any(quota.metric == TOKENS for quota, _, _ in self.taken)


class Quotas:
    """The quotas of a store."""

    def __init__(
        self, store: Store, changes: Changes, part: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._changes, self._part, self._clock = store, changes, part, clock
        self._known: dict[str, list[Quota]] = {}
        self._stale: set[str] = set()
        self._leases: dict[str, _Lease] = {}
        changes.listen(self._forget)

    async def applying(self, identity: Identity) -> list[Quota]:
        """Returns the quotas of a key and of its project."""
        known = self._known.get(identity.token_id)
        if known is not None and identity.token_id not in self._stale and self._changes.reliable:
            return known
        mine = or_(Quota.token_id.is_(None), Quota.token_id == identity.token_id)
        query = select(Quota).where(Quota.project_id == identity.project_id, mine)
        try:
            async with self._store.read() as session:
                known = list((await session.scalars(query)).all())
        except (SQLAlchemyError, OSError):
            if known is None:
                raise
            return known
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[identity.token_id] = known
        self._stale.discard(identity.token_id)
        return known

    async def take(self, quotas: list[Quota], tokens: int) -> Grant:
        """Takes one request and some tokens.

        Raises:
            Refusal: 429: a quota is used up in its window, or smaller than the request.
        """
        grant = Grant()
        try:
            for quota in quotas:
                amount = 1 if quota.metric == REQUESTS else tokens
                window = int(self._clock() // quota.seconds)
                await self._take(quota, window, amount)
                grant.taken.append((quota, window, amount))
        except Refusal:
            self.give_back(grant)
            raise
        return grant

    def settle(self, grant: Grant, tokens: int) -> None:
        """Corrects the tokens of a grant to those that the answer took."""
        for quota, window, amount in grant.taken:
            lease = self._leases.get(quota.id)
            if quota.metric == TOKENS and lease is not None and lease.window == window:
                lease.left += amount - tokens

    def give_back(self, grant: Grant) -> None:
        """Returns a whole grant: the request was refused."""
        for quota, window, amount in grant.taken:
            lease = self._leases.get(quota.id)
            if lease is not None and lease.window == window:
                lease.left += amount

    async def _take(self, quota: Quota, window: int, amount: int) -> None:
        lease = self._leases.get(quota.id)
        if lease is None or lease.window != window:
            lease = self._leases[quota.id] = _Lease(window)
        if lease.left < amount:
            await self._lease(quota, lease, amount - lease.left)
        if lease.left < amount:
            retry = max(1, math.ceil((window + 1) * quota.seconds - self._clock()))
            raise Refusal(
                429,
                f"the quota of {quota.amount} {quota.metric} in {quota.seconds} s is used up",
                "quota_exceeded",
                retry,
            )
        lease.left -= amount

    async def _lease(self, quota: Quota, lease: _Lease, need: int) -> None:
        """Takes a piece of a quota from the store: at least `need`, if that much is left."""
        piece = max(need, math.ceil(quota.amount * self._part))
        try:
            async with self._store.write() as session:
                insert = self._store.insert(QuotaWindow).values(
                    quota_id=quota.id, window=lease.window, leased=0
                )
                await session.execute(insert.on_conflict_do_nothing())
                mine = (QuotaWindow.quota_id == quota.id, QuotaWindow.window == lease.window)
                if lease.owed:
                    owed = update(QuotaWindow).where(*mine).values(leased=QuotaWindow.leased + lease.owed)
                    await session.execute(owed)
                for size in dict.fromkeys((piece, need)):
                    fits = QuotaWindow.leased + size <= quota.amount
                    change = update(QuotaWindow).where(*mine, fits)
                    result = await session.execute(change.values(leased=QuotaWindow.leased + size))
                    if result.rowcount:  # type: ignore[attr-defined]
                        lease.left += size
                        break
            lease.owed = 0
        except (SQLAlchemyError, OSError):
            if not lease.owed and piece <= quota.amount:
                lease.left, lease.owed = lease.left + piece, piece

    def _forget(self, topic: str) -> None:
        if topic in (QUOTAS, ALL):
            self._stale = set(self._known)
