"""Control planes for tests: the real application and store, with a placement that each test drives."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import uvicorn
from sqlalchemy import select

from sotto.fleet.control.application import app
from sotto.fleet.control.placement import Deployment, Node, Placement, Places, Report, Reporter
from sotto.fleet.control.service import Service
from sotto.fleet.control.settings import ControlSettings
from sotto.fleet.control.store import Store
from sotto.fleet.control.tables import Project
from sotto.server.listening import connection

T = TypeVar("T")


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class FakePlacement:
    """Runs nothing; reports what `say()` says. `address`: that of every workload that is ready."""

    outlives = False

    def __init__(self, address: str | None = None) -> None:
        self.address = address
        self.current: dict[str, Deployment] = {}
        self.calls: list[tuple[str, str]] = []
        self.stuck = False  # whether `remove()` never ends
        self.automatic = True  # whether a deployment becomes ready by itself
        self._report: Reporter | None = None

    async def start(self, report: Reporter) -> None:
        self._report = report

    async def nodes(self) -> list[Node]:
        return [Node("n1", 8, 1 << 34, ("gpu0",), "1")]

    async def deploy(self, deployment: Deployment) -> None:
        known = self.current.get(deployment.workload_id)
        self.current[deployment.workload_id] = deployment
        if known == deployment:
            return
        self.calls.append(("deploy", deployment.slug))
        if self.automatic:
            await self.say(deployment.slug, "ready", "serving")

    async def remove(self, workload_id: str) -> None:
        while self.stuck:
            await asyncio.sleep(0.01)
        if (gone := self.current.pop(workload_id, None)) is not None:
            self.calls.append(("remove", gone.slug))

    def places(self, workload_id: str) -> Places:
        known = self.current.get(workload_id)
        count = 0 if known is None else known.replicas
        return Places({"n1": count} if count else {}, {"n1": 8})

    def deployed(self) -> Mapping[str, Deployment]:
        return dict(self.current)

    async def stop(self) -> None:
        self.current.clear()

    async def say(self, slug: str, phase: str, message: str, step: str | None = None) -> None:
        """Reports the progress of a workload."""
        assert self._report is not None
        found = next(one for one in self.current.values() if one.slug == slug)
        address = self.address if phase == "ready" else None
        await self._report(
            Report(
                workload_id=found.workload_id,
                generation=found.generation,
                phase=phase,
                message=message,
                step=step,
                address=address,
                ready=found.replicas if phase == "ready" else 0,
                wanted=found.replicas,
            )
        )


class Control:
    """A control plane on an event loop of its own. Used in a `with` statement."""

    def __init__(
        self,
        database: str | Path,
        placement: Placement,
        clock: Any = time.time,
        settings: ControlSettings | None = None,
    ) -> None:
        self.placement: Any = placement
        self._database, self._clock = str(database), clock
        self._settings = settings or ControlSettings(delete_wait=5.0)
        self._loop = asyncio.new_event_loop()
        self._ready: concurrent.futures.Future[tuple[Service, str]] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self.service: Service
        self.url: str

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop of the control plane."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def token(self, kind: str = "sdk", project: str = "acme", **more: Any) -> str:
        """Makes a token; its project too, if there is none."""

        async def make() -> str:
            async with self.service.store.write() as session:
                query = select(Project).where(Project.slug == project)
                if (await session.scalars(query)).first() is None:
                    session.add(Project(slug=project, created_at=0.0))
            return await self.service.tokens.create(project, kind, **more)

        return self.run(make())

    def ask(self, method: str, path: str, token: str | None = None, body: Any = None, **more: Any) -> Any:
        """Sends a request. Returns the response."""
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        given = {"json": body} if body is not None else {}
        with httpx2.Client(trust_env=False, verify=False, timeout=60) as http:
            return http.request(method, self.url + path, headers=headers, **given, **more)

    def say(self, *given: Any) -> None:
        """Reports the progress of a workload."""
        self.run(self.placement.say(*given))

    def deployed(self, slug: str) -> Deployment:
        """Waits until a workload is deployed. Returns it."""
        for _ in range(500):
            for one in list(self.placement.deployed().values()):
                if one.slug == slug:
                    return one
            time.sleep(0.01)
        raise AssertionError(f"{slug} was not deployed")

    def __enter__(self) -> Control:
        self._thread.start()
        self.service, self.url = self._ready.result(60)
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(60)
        assert not self._thread.is_alive()
        self._loop.close()

    async def _serve(self) -> None:
        self._leave = asyncio.Event()
        try:
            service = Service(await Store.open(self._database), self.placement, self._settings, self._clock)
            await service.start()
            config = uvicorn.Config(
                app(service),
                port=0,
                http=connection(self._settings.write_timeout),
                lifespan="off",
                log_config=None,
                timeout_graceful_shutdown=1,
            )
            server = _Server(config)
            serving = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.005)
            port = server.servers[0].sockets[0].getsockname()[1]
            self._ready.set_result((service, f"http://127.0.0.1:{port}"))
        except BaseException as error:
            self._ready.set_exception(error)
            raise
        await self._leave.wait()
        server.should_exit = True
        await serving
        await service.stop()


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """The thread is not the main one."""
