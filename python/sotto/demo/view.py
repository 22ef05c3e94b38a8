"""What the demo shows: a live picture in a terminal, or plain lines."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from .scene import Scene

COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")
REDRAW = 0.1  # seconds between pictures, where frames leave time for them
PATIENCE = 0.6  # seconds after which there is a picture anyway


class View:
    """What every view can do. Drawing happens in a frame's slack, never in its work."""

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, text: str) -> None:
        """Says what is going on."""

    def show(self, scene: Scene, slack: float) -> None:
        """Shows the scene, if `slack` seconds are enough."""

    def flush(self, scene: Scene) -> None:
        """Shows every line that is whole, whatever it costs."""

    def summary(self, report: dict[str, Any]) -> None:
        """Shows how it went."""


class Headless(View):
    """Plain lines, as they become whole."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def note(self, text: str) -> None:
        """One line on stderr."""
        print(f"{text} ...", file=sys.stderr, flush=True)

    def show(self, scene: Scene, slack: float) -> None:
        """A question and its answer, once whole."""
        self.flush(scene)

    def flush(self, scene: Scene) -> None:
        """The same, whenever that is."""
        for character, line in scene.take_spoken():
            if not self.quiet:
                print(f'{character.name}, asked "{character.question}":  {line}', flush=True)

    def summary(self, report: dict[str, Any]) -> None:
        """The figures, in plain text."""
        print()
        for line in figures(report):
            print(line)


class Live(View):
    """Each character's line grows as it is spoken; whole lines scroll up above."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        self.console = Console()
        self.live = RichLive(console=self.console, auto_refresh=False, transient=True)
        self.drawn = 0.0
        self.cost = 0.002  # seconds that a picture took, worst so far, slowly forgotten

    def __enter__(self) -> Live:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()

    def note(self, text: str) -> None:
        """In place of the picture, until there is one."""
        self.live.update(f"[dim]{text} ...[/dim]", refresh=True)

    def show(self, scene: Scene, slack: float) -> None:
        """Draws at most ten times a second, and hardly ever where there is no time for it."""
        now = time.perf_counter()
        since = now - self.drawn
        if since < REDRAW or (slack < self.cost * 1.5 and since < PATIENCE):
            return
        self.drawn = now
        self.flush(scene)
        self.live.update(self._picture(scene), refresh=True)
        self.cost = max(time.perf_counter() - now, self.cost * 0.9)

    def flush(self, scene: Scene) -> None:
        """Lines that are whole scroll up."""
        for character, line in scene.take_spoken():
            self.live.console.print(self._line(character.number, character.name, line, whole=True))

    def summary(self, report: dict[str, Any]) -> None:
        """The figures, under what was said."""
        self.console.print()
        for line in figures(report):
            self.console.print(line, highlight=True)

    def _line(self, number: int, name: str, text: str, *, whole: bool) -> Any:
        from rich.text import Text

        colour = COLOURS[number % len(COLOURS)]
        return Text.assemble((f"{name:>18}  ", f"bold {colour}"), (text, "" if whole else "italic"))

    def _picture(self, scene: Scene) -> Any:
        from rich.console import Group
        from rich.rule import Rule

        speaking = [c for c in scene.characters if c.speaking]
        lines = [self._line(c.number, c.name, c.speaking or "", whole=False) for c in speaking]
        return Group(Rule("speaking now", style="dim"), *lines)


def figures(report: dict[str, Any]) -> list[str]:
    """The summary, a line each."""
    missed, missed_alone = report["missed_pct"], report["baseline"]["missed_pct"]
    out = [
        f"{report['frames']} frames at 60 FPS, {report['missed']} missed "
        f"({missed:.2f} %; the game alone: {missed_alone:.2f} %)",
        f"frame time {_times(report['frame_ms'])} (alone: {_times(report['baseline']['frame_ms'])})",
    ]
    for one in report["characters"]:
        first = "no word yet" if one["ttft_ms"] is None else f"first word after {one['ttft_ms']:.0f} ms"
        out.append(f"{one['name']}: {len(one['lines'])} lines, {one['tps']:.1f} tokens/s, {first}")
    out.append(
        f"{report['tokens_total']} tokens, {report['tps_total']:.1f} a second together, "
        f"from {report['model']} on {report['device']}, sotto {report['sotto_version']}"
    )
    return out


def _times(frame_ms: dict[str, float]) -> str:
    return "  ".join(f"{name} {frame_ms[name]:.1f}" for name in ("p50", "p95", "p99", "max")) + " ms"
