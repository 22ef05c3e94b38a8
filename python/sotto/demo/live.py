"""Live display on a terminal: the characters' speech and pace, the frame times, and the input line."""

from __future__ import annotations

import textwrap
import time
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.rule import Rule
from rich.text import Text

from ..commands import screen
from ..stats import Stats
from . import memory, strip
from .character import Character, Line
from .frames import FrameStats
from .scene import Scene
from .talk import Talk
from .view import View, figures

COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "bright_cyan", "bright_magenta")
REDRAW = 0.1  # minimum seconds between two redraws
PATIENCE = 0.6  # seconds after which a redraw happens even without slack
KEY_PATIENCE = 0.1  # value of PATIENCE after a key press
RECENT = 600  # frames that p50 and p99 cover
ROOMY = 12  # minimum terminal height, in lines, for the memory and engine rows
CALM = 1.0  # seconds between two updates of the memory and engine rows
_FIGURES = 25  # columns
_RATE = 12


class Live(View):
    """Draws the live display at the bottom of the terminal. Completed lines scroll up above it."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or screen.console()
        self.live = RichLive(console=self.console, auto_refresh=False, transient=True)
        self.talk: Talk | None = None
        self.names = 8  # columns for a character's name
        self.visitor = ""
        self.drawn = 0.0
        self.cost = 0.002  # seconds per redraw: decaying maximum
        self._typed: tuple[str, int] | None = None
        self._engine: tuple[Stats | None, float] = (None, 0.0)  # last statistics, and their time

    def __enter__(self) -> Live:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()

    def note(self, text: str) -> None:
        """Shows a status note in place of the display, until the first redraw."""
        self.live.update(Text(f"{text} ...", style="dim"), refresh=True)

    def listen(self, talk: Talk) -> None:
        """Shows an input line from now on, if `talk` reads key by key."""
        self.talk = talk

    def asked(self, whom: str, text: str) -> None:
        """Prints the question above the display. Its answers follow when they are complete."""
        self.console.print(self._said("You", f"to {whom}: {text}", "dim", "dim"))

    def say(self, text: str) -> None:
        """Prints a line above the display."""
        self.console.print(Text(_plain(text), style="dim"))

    def wrong(self, text: str) -> None:
        """Prints an error above the display, in red."""
        self.console.print(Text(_plain(text), style="red"))

    def show(self, scene: Scene, stats: FrameStats, slack: float) -> None:
        """Redraws at most ten times per second, or after a key press.

        If the frame's slack (seconds) is too short for a redraw, redraws after 0.6 s, or 0.1 s after a key.
        """
        now = time.perf_counter()
        since, key = now - self.drawn, self._key()
        patience = KEY_PATIENCE if key else PATIENCE
        if (since < REDRAW and not key) or (slack < self.cost * 1.5 and since < patience):
            return
        self.drawn = now
        if self.talk is not None and self.talk.source.editor is not None:
            self._typed = (self.talk.source.editor.text, self.talk.source.editor.cursor)
        self.flush(scene)
        self.live.update(self.picture(scene, stats), refresh=True)
        self.cost = max(time.perf_counter() - now, self.cost * 0.9)

    def flush(self, scene: Scene) -> None:
        """Prints the completed lines above the display."""
        for character, line in scene.take_spoken():
            self.console.print(self._whole(character, line))

    def summary(self, report: dict[str, Any]) -> None:
        """Prints the summary below the spoken lines."""
        self.console.print()
        for line in figures(report):
            self.console.print(line, highlight=True, markup=False)

    def picture(self, scene: Scene, stats: FrameStats) -> RenderableType:
        """Returns the display at the bottom of the terminal, sized to the terminal."""
        width, height = self.console.size
        self.names = max(len(one.called) for one in scene.characters) + 1
        self.visitor = scene.tavern.visitor
        typing = self.talk is not None and self.talk.source.editor is not None
        roomy = height >= ROOMY
        room = height - 5 - typing - 2 * roomy
        lines_each = 2 if room >= 4 * len(scene.characters) else 1
        shown = scene.characters[: max(1, room // lines_each - 1)]
        parts: list[RenderableType] = [Rule(Text(scene.tavern.place, style="dim"), style="dim")]
        parts += [_speaking(one, self.names, width, lines_each) for one in shown]
        if hidden := len(scene.characters) - len(shown):
            parts.append(Text(f"{'':>{self.names}}  and {hidden} more", "dim", no_wrap=True))
        parts += self._frames(stats, width)
        if roomy:
            parts += self._rows(self._told(scene), width)
        if typing:
            parts.append(self._prompt(width))
        return Group(*parts)

    def _frames(self, stats: FrameStats, width: int) -> list[Text]:
        recent = sorted(stats.times_ms[-RECENT:]) or [0.0]
        p50, p99 = recent[len(recent) // 2], recent[min(len(recent) - 1, int(len(recent) * 0.99))]
        times = Text(f"  p50 {p50:.1f}  p99 {p99:.1f} ms")
        missed = Text(f"  {stats.missed} of {stats.frames} missed", style="bold red" if stats.missed else "")
        bars = strip.rows(stats, max(8, width - self.names - 2 - _FIGURES), plain=self._ascii)
        labels = (f"{'game':>{self.names}}  ", f"{'60 FPS':>{self.names}}  ")
        return [
            Text(no_wrap=True, overflow="crop").append(label, "dim").append_text(row).append_text(text)
            for label, row, text in zip(labels, bars, (times, missed), strict=True)
        ]

    def _rows(self, told: Stats, width: int) -> list[Text]:
        """Returns two rows: the engine's memory and its activity."""
        has = memory.row(told, width - self.names - 2, _FIGURES, plain=self._ascii)
        return [
            Text(no_wrap=True, overflow="crop").append(f"{label:>{self.names}}  ", "dim").append_text(row)
            for label, row in (("memory", has), ("engine", Text(doing(told), "dim")))
        ]

    def _told(self, scene: Scene) -> Stats:
        now = time.perf_counter()
        told, since = self._engine
        if told is None or now - since >= CALM:
            told, since = scene.engine.stats(), now
            self._engine = (told, since)
        return told

    @property
    def _ascii(self) -> bool:
        """True if the terminal's encoding is not UTF."""
        return not self.console.encoding.startswith("utf")

    def _prompt(self, width: int) -> Text:
        assert self.talk is not None and self.talk.source.editor is not None
        editor = self.talk.source.editor
        head = f"You to {self.talk.whom} > "
        first = max(0, editor.cursor - max(8, width - len(head) - 2))
        text = Text(head, style="bold", no_wrap=True, overflow="crop")
        text.append(editor.text[first : editor.cursor], "not bold")
        text.append(editor.text[editor.cursor : editor.cursor + 1] or " ", "reverse not bold")
        return text.append(editor.text[editor.cursor + 1 :], "not bold")

    def _key(self) -> bool:
        if self.talk is None or (editor := self.talk.source.editor) is None:
            return False
        return self._typed != (editor.text, editor.cursor)

    def _whole(self, character: Character, line: Line) -> Text:
        answer = self._said(character.called, line.answer, _colour(character), "")
        if self.talk is not None:
            return answer
        asked = f"to {character.called}: {line.question.text}"
        return self._said(self.visitor, asked, "dim", "dim").append("\n").append_text(answer)

    def _said(self, name: str, text: str, name_style: str, style: str) -> Text:
        made = Text()
        for number, line in enumerate(_wrapped(text, self.console.width - self.names - 3)):
            made.append("\n" if number else "")
            made.append(f"{'' if number else name:>{self.names}}  ", name_style).append(line, style)
        return made


def doing(stats: Stats) -> str:
    """Returns a short text about the engine's activity: threads, duty cycle, busy share, waiting answers."""
    threads = f"{stats.threads} thread{'' if stats.threads == 1 else 's'}"
    waits = f"  {stats.waiting} wait{'s' if stats.waiting == 1 else ''}" if stats.waiting else ""
    return f"{threads}  may use {stats.share * 100:.0f} % of the time  uses {stats.busy * 100:.0f} %{waits}"


def _colour(character: Character) -> str:
    return f"bold {COLOURS[character.number % len(COLOURS)]}"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(_plain(text), max(8, width))


def _plain(text: str) -> str:
    return screen.printable(text)


def _speaking(one: Character, names: int, width: int, lines_each: int) -> Text:
    """Returns a character's rows: the end of its current line and its pace, or its role if it is silent."""
    room = max(8, width - names - 2 - _RATE)
    idle = one.speaking is None
    role = one.persona.about("Role") if idle else "..."
    said = _wrapped(one.speaking or "", room)[-lines_each:] or [role]
    said += [""] * (lines_each - len(said))
    made = Text(no_wrap=True, overflow="crop")
    for number, line in enumerate(said):
        made.append("\n" if number else "")
        made.append(f"{'' if number else one.called:>{names}}  ", "dim" if idle else _colour(one))
        made.append(f"{line[:room]:<{room}}", "italic" if one.speaking else "dim")
        rate = f"{one.tps:.1f} tok/s" if one.tps and not number else ""
        made.append(f"{rate:>{_RATE}}", "dim" if idle else "")
    return made
