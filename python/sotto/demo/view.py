"""What the demo shows: plain lines here, and where there is a terminal, a live picture."""

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
    """What every view can do. Drawing happens in a frame's slack, never in its work."""

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, text: str) -> None:
        """Says what is going on."""

    def listen(self, talk: Talk) -> None:
        """Somebody types from now on."""

    def asked(self, whom: str, text: str) -> None:
        """Somebody typed a question."""

    def say(self, text: str) -> None:
        """Tells the visitor something that no character says."""

    def wrong(self, text: str) -> None:
        """Tells the visitor what could not be done."""

    def show(self, scene: Scene, stats: FrameStats, slack: float) -> None:
        """Shows the scene and its frames, if `slack` seconds are enough."""

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
        screen.complain(f"{text} ...")

    def say(self, text: str) -> None:
        """One line among those that are spoken."""
        if not self.quiet:
            screen.say(text, flush=True)

    def wrong(self, text: str) -> None:
        """One line on stderr."""
        screen.complain(text)

    def show(self, scene: Scene, stats: FrameStats, slack: float) -> None:
        """A question and its answer, once whole."""
        self.flush(scene)

    def flush(self, scene: Scene) -> None:
        """The same, whenever that is."""
        for character, line in scene.take_spoken():
            if not self.quiet:
                screen.say(f'{character.name}, asked "{line.question.text}":  {line.answer}', flush=True)

    def summary(self, report: dict[str, Any]) -> None:
        """The figures, in plain text."""
        screen.say()
        for line in figures(report):
            screen.say(line)


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
