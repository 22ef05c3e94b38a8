"""A game of 60 frames per second with a server in its process: prints the port, then its missed frames.

`python server_game.py MODEL.gguf`: runs until a line arrives on the standard input.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
import time

import uvicorn

from sotto import aio
from sotto.server import app

FRAME, WORK = 1 / 60, 0.006  # seconds of a frame, and of the work in it


def work() -> None:
    """The game's work of one frame, on one core, without Python's lock."""
    end = time.monotonic() + WORK
    while time.monotonic() < end:
        hashlib.pbkdf2_hmac("sha256", b"frame", b"game", 400)


def play(engine: aio.Engine, over: threading.Event, told: list[float]) -> None:
    """Runs frames until the end of the game; a frame is missed if its work ends after the frame."""
    due, frames, missed = time.monotonic(), 0, 0
    while not over.is_set():
        engine.frame_begin(period=FRAME)
        work()
        engine.frame_end()
        due, frames = due + FRAME, frames + 1
        if time.monotonic() > due:
            missed, due = missed + 1, time.monotonic()
        time.sleep(due - time.monotonic() if due > time.monotonic() else 0)
    told.append(missed / max(frames, 1))


async def main(model: str) -> None:
    """Serves and plays."""
    async with aio.Engine(mode="prioritize_graphics") as engine:
        await engine.load_model("npc", path=model)
        server = uvicorn.Server(uvicorn.Config(app(engine), port=0, log_level="error"))
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        over, told = threading.Event(), list[float]()
        playing = threading.Thread(target=play, args=(engine, over, told))
        playing.start()
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        over.set()
        playing.join()
        print(told[0], flush=True)
        server.force_exit = server.should_exit = True
        await serving


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)  # a frame does not wait 5 ms for Python's lock
    asyncio.run(main(sys.argv[1]))
