"""Sessions whose opening is cut off: by a cancelled task, by Ctrl-C at any line. None stays open."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import PACKAGE, SCRIPTED

OPENS: dict[str, Callable[[sotto.Session], sotto.Session]] = {
    "session": lambda mara: mara._engine.session(None, "You are Mara."),
    "named session": lambda mara: mara._engine.session("brenna", model="npc"),
    "fork": lambda mara: mara.fork(),
    "named fork": lambda mara: mara.fork("brenna", keep=0),
}
AWAITS: dict[str, Callable[[sotto.aio.Session], Awaitable[sotto.aio.Session]]] = {
    "session": lambda mara: mara._engine.session(None, "You are Mara."),
    "named session": lambda mara: mara._engine.session("brenna", model="npc"),
    "fork": lambda mara: mara.fork(),
    "named fork": lambda mara: mara.fork("brenna", keep=0),
}


async def _settled(engine: sotto.aio.Engine) -> set[str]:
    """The sessions, once nothing is under way any more."""
    for _ in range(500):
        if not engine._asked and engine.stats().live == 0:
            break
        await asyncio.sleep(0.01)
    return set(await engine.sessions())


@pytest.mark.parametrize("name", AWAITS)
def test_a_cancelled_opening_leaves_no_session(name: str) -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            mara = await engine.session("mara")

            async def use() -> None:
                async with await AWAITS[name](mara):
                    await asyncio.sleep(10)

            for number in range(60):
                task = asyncio.ensure_future(use())
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                if number % 4 == 3:
                    await asyncio.sleep(number / 20_000)  # some are open by then
                task.cancel()
                if number % 3 == 0:  # and again, while it closes the session
                    await asyncio.sleep(0)
                    task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await _settled(engine) == {"mara"}

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_cancelled_opening_leaves_the_session_that_had_the_id(engine: sotto.Engine) -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as loop_engine:
            await loop_engine.session("mara", "You are Mara.")
            for number in range(8):
                task = asyncio.ensure_future(loop_engine.session("mara"))
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises((asyncio.CancelledError, sotto.SottoError)):
                    await task
            assert await _settled(loop_engine) == {"mara"}
            assert await loop_engine.sessions() == {"mara": 1}

    asyncio.run(asyncio.wait_for(main(), 60))


class Interrupt:
    """Raises `KeyboardInterrupt` at the `number`th line of the package that runs. A context manager."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __enter__(self) -> Interrupt:
        sys.settrace(self._calls)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.settrace(None)

    def _calls(self, frame: Any, event: str, arg: Any) -> Any:
        return self._lines if frame.f_code.co_filename.startswith(str(PACKAGE) + os.sep) else None

    def _lines(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._lines


@pytest.mark.parametrize("name", OPENS)
def test_ctrl_c_at_any_line_of_an_opening_leaves_no_session(npc: sotto.Engine, name: str) -> None:
    mara = npc.session("mara")
    lines = 0
    while True:
        lines += 1
        try:
            with Interrupt(lines):
                opened = OPENS[name](mara)
            break
        except KeyboardInterrupt:
            assert set(npc.sessions()) == {"mara"}, f"interrupted at line {lines}"
    opened.close()
    assert lines > 50 and set(npc.sessions()) == {"mara"}


def test_ctrl_c_leaves_the_session_that_had_the_id(npc: sotto.Engine) -> None:
    npc.session("mara", "You are Mara.")
    lines = 0
    while True:
        lines += 1
        try:
            with Interrupt(lines):
                npc.session("mara")
        except KeyboardInterrupt:
            assert npc.sessions() == {"mara": 1}
        except sotto.SottoError as error:
            assert "is already open" in str(error)
            break
    assert lines > 50 and npc.sessions() == {"mara": 1}


def test_ctrl_c_while_a_session_closes_closes_it(npc: sotto.Engine) -> None:
    lines, ended = 0, 0
    while not ended:
        lines += 1
        mara = npc.session("mara")
        try:
            with Interrupt(lines):
                mara.close()
            ended = lines
        except KeyboardInterrupt:
            mara.close()  # one that was interrupted before it began
        assert npc.sessions() == {}
    assert ended > 20
