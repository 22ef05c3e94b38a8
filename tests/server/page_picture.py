"""Draws docs/pages/guide/server-page.png: `python tests/server/page_picture.py FILE.png`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
import time
import urllib.request
from pathlib import Path

import uvicorn
from browser import Page, browser

import sotto
from sotto import aio
from sotto.server import app

WIDE, HIGH = 1280, 720
LINES = ("Who sits by the fire?", "Is there a room left?", "What do you think of the baker?")


async def main(file: Path) -> None:
    async with aio.Engine(mode="balance", target_tps=12) as engine:
        await engine.load_model("sotto/house")
        config = uvicorn.Config(app(engine), port=0, log_level="error")
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        threading.Thread(target=frames, args=(engine,), daemon=True).start()
        await asyncio.to_thread(draw, url, file)
        server.should_exit = True
        await serving


def frames(engine: aio.Engine) -> None:
    """A game of 60 frames per second whose work takes 5 ms."""
    due = time.monotonic()
    with contextlib.suppress(sotto.SottoError):  # the engine is closed
        while True:
            engine.frame_begin(period=1 / 60)
            time.sleep(0.005)
            engine.frame_end()
            due = max(due + 1 / 60, time.monotonic())
            time.sleep(due - time.monotonic() if due > time.monotonic() else 0)


def draw(url: str, file: Path) -> None:
    for line in LINES:
        threading.Thread(target=speak, args=(url, line), daemon=True).start()
    with browser() as page:
        page.open(url + "/", WIDE, HIGH)
        chat(page, "Good evening. Is there a room left?")
        page.until("points.length > 60", 60)
        page.picture(file)
        if page.complaints:
            sys.exit(f"the page has errors: {page.complaints}")


def speak(url: str, line: str) -> None:
    """Asks again and again, as a character of a game would."""
    messages = [{"role": "user", "content": line}]
    body = {"messages": messages, "max_tokens": 400, "ignore_eos": True, "stream": True}
    with urllib.request.urlopen(
        urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode())
    ) as told:
        for _ in told:
            pass


def chat(page: Page, line: str) -> None:
    """Types a line and waits for the first words of the answer."""
    page.until("document.querySelectorAll('#model option').length > 0")
    page.run(f"at('text').value = {json.dumps(line)}; at('say').requestSubmit()")
    page.until("document.querySelector('#log .assistant')?.textContent.length > 5", 60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
