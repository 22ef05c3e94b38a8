"""Draws frame times as bars in two text rows, the newest at the right. Full height: one frame period."""

from __future__ import annotations

from rich.text import Text

from .frames import PERIOD, FrameStats

FRAMES_EACH = 4  # frames per bar; the bar shows the longest frame
_BARS = " ▁▂▃▄▅▆▇█"
_PLAIN = " __--==##"  # for terminals with ASCII only
_FULL = 2 * (len(_BARS) - 1)
_STYLES = ("green", "yellow", "bold red")


def rows(stats: FrameStats, columns: int, *, plain: bool = False) -> tuple[Text, Text]:
    """Returns the upper and the lower row, `columns` wide. Only a missed frame fills both rows.

    `plain`: uses ASCII characters only.
    """
    bars = _PLAIN if plain else _BARS
    upper, lower = Text(no_wrap=True), Text(no_wrap=True)
    shown = _worst(stats.times_ms, columns)
    for row in (upper, lower):
        row.append(" " * (columns - len(shown)))
    for time_ms in shown:
        height = _height(time_ms)
        style = _STYLES[2 if height == _FULL else 1 if height > _FULL * 3 // 4 else 0]
        upper.append(bars[max(0, height - _FULL // 2)], style)
        lower.append(bars[min(_FULL // 2, height)], style)
    return upper, lower


def _worst(times_ms: list[float], columns: int) -> list[float]:
    first = max(0, len(times_ms) // FRAMES_EACH - columns) * FRAMES_EACH
    last = len(times_ms) // FRAMES_EACH * FRAMES_EACH  # only full bars, so that a drawn bar never changes
    return [max(times_ms[at : at + FRAMES_EACH]) for at in range(first, last, FRAMES_EACH)]


def _height(time_ms: float) -> int:
    part = time_ms / 1000 / PERIOD
    return _FULL if part >= 1 else max(1, min(_FULL - 1, round(part * _FULL)))
