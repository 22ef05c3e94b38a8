"""Runs functions of the application within a time limit, on threads that do not keep the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

_GRACE = 1.0  # seconds that a cancelled coroutine has to end
_abandoned: set[asyncio.Task[Any]] = set()  # coroutines that did not end when they were cancelled


@dataclass(frozen=True)
class Outcome:
    """How a function ended: with a value, with an exception, or not within its time limit."""

    kind: Literal["value", "error", "timed_out"]
    value: Any = None


def is_async(function: Any) -> bool:
    """Returns True if calling the function makes a coroutine."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


async def on_thread(function: Callable[[], Any]) -> Outcome:
    """Calls a function on a daemon thread of its own. The thread goes on if the task is cancelled."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def work() -> None:
        try:
            outcome = Outcome("value", context.run(function))
        except BaseException as error:
            outcome = Outcome("error", error)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=work, name="sotto-agent-call", daemon=True).start()
    return await future


async def value_of(function: Callable[[], Any]) -> Any:
    """Calls a function on a daemon thread of its own. Returns its value, or raises its error."""
    outcome = await on_thread(function)
    if outcome.kind == "error":
        raise outcome.value
    return outcome.value


async def limited(
    function: Callable[[], Any], seconds: float, *, awaited: bool, end: Callable[[], None] | None = None
) -> Outcome:
    """Calls a function, and cancels it when its time is over or the task is cancelled.

    Args:
        function: Called on a thread; on the loop if `awaited`.
        seconds: Time limit.
        awaited: True if the function returns a coroutine.
        end: Called when the function is cancelled.
    """
    stopped = False

    async def call() -> Outcome:
        try:
            outcome = Outcome("value", function()) if awaited else await on_thread(function)
            if outcome.kind == "value" and inspect.isawaitable(outcome.value):
                return Outcome("value", await outcome.value)
            return outcome
        except asyncio.CancelledError as error:
            if stopped:
                raise
            return Outcome("error", error)
        except BaseException as error:
            return Outcome("error", error)

    task = asyncio.ensure_future(call())
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
        return Outcome("timed_out")
    finally:
        if not task.done():
            stopped = True
            if end is not None:
                end()
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_abandoned.discard)
            await asyncio.wait({task}, timeout=_GRACE)
