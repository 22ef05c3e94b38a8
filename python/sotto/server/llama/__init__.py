"""The routes of llama.cpp's server: their own shapes, over the operations of the engine.

`routes()` returns them for a `Setup`, which says what the flags of llama-server set for all requests.
"""

from __future__ import annotations

from ..routing import Route
from . import completion, lora, models, props, slots, tokens, vectors
from .setup import Setup

__all__ = ["Setup", "routes"]


def routes(setup: Setup | None = None) -> tuple[Route, ...]:
    """Returns the routes that are llama.cpp's alone. None: the defaults of llama-server."""
    using = setup or Setup()
    made: list[Route] = []
    for part in (completion, tokens, vectors, props, slots, lora, models):
        made.extend(part.routes(using))
    return tuple(made)
