"""Scripts of turns for the scripted backend: what the model says and calls in each round."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import sotto
import sotto.aio
from conftest import SCRIPTED

Deltas = list[list[dict[str, Any]]]


def call(name: str, arguments: Any = None, number: int = 0, call_id: str | None = None) -> dict[str, Any]:
    """A delta with a whole call. `arguments` that are a str are not JSON yet, and stay as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    function = {"name": name, "arguments": text}
    return {
        "tool_calls": [
            {"index": number, "id": call_id or f"c{number}", "type": "function", "function": function}
        ]
    }


def split(delta: dict[str, Any]) -> Deltas:
    """The same call in two steps."""
    (one,) = delta["tool_calls"]
    text = one["function"]["arguments"]
    half = len(text) // 2
    first = {**one, "function": {**one["function"], "arguments": text[:half]}}
    rest = {"index": one["index"], "function": {"arguments": text[half:]}}
    return [[{"tool_calls": [first]}], [{"tool_calls": [rest]}]]


def calls(*given: dict[str, Any]) -> Deltas:
    """A round with these calls."""
    return [list(given)]


def says(text: str) -> Deltas:
    """A round that speaks."""
    return [[{"content": text}]]


def options(plays: Mapping[str, list[Deltas]], **more: Any) -> dict[str, Any]:
    """Load options of a model that answers user texts by their plays."""
    return {"constrainable": True, "tokens": ["x"], "streams": 16, "plays": dict(plays), **more}


def play(
    plays: Mapping[str, list[Deltas]],
    test: Callable[[sotto.aio.Engine], Awaitable[Any]],
    seconds: float = 60,
    **more: Any,
) -> None:
    """Runs `test` with an engine on a loop of its own, whose model `npc` has these plays."""

    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
            await engine.load_model("npc", options=options(plays, **more))
            await asyncio.wait_for(test(engine), seconds)

    asyncio.run(main())
