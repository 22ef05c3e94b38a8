"""Where tables go: the terminal in its width, a pipe or a file in whatever width they need."""

from __future__ import annotations

from typing import Any

_WIDE = 10_000


def console() -> Any:
    """A console on stdout that finds nothing to colour in what it prints."""
    from rich.console import Console

    made = Console(soft_wrap=True, highlight=False)
    if not made.is_terminal:
        made.width = _WIDE
    return made
