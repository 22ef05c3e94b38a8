"""Output of the demo: base class and plain text output. `live.Live` draws the display on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..commands import screen
from ..commands.text import megabytes
from .frames import FrameStats
from .load import BUSY_PCT
from .scene import Scene

if TYPE_CHECKING:
    from .talk import Talk


class View:
    """Base class of all views. Drawing happens in a frame's slack, never during its work."""

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, text: str) -> None:
        """Shows a status note."""

    def listen(self, talk: Talk) -> None:
        """Shows the input line of `talk` from now on."""

    def asked(self, whom: str, text: str) -> None:
        """Shows a typed question and the name of the addressed character."""

    def say(self, text: str) -> None:
        """Shows a message that is not spoken by a character."""

    def wrong(self, text: str) -> None:
        """Shows an error."""

    def show(self, scene: Scene, stats: FrameStats, slack: float) -> None:
        """Shows the scene and its frame statistics if `slack` seconds are enough to draw them."""

    def flush(self, scene: Scene) -> None:
        """Shows every completed line, without a time limit."""

    def summary(self, report: dict[str, Any]) -> None:
        """Shows the summary of the run."""


class Headless(View):
    """Prints lines as plain text when they are complete. `quiet`: prints only notes, errors and summary."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def note(self, text: str) -> None:
        """Prints the note to stderr."""
        screen.complain(f"{text} ...")

    def say(self, text: str) -> None:
        """Prints the message to stdout, between the spoken lines."""
        if not self.quiet:
            screen.say(text, flush=True)

    def wrong(self, text: str) -> None:
        """Prints the error to stderr."""
        screen.complain(text)

    def show(self, scene: Scene, stats: FrameStats, slack: float) -> None:
        """Prints each question with its answer when the answer is complete. Ignores `slack`."""
        self.flush(scene)

    def flush(self, scene: Scene) -> None:
        """Prints each completed answer with its question."""
        for character, line in scene.take_spoken():
            if not self.quiet:
                screen.say(f'{character.name}, asked "{line.question.text}":  {line.answer}', flush=True)

    def summary(self, report: dict[str, Any]) -> None:
        """Prints the summary as plain text."""
        screen.say()
        for line in figures(report):
            screen.say(line)


def figures(report: dict[str, Any]) -> list[str]:
    """Returns the lines of the summary."""
    missed, missed_alone = report["missed_pct"], report["baseline"]["missed_pct"]
    out = [
        f"{report['frames']} frames at 60 FPS, {report['missed']} missed "
        f"({missed:.2f} %; the game alone: {missed_alone:.2f} %)",
        f"frame time {_times(report['frame_ms'])} (alone: {_times(report['baseline']['frame_ms'])})",
    ]
    for one in report["characters"]:
        first = "no word yet" if one["ttft_ms"] is None else f"first word after {one['ttft_ms']:.0f} ms"
        out.append(f"{one['name']}: {len(one['lines'])} lines, {one['tps']:.1f} tokens/s, {first}")
    speech = report["speech"]
    if speech["asked_for_facts"]:
        out.append(
            f"{speech['in_character']} of {speech['lines']} lines are in character; "
            f"{speech['with_facts']} of {speech['asked_for_facts']} have the fact that was asked for"
        )
    out.append(_memory(report["memory"]))
    out.append(
        f"{report['tokens_total']} tokens, {report['tps_total']:.1f} a second together, "
        f"from {report['model']} on {report['device']}, sotto {report['sotto_version']}"
    )
    others = report["other_cpu_pct"]
    if others is not None and others >= BUSY_PCT:
        out.append(
            f"the machine was busy: other processes used {others:.0f} % of its processor time meanwhile, "
            "so the frame figures say little; close them and run again"
        )
    return out


def _memory(memory: dict[str, Any]) -> str:
    uses = ", ".join(f"{use} {megabytes(count)}" for use, count in memory["used"].items() if count)
    granted = f" of {megabytes(memory['budget'])}" if memory["budget"] else ""
    return f"memory: at most {megabytes(memory['peak'])}{granted} MB; at the end {uses or 'nothing'}"


def _times(frame_ms: dict[str, float]) -> str:
    return "  ".join(f"{name} {frame_ms[name]:.1f}" for name in ("p50", "p95", "p99", "max")) + " ms"
