"""`RunningTurn`: a turn as a task of its own, with the queue of its events."""

from __future__ import annotations

import asyncio

from ..errors import InferenceError, Status
from .turn import Event, Turn

_tasks: set[asyncio.Task[None]] = set()  # the loop keeps no strong reference to a task


class TurnSlot:
    """The place of an agent's one turn."""

    def __init__(self) -> None:
        self.taken = False


class RunningTurn:
    """A turn as a task of the running loop. Belongs to that loop.

    Raises:
        InferenceError: The agent has another turn.
    """

    def __init__(self, turn: Turn, slot: TurnSlot) -> None:
        if slot.taken:
            raise InferenceError(
                "the agent already answers: read its stream to the end, or close it", Status.BUSY
            )
        slot.taken = True
        self.turn = turn
        self._slot = slot
        self._queue: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.task = asyncio.ensure_future(self._run())
        _tasks.add(self.task)
        self.task.add_done_callback(_tasks.discard)

    async def next(self) -> Event | None:
        """Waits for the next event; None: the turn has ended. Cancels the turn if the task is cancelled."""
        try:
            event = await self._queue.get()
        except BaseException:
            await self.close()
            raise
        if event is None or isinstance(event, BaseException):
            self._queue.put_nowait(None)
        if isinstance(event, BaseException):
            raise event
        return event

    async def close(self) -> None:
        """Cancels the turn, and waits until its tools have ended or were left behind."""
        self.task.cancel()
        await asyncio.wait({self.task})

    async def _run(self) -> None:
        end: BaseException | None = None
        try:
            await self.turn.run(self._queue.put_nowait)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            end = error
        finally:
            self._slot.taken = False
            self._queue.put_nowait(end)
