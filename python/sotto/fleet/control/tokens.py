"""Tokens: made, looked up and revoked. The store has the hash of a secret; the secret is shown once."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError

from ...errors import ArgumentError
from ...terms import PRIORITIES
from .. import _slug, _tokens
from .changes import ALL, TOKENS, Changes
from .errors import Refusal
from .store import Store
from .tables import Project, Token

READ, WRITE, DELETE, INFERENCE = "workloads:read", "workloads:write", "workloads:delete", "inference"
SCOPES = {"sdk": (READ, WRITE, DELETE), "live": (INFERENCE,)}
PREFIXES = {"sdk": _tokens.SDK, "live": _tokens.LIVE}
_MAX_CACHED = 10_000
_MAX_AGE = 60.0  # seconds for which a token is not looked up again


class Identity(NamedTuple):
    """Who asks: a token, its project, and what it may do.

    Attributes:
        priority: The highest priority of its requests; None: any.
        target_tps: The highest pace of its answers, in tokens per second; None: any.
    """

    token_id: str
    kind: str
    project_id: str
    project: str
    workload_slug: str | None
    scopes: tuple[str, ...]
    priority: str | None = None
    target_tps: float | None = None

    def require(self, kind: str, scope: str, project: str) -> None:
        """Raises `Refusal` 403 if the token is of the other plane, of another project, or lacks the scope."""
        if self.kind != kind:
            raise Refusal(
                403, f"an {PREFIXES[self.kind]} token cannot do this: use an {PREFIXES[kind]} token",
                "wrong_credential_type",
            )  # fmt: skip
        if self.project != project:
            raise Refusal(403, f"this token is not for project '{project}'", "project_scope_mismatch")
        if scope not in self.scopes:
            raise Refusal(403, f"this token lacks the scope '{scope}'", "scope_insufficient")


class _Known(NamedTuple):
    identity: Identity
    digest: str
    at: float


class Tokens:
    """The tokens of a store, with a cache that changes empty."""

    def __init__(self, store: Store, changes: Changes, clock: Callable[[], float] = time.time) -> None:
        self._store, self._changes, self._clock = store, changes, clock
        self._cache: dict[str, _Known] = {}
        changes.listen(self._forget)

    async def identify(self, header: str | None) -> Identity:
        """Returns who sends a header `Authorization`.

        Raises:
            Refusal: 401: the token is missing, malformed, unknown or revoked.
        """
        scheme, _, token = (header or "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refusal(401, "no token: send the header 'Authorization: Bearer <token>'")
        parts = _tokens.split(token.strip())
        if parts is None:
            raise Refusal(401, "invalid token: expected ik_sdk_ or ik_live_, 8 and 64 hexadecimal digits")
        prefix, id, secret = parts
        known = await self._lookup(id)
        given = hashlib.sha256(secret.encode()).hexdigest()
        digest = known.digest if known else hashlib.sha256(b"").hexdigest()
        matches = hmac.compare_digest(given, digest)  # also for unknown ids, which take as long
        if known is None or not matches or PREFIXES[known.identity.kind] != prefix:
            raise Refusal(401, f"unknown or revoked token {prefix}{id}…")
        return known.identity

    async def create(
        self,
        project: str,
        kind: str,
        *,
        workload: str | None = None,
        scopes: Sequence[str] | None = None,
        name: str = "",
        priority: str | None = None,
        target_tps: float | None = None,
    ) -> str:
        """Makes a token and returns it, which is the only time that it is known.

        Raises:
            ArgumentError: The project does not exist, the scopes are not those of the kind, or a token other
                than a live key has a workload, a priority or a pace.
        """
        chosen = list(SCOPES[kind] if scopes is None else dict.fromkeys(scopes))
        if not chosen or set(chosen) - set(SCOPES[kind]):
            raise ArgumentError(f"invalid scopes of a token '{kind}': expected {', '.join(SCOPES[kind])}")
        if workload is not None and (kind != "live" or _slug.problem(workload) is not None):
            raise ArgumentError(
                f"invalid workload '{workload}': expected the slug of a workload, for a live key"
            )
        if kind != "live" and (priority is not None or target_tps is not None):
            raise ArgumentError("invalid priority or target_tps: expected none, or a live key")
        if priority is not None and priority not in PRIORITIES:
            raise ArgumentError(f"invalid priority '{priority}': expected {', '.join(PRIORITIES)}")
        secret = secrets.token_hex(32)
        async with self._store.write() as session:
            owner = (await session.scalars(select(Project).where(Project.slug == project))).first()
            if owner is None:
                raise ArgumentError(
                    f"no project '{project}'; `sotto fleet keys create --new-project` makes it"
                )
            id = secrets.token_hex(4)
            while await session.get(Token, id) is not None:
                id = secrets.token_hex(4)
            session.add(
                Token(
                    id=id,
                    kind=kind,
                    project_id=owner.id,
                    workload_slug=None if workload is None else _slug.canonical(workload),
                    scopes=chosen,
                    name=name[:200],
                    priority=priority,
                    target_tps=target_tps,
                    digest=hashlib.sha256(secret.encode()).hexdigest(),
                    created_at=self._clock(),
                )
            )
            await self._changes.announce(session, TOKENS)
        self._changes.deliver(TOKENS)
        return f"{PREFIXES[kind]}{id}_{secret}"

    async def revoke(self, id: str) -> bool:
        """Revokes a token by its id. Returns False if it does not exist, or was revoked before."""
        async with self._store.write() as session:
            change = update(Token).where(Token.id == id, Token.revoked_at.is_(None))
            result = await session.execute(change.values(revoked_at=self._clock()))
            await self._changes.announce(session, TOKENS)
        self._changes.deliver(TOKENS)
        return bool(result.rowcount)  # type: ignore[attr-defined]

    async def all(self, project: str | None = None) -> list[tuple[Token, str]]:
        """Returns tokens, oldest first, and the project of each."""
        query = select(Token, Project.slug).join(Project).order_by(Token.created_at)
        if project is not None:
            query = query.where(Project.slug == project)
        async with self._store.read() as session:
            return [(token, slug) for token, slug in (await session.execute(query)).all()]

    async def _lookup(self, id: str) -> _Known | None:
        known = self._cache.get(id)
        if known is not None and self._changes.reliable and self._clock() - known.at < _MAX_AGE:
            return known
        query = select(Token, Project.slug).join(Project).where(Token.id == id, Token.revoked_at.is_(None))
        try:
            async with self._store.read() as session:
                found = (await session.execute(query)).first()
        except (SQLAlchemyError, OSError):
            if known is None:
                raise
            return known  # the store is down: keys that were valid stay so until it is back
        if found is None:
            self._cache.pop(id, None)
            return None
        token, project = found
        identity = Identity(
            token.id,
            token.kind,
            token.project_id,
            project,
            token.workload_slug,
            tuple(token.scopes),
            token.priority,
            token.target_tps,
        )
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[id] = _Known(identity, token.digest, self._clock())
        return self._cache[id]

    def _forget(self, topic: str) -> None:
        """Makes the next use of each token look it up; the entries stay for a store that is down."""
        if topic in (TOKENS, ALL):
            self._cache = {id: known._replace(at=-math.inf) for id, known in self._cache.items()}
