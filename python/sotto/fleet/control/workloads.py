"""The workloads of the store: created, found, changed, deleted; their events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from . import specs
from .changes import ALL, WORKLOADS, Changes
from .errors import Refusal
from .placement import Report
from .settings import ControlSettings
from .store import Store
from .tables import Event, Project, ReplicaRow, Workload

_MAX_EVENTS = 200  # of one workload
_MAX_MESSAGE = 1000  # characters
_MAX_ROUTES = 10_000


class Route(NamedTuple):
    """Where the gateway finds a workload."""

    workload_id: str
    task_type: str
    backend: str
    model: str
    phase: str
    message: str
    address: str | None


class Workloads:
    """The workloads of all projects, with a cache of routes that changes empty."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        settings: ControlSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._changes, self._settings, self._clock = store, changes, settings, clock
        self._routes: dict[tuple[str, str], tuple[Route, bool]] = {}  # and whether it is current
        changes.listen(self._forget)

    async def all(self, project_id: str) -> list[Workload]:
        """Returns the workloads of a project, oldest first."""
        query = _live().where(Workload.project_id == project_id).order_by(Workload.created_at)
        async with self._store.read() as session:
            return list((await session.scalars(query)).all())

    async def create(self, project_id: str, body: Any) -> tuple[Workload, bool]:
        """Creates a workload. Returns it, and whether it is new.

        A workload that exists and equals the body is returned, so that concurrent creations make one.

        Raises:
            Refusal: 400: the body is invalid. 409: the slug is taken by another. 429: there are too many.
        """
        columns = specs.created(body)
        now = self._clock()
        try:
            async with self._store.write() as session:
                taken = await self._by_slug(session, project_id, columns["slug"])
                if taken is not None:
                    return _same(taken, columns), False
                query = select(func.count()).select_from(
                    _live().where(Workload.project_id == project_id).subquery()
                )
                if (await session.scalar(query) or 0) >= self._settings.max_workloads:
                    raise Refusal(
                        429, f"the project has {self._settings.max_workloads} workloads; delete some"
                    )
                made = Workload(project_id=project_id, created_at=now, updated_at=now, **columns)
                session.add(made)
                await session.flush()
                session.add(_event(made, now))
                await self._changes.announce(session, WORKLOADS)
        except IntegrityError:  # on PostgreSQL, another transaction was faster
            async with self._store.read() as session:
                taken = await self._by_slug(session, project_id, columns["slug"])
            if taken is None:
                raise Refusal(409, f"workload '{columns['slug']}' was deleted meanwhile; try again") from None
            return _same(taken, columns), False
        self._changes.deliver(WORKLOADS)
        return made, True

    async def get(self, id: str) -> Workload:
        """Returns a workload by its id. Raises `Refusal` 404 if it does not exist."""
        async with self._store.read() as session:
            return await self._by_id(session, id)

    async def change(self, id: str, body: Any) -> Workload:
        """Changes a workload; other processes start if one of `specs.RUNTIME` changes.

        Raises:
            Refusal: 400: the body is invalid. 404: there is no such workload.
        """
        async with self._store.write() as session:
            live = await self._by_id(session, id)
            columns = specs.changed(body, {name: getattr(live, name) for name in specs.CREATED})
            if not columns:
                return live
            now = self._clock()
            for name, value in columns.items():
                setattr(live, name, value)
            live.updated_at = now
            if set(columns) & set(specs.RUNTIME):
                live.generation += 1
                live.phase, live.message = "scheduling", "waiting for a worker"
                session.add(_event(live, now))
            await self._changes.announce(session, WORKLOADS)
        self._changes.deliver(WORKLOADS)
        return live

    async def delete(self, id: str) -> None:
        """Marks a workload as deleted; the reconciler stops it. Raises `Refusal` 404 if it does not exist."""
        async with self._store.write() as session:
            live = await self._by_id(session, id)
            live.deleted_at = self._clock()
            await self._changes.announce(session, WORKLOADS)
        self._changes.deliver(WORKLOADS)

    async def is_gone(self, id: str) -> bool:
        """Returns True if nothing of a deleted workload is left."""
        async with self._store.read() as session:
            return await session.get(Workload, id) is None

    async def by_slug(self, project_id: str, slug: str) -> Workload:
        """Returns a workload by its slug. Raises `Refusal` 404 if it does not exist."""
        async with self._store.read() as session:
            found = await self._by_slug(session, project_id, slug)
        if found is None:
            raise Refusal(404, f"no workload '{slug[:100]}' in this project")
        return found

    async def events(self, workload_id: str, after: int) -> list[Event]:
        """Returns the events of a workload after an event's id, oldest first."""
        query = select(Event).where(Event.workload_id == workload_id, Event.id > after).order_by(Event.id)
        async with self._store.read() as session:
            return list((await session.scalars(query)).all())

    async def route(self, project_id: str, slug: str) -> Route:
        """Returns where a workload is. Raises `Refusal` 404 if it does not exist."""
        known = self._routes.get((project_id, slug))
        if known is not None and known[1] and self._changes.reliable:
            return known[0]
        try:
            found = await self.by_slug(project_id, slug)
        except Refusal:
            self._routes.pop((project_id, slug), None)
            raise
        except Exception:
            if known is None:
                raise
            return known[0]  # the store is down: what was there goes on answering
        route = Route(
            found.id,
            found.task_type,
            found.backend,
            found.model_name,
            found.phase,
            found.message,
            found.address,
        )
        if len(self._routes) >= _MAX_ROUTES:
            self._routes.clear()
        self._routes[project_id, slug] = route, True
        return route

    async def desired(self) -> list[tuple[Workload, str]]:
        """Returns all workloads and the slugs of their projects, with those that are to be stopped."""
        query = select(Workload, Project.slug).join(Project, Project.id == Workload.project_id)
        async with self._store.read() as session:
            return [(workload, slug) for workload, slug in (await session.execute(query)).all()]

    async def report(self, report: Report) -> None:
        """Notes the progress of a workload; that of an earlier generation changes nothing but what serves."""
        now, message = self._clock(), report.message[:_MAX_MESSAGE]
        async with self._store.write() as session:
            found = await session.get(Workload, report.workload_id)
            if found is None:
                return
            found.address, found.serving = report.address, report.serving
            if report.generation == found.generation:
                found.phase, found.message = report.phase, message
                found.ready, found.wanted = report.ready, report.wanted
                session.add(_event(found, now, report.step))
                await session.flush()
                await self._trim(session, found.id)
            await self._changes.announce(session, WORKLOADS)
        self._changes.deliver(WORKLOADS)

    async def forget(self, id: str) -> None:
        """Removes what is left of a deleted workload."""
        async with self._store.write() as session:
            await session.execute(delete(Event).where(Event.workload_id == id))
            await session.execute(delete(ReplicaRow).where(ReplicaRow.workload_id == id))
            await session.execute(delete(Workload).where(Workload.id == id, Workload.deleted_at.is_not(None)))
            await self._changes.announce(session, WORKLOADS)
        self._changes.deliver(WORKLOADS)

    async def clear_addresses(self) -> None:
        """Notes that no workload runs: after a start of the placement."""
        async with self._store.write() as session:
            await session.execute(update(Workload).values(address=None, serving=None, ready=0))
            await self._changes.announce(session, WORKLOADS)
        self._changes.deliver(WORKLOADS)

    async def _by_slug(self, session: AsyncSession, project_id: str, slug: str) -> Workload | None:
        query = _live().where(Workload.project_id == project_id, Workload.slug == slug)
        found: Workload | None = (await session.scalars(query)).first()
        return found

    async def _by_id(self, session: AsyncSession, id: str) -> Workload:
        found = await session.get(Workload, id)
        if found is None or found.deleted_at is not None:
            raise Refusal(404, f"no workload with id '{id[:64]}'")
        return found

    async def _trim(self, session: AsyncSession, id: str) -> None:
        query = select(Event.id).where(Event.workload_id == id).order_by(Event.id.desc())
        oldest = (await session.scalars(query.offset(_MAX_EVENTS).limit(1))).first()
        if oldest is not None:
            await session.execute(delete(Event).where(Event.workload_id == id, Event.id <= oldest))

    def _forget(self, topic: str) -> None:
        if topic in (WORKLOADS, ALL):
            self._routes = {key: (route, False) for key, (route, _) in self._routes.items()}


def record(workload: Workload) -> dict[str, Any]:
    """Returns a workload as JSON."""
    return {
        "id": workload.id,
        "project_id": workload.project_id,
        **{name: getattr(workload, name) for name in specs.CREATED},
        "phase": workload.phase,
        "message": workload.message,
        "created_at": _iso(workload.created_at),
        "updated_at": _iso(workload.updated_at),
    }


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _live() -> Select[Workload]:
    return select(Workload).where(Workload.deleted_at.is_(None))


def _same(live: Workload, columns: Mapping[str, Any]) -> Workload:
    differing = [name for name, value in columns.items() if getattr(live, name) != value]
    if differing:
        raise Refusal(409, f"workload '{live.slug}' exists with other values of {', '.join(differing)}")
    return live


def _event(workload: Workload, now: float, step: str | None = None) -> Event:
    return Event(
        workload_id=workload.id,
        generation=workload.generation,
        at=now,
        phase=workload.phase,
        message=workload.message,
        step=step,
    )
