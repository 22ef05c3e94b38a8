"""Draws the engine's memory use as a row: a bar against the budget, by use, and a text."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from ..commands.text import megabytes
from ..stats import Stats

_MB = 1 << 20
_FREE = ("·", ".")


class Use(NamedTuple):
    """A use of memory: its name, the fill character of its bar, the ASCII fill character, and its style."""

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
    """Returns a bar, then the amount as text in at least `words` of the `columns`.

    `plain`: uses ASCII characters only. The text is red if the memory in use exceeds the budget.
    """
    told = said(stats)
    over = 0 < stats.vram_budget < stats.bytes_in_use
    made = bar(stats, max(8, columns - max(words, len(told))), plain=plain)
    return made.append(told, "bold red" if over else "")


def bar(stats: Stats, columns: int, *, plain: bool = False) -> Text:
    """Returns a bar with one segment per use, scaled to the budget, or to the peak without a budget."""
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
    """Returns the memory in use, the budget and the number of evicted models as text."""
    asleep = f"  {stats.models_evicted} asleep" if stats.models_evicted else ""
    if stats.vram_budget:
        return f"  {megabytes(stats.bytes_in_use)} of {stats.vram_budget / _MB:,.0f} MB{asleep}"
    return f"  {megabytes(stats.bytes_in_use)} MB, no budget{asleep}"
