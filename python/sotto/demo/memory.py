"""The engine's memory as a row: who has how much of it, as a bar against the budget, and in words."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from ..commands.text import megabytes
from ..stats import Stats

_MB = 1 << 20
_FREE = ("·", ".")


class Use(NamedTuple):
    """What memory is used for: its name, how its part of the bar is filled, and where it cannot be so."""

    name: str
    fill: str
    plain: str
    style: str


USES = (
    Use("weights", "█", "#", "cyan"),
    Use("kv", "▓", "=", "green"),
    Use("compute", "▒", "+", "yellow"),
    Use("parked", "░", "~", "magenta"),
    Use("other", "▒", "%", "blue"),  # adapters, images
)


def row(stats: Stats, columns: int, words: int, *, plain: bool = False) -> Text:
    """A bar, and beside it `words` columns or more that say how much that is."""
    told = said(stats)
    over = 0 < stats.vram_budget < stats.bytes_in_use
    made = bar(stats, max(8, columns - max(words, len(told))), plain=plain)
    return made.append(told, "bold red" if over else "")


def bar(stats: Stats, columns: int, *, plain: bool = False) -> Text:
    """Each use as long as its part of the budget; without one, of the most that there was so far."""
    counts = [stats.bytes_weights, stats.bytes_kv, stats.bytes_compute, stats.bytes_parked]
    counts.append(max(0, stats.bytes_in_use - sum(counts)))
    whole = max(stats.vram_budget or stats.bytes_peak, sum(counts), 1)
    made, taken = Text(no_wrap=True, overflow="crop"), 0
    for use, count in zip(USES, counts, strict=True):
        taken += count
        width = round(taken / whole * columns) - len(made)
        name = use.name if width > len(use.name) else ""
        made.append(name + (use.plain if plain else use.fill) * (width - len(name)), use.style)
    return made.append(_FREE[plain] * (columns - len(made)), "dim")


def said(stats: Stats) -> str:
    """The same in words."""
    asleep = f"  {stats.models_evicted} asleep" if stats.models_evicted else ""
    if stats.vram_budget:
        return f"  {megabytes(stats.bytes_in_use)} of {stats.vram_budget / _MB:,.0f} MB{asleep}"
    return f"  {megabytes(stats.bytes_in_use)} MB, no budget{asleep}"
