"""Players of a fleet, in a host of hosts.py: sessions that ask with our client, each answer on one line.

Argument: a JSON object with `ingresses` (addresses), `key`, `sessions`, `seconds`, `least` (answers of all
sessions, which may take longer), `tokens` and `pause` (seconds between two requests of a session). Output: a
line `ready`, then one JSON object for each answer.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

import sotto.fleet as fleet


async def ask(endpoint: fleet.AsyncEndpoint, session: int, tokens: int) -> dict[str, Any]:
    """Asks once. Returns what came of it."""
    told: dict[str, Any] = {"session": session, "began": time.monotonic(), "resumed": False, "error": ""}
    messages = [
        {"role": "system", "content": f"You are the smith, and speak with player {session}."},
        {"role": "user", "content": "Who are you?"},
    ]
    texts: list[str] = []
    try:
        stream = await endpoint.generate_text_stream(messages=messages, temperature=0.0, max_tokens=tokens)
        async for chunk in stream:
            told.setdefault("first", time.monotonic())
            texts.append(chunk.text or "")
            told["resumed"] |= bool((chunk.raw or {}).get("resumed"))
    except fleet.InferenceKeyError as error:
        told["error"] = f"{type(error).__name__}: {error}"[:300]
    return told | {"ended": time.monotonic(), "text": "".join(texts)}


async def play(order: dict[str, Any], session: int, end: float, ended: list[int]) -> None:
    """Asks as one session until the time is over and enough answers have ended; `ended`: their sessions."""
    url = order["ingresses"][session % len(order["ingresses"])]
    data = fleet.AsyncDataClient(base_url=url, project="acme", api_key=order["key"])
    endpoint = data.endpoint("smith")
    await asyncio.sleep(random.random() * order["pause"])
    while time.monotonic() < end or len(ended) < order["least"]:
        print(json.dumps(await ask(endpoint, session, order["tokens"])), flush=True)
        ended.append(session)
        await asyncio.sleep(order["pause"] * (0.5 + random.random()))


async def main() -> None:
    """Plays all sessions."""
    order = json.loads(sys.argv[1])
    print("ready", flush=True)
    end = time.monotonic() + order["seconds"]
    ended: list[int] = []
    await asyncio.gather(*(play(order, session, end, ended) for session in range(order["sessions"])))


asyncio.run(main())
