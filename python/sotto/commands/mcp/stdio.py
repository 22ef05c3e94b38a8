"""Standard input and output as the wire of a server, which Ctrl-C ends at once."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from typing import Any

MAX_LINE = 4 << 20  # bytes
_PART = 65536


class Lines:
    """The lines of a file descriptor, which a daemon thread reads. It does not keep the process alive."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._free = threading.Semaphore(64)  # lines that may wait
        threading.Thread(target=self._read, name="sotto-mcp-input", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        if (line := await self._queue.get()) is None:
            raise StopAsyncIteration
        self._free.release()
        return line

    def _read(self) -> None:
        rest = b""
        try:
            while part := os.read(self._fd, _PART):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    self._free.acquire()
                    self._post(line.decode("utf-8", "replace"))
                if len(rest) > MAX_LINE:
                    break
        except OSError:
            pass
        self._post(None)

    def _post(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)


async def serve_stdio(server: Any) -> None:
    """Serves until the input ends. Standard output has the protocol alone; other output goes to stderr."""
    from mcp.server.stdio import stdio_server

    inner = server._lowlevel_server
    async with stdio_server(stdin=Lines(0)) as (read, write):  # type: ignore[arg-type]  # it iterates alone
        await inner.run(read, write, inner.create_initialization_options())
