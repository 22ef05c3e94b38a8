"""The frame graph: a bar for each frame, with the engine's part, and figures beside it."""

from __future__ import annotations

import pygame
from meter import Meter
from paint import Colour, Point
from typeset import SANS, Typeset

from sotto import Stats

AREA = pygame.Rect(852, 628, 414, 84)
BARS, STEP = 74, 2  # bars, and pixels from one to the next
PLOT = pygame.Rect(10, 14, BARS * STEP, 60)
FULL_MS = 8.0  # at the top of the plot
EVERY = 15  # frames between two readings of the figures
OWN: Colour = (226, 158, 74)
SOTTO: Colour = (96, 206, 190)
MISSED: Colour = (226, 70, 58)
TEXT: Colour = (232, 214, 184)
DIM: Colour = (160, 138, 112)
BACK: Colour = (24, 16, 14)


class Graph:
    """Draws the graph and the figures onto a picture that is kept from frame to frame."""

    def __init__(self) -> None:
        self._font = Typeset(SANS, 12)
        self._picture = pygame.Surface(AREA.size)
        self._picture.fill(BACK)
        pygame.draw.rect(self._picture, (92, 64, 42), self._picture.get_rect(), 1, border_radius=4)
        self._plot = pygame.Surface(PLOT.size)
        self._plot.fill((34, 24, 20))
        self._label("ms per frame", (10, 0), DIM)
        self._label("game", (92, 0), OWN)
        self._label("Sotto", (126, 0), SOTTO)
        self._tick = self._read = 0

    def update(self, meter: Meter, stats: Stats | None) -> None:
        """Adds a bar for the last frame. `stats`: read anew if `due`."""
        if meter.frames:
            self._bar(meter)
        if self.due:
            self._figures(meter, stats)
            self._read += 1
        self._tick += 1

    @property
    def due(self) -> bool:
        """True if the next `update()` shows the figures anew."""
        return self._tick % EVERY == 0

    def pictures(self) -> list[tuple[pygame.Surface, Point, int]]:
        """Returns the figures and the plot, each with its place and its version."""
        plot = AREA.left + PLOT.left, AREA.top + PLOT.top
        return [(self._picture, AREA.topleft, self._read), (self._plot, plot, self._tick)]

    def _bar(self, meter: Meter) -> None:
        plot, height = self._plot, PLOT.height
        plot.scroll(-STEP, 0)
        x = PLOT.width - STEP
        plot.fill((34, 24, 20), (x, 0, STEP, height))
        if meter.late:
            plot.fill(MISSED, (x, 0, STEP, height))
            return
        own = min(height, round(meter.own_ms[-1] / FULL_MS * height))
        sotto = min(height - own, max(1, round(meter.sotto_ms[-1] / FULL_MS * height)))
        plot.fill(OWN, (x, height - own, STEP, own))
        plot.fill(SOTTO, (x, height - own - sotto, STEP, sotto))
        plot.fill((70, 50, 40), (x, height // 2, STEP, 1))

    def _figures(self, meter: Meter, stats: Stats | None) -> None:
        left = PLOT.right + 12
        self._picture.fill(BACK, (left, 4, AREA.width - left - 6, AREA.height - 8))
        recent = max(1, min(120, meter.frames))
        own, sotto = (sum(values[-recent:]) / recent for values in (meter.own_ms, meter.sotto_ms))
        lines = [f"game {own:.1f}, Sotto {sotto:.2f}; missed {meter.missed} of {meter.frames}"]
        if stats is not None:
            lines.append(f"{stats.tokens_per_s:.0f} tokens/s; models compute {100 * stats.busy:.0f} %")
            lines.append(f"first token {stats.ttft_mean_ms:.0f} ms; {self._memory(stats)}")
        for row, line in enumerate(lines):
            self._label(line, (left, 8 + 18 * row), TEXT)
        if stats is not None:
            self._memory_bar(stats, left, 68)

    @staticmethod
    def _memory(stats: Stats) -> str:
        used = f"memory {stats.bytes_in_use / 2**20:.1f}"
        return f"{used} of {stats.vram_budget / 2**20:.0f} MB" if stats.vram_budget else f"{used} MB"

    def _memory_bar(self, stats: Stats, left: int, top: int) -> None:
        wide = AREA.width - left - 14
        whole = max(stats.vram_budget or stats.bytes_peak, stats.bytes_in_use, 1)
        pygame.draw.rect(self._picture, (50, 36, 28), (left, top, wide, 7), border_radius=3)
        x = left
        for part, colour in ((stats.bytes_weights, OWN), (stats.bytes_kv, SOTTO), (stats.bytes_compute, DIM)):
            across = round(wide * part / whole)
            self._picture.fill(colour, (x, top, min(across, left + wide - x), 7))
            x += across

    def _label(self, text: str, place: tuple[int, int], colour: Colour) -> None:
        self._picture.blit(self._font.render(text, colour), place)
