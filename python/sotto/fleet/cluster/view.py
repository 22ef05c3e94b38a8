"""`View`: the state of the cluster as a task of the event loop polls it, and calls in threads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from .cluster import Application, Cluster
from .needs import RayNode

log = logging.getLogger("sotto.fleet")
T = TypeVar("T")
_EVERY = 0.5  # seconds between two polls
_PATIENCE = 10.0  # seconds without an answer after which the cluster counts as away
_THREADS = 8  # a plan of each workload may wait in one


class State(NamedTuple):
    """Applications by name, and nodes."""

    applications: Mapping[str, Application]
    nodes: list[RayNode]


class View:
    """Polls a cluster and makes calls to it; the event loop waits for none.

    Attributes:
        state: The state at the last poll.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.state = State({}, [])
        self._threads = ThreadPoolExecutor(_THREADS, "sotto-ray")
        self._next: asyncio.Future[State] | None = None  # for calls before the next poll
        self._waiting: list[asyncio.Future[State]] = []  # those of polls that run or failed
        self._away = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def away(self) -> bool:
        """True while the cluster does not answer; replicas may go on meanwhile."""
        return self._away.is_set()

    def start(self) -> None:
        """Begins to poll, unless it does."""
        if self._task is None:
            self._next = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._poll())

    async def stop(self) -> None:
        """Ends polling. Calls that wait for a poll are cancelled."""
        task, self._task = self._task, None
        if task is not None and self._next is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            for one in (*self._waiting, self._next):
                one.cancel()
            self._waiting.clear()

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Runs a call to Ray in a thread, to its end even if the task is cancelled."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running], timeout=_PATIENCE if self.away else None)
            raise

    async def next(self, on_away: Callable[[], Awaitable[None]] | None = None) -> State:
        """Waits for a state that is polled after this call, however long the cluster is away.

        Args:
            on_away: Called once if the cluster does not answer.
        """
        state = self._next
        if state is None:
            raise RuntimeError("the placement was not started")
        if on_away is not None:
            away = asyncio.create_task(self._away.wait())
            either: list[asyncio.Future[Any]] = [state, away]
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                away.cancel()
            if not state.done():
                await on_away()
        return await asyncio.shield(state)

    async def _poll(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            assert self._next is not None
            self._waiting.append(self._next)
            self._next = loop.create_future()
            looking = loop.run_in_executor(self._threads, self._look)
            try:
                if looking not in (await asyncio.wait([looking], timeout=_PATIENCE))[0]:
                    self._miss(f"no answer within {_PATIENCE:g} s")
                self.state = await looking
            except Exception as error:
                self._miss((str(error).splitlines() or [type(error).__name__])[0])
                with contextlib.suppress(Exception):  # the next poll shows whether it helped
                    await loop.run_in_executor(self._threads, self.cluster.start_serve)
            else:
                if self.away:
                    log.info("the Ray cluster answers again")
                self._away.clear()
                for one in self._waiting:
                    one.set_result(self.state)
                self._waiting.clear()
            await asyncio.sleep(_EVERY)

    def _miss(self, reason: str) -> None:
        if not self.away:
            log.warning("the Ray cluster does not answer: %s", reason)
        self._away.set()

    def _look(self) -> State:
        return State(self.cluster.applications(), self.cluster.nodes())
