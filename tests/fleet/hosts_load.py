"""Clients of a fleet, in a host of hosts.py: sessions that ask again and again, each answer on one line.

Argument: a JSON object with `ingresses` (addresses), `sessions`, `seconds`, `tokens`, `pace` (tokens per
second), `pause` (seconds between two requests of a session), `silence` (seconds) and `path`. Output: a line
`ready`, then one JSON object for each request. A client whose ingress refuses a connection goes to the next
one, as clients with several addresses do; a stream that is silent for `silence` seconds has failed.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

import httpx2

CONNECT = 1.0  # seconds


async def ask(http: httpx2.AsyncClient, order: dict[str, Any], session: int, ingress: str) -> dict[str, Any]:
    """Sends a request. Returns what came of it."""
    body = {
        "messages": [{"role": "user", "content": f"I am {session}."}],
        "max_tokens": order["tokens"],
        "target_tps": order["pace"],
        "stream": True,
    }
    told: dict[str, Any] = {"session": session, "ingress": ingress, "began": time.monotonic()}
    words: list[str] = []
    complete, error = False, ""
    try:
        headers = {"x-session-id": f"player-{session}"}
        async with http.stream("POST", ingress + order["path"], json=body, headers=headers) as answer:
            if answer.status_code != 200:
                error = f"status {answer.status_code}: {(await answer.aread()).decode()[:200]}"
            else:
                async for line in answer.aiter_lines():
                    if line == "data: [DONE]":
                        complete = True
                    elif line.startswith("data: "):
                        told.setdefault("first", time.monotonic())
                        chunk = json.loads(line[6:])
                        if "error" in chunk:
                            error = json.dumps(chunk["error"])[:200]
                        for choice in chunk.get("choices", ()):
                            words += (choice["delta"].get("content") or "").split()
    except httpx2.TransportError as broken:
        error = f"{type(broken).__name__}: {broken}"
        told["unreached"] = isinstance(broken, httpx2.ConnectError | httpx2.ConnectTimeout)
    told |= {"ended": time.monotonic(), "replicas": sorted(set(words)), "tokens": len(words), "error": error}
    told["ok"] = complete and not error and len(words) == order["tokens"] and len(set(words)) == 1
    return told


async def play(http: httpx2.AsyncClient, order: dict[str, Any], session: int, end: float) -> None:
    """Asks as one session until the time is over, each time at another ingress."""
    chance = random.Random(session)
    await asyncio.sleep(chance.random() * order["pause"])
    ingresses = order["ingresses"]
    at = session
    while time.monotonic() < end:
        at += 1
        for attempt in range(len(ingresses)):
            told = await ask(http, order, session, ingresses[(at + attempt) % len(ingresses)])
            if not told.get("unreached"):
                break
        print(json.dumps(told), flush=True)
        await asyncio.sleep(order["pause"] * chance.uniform(0.5, 1.5))


async def main() -> None:
    """Reads the order, and plays it."""
    order = json.loads(sys.argv[1])
    timeout = httpx2.Timeout(order["silence"], connect=CONNECT)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=200)
    async with httpx2.AsyncClient(timeout=timeout, limits=limits, trust_env=False) as http:
        print("ready", flush=True)
        end = time.monotonic() + order["seconds"]
        await asyncio.gather(*(play(http, order, number, end) for number in range(order["sessions"])))


asyncio.run(main())
