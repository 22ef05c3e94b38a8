"""Draws the plot of a run: frame times, the engine's work below them, and a close-up of the longest frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

from .frames import PERIOD, FrameStats
from .record import Record

if TYPE_CHECKING:
    from ..trace import Slice

KINDS = {  # slice kinds: colour and label
    "open": ("#8d6cab", "prompts opened"),
    "prompt": ("#e09f3e", "prompts read"),
    "decode": ("#2a7f9e", "words written"),
}
STEPS = ("prompt", "decode")  # slice kinds with a predicted duration
_GATE = ("#d9cfb8", "waits for the game")
_PAPER, _INK, _FAINT, _RED = "#fcfbf8", "#2b2b33", "#a9a69d", "#c8323a"
_GAME, _ALONE, _SHARE = "#5b8c5a", "#9c988e", "#6f5f4c"
_HIGHEST = 3  # top of the scale in frame periods; longer frames are drawn at the top
_BIN = 0.1  # bin width of the bars, in seconds
_NEAR = 12  # frames in the close-up
_NEAR_LABEL = (
    "milliseconds, around the longest frame; dotted: a frame is due; the higher, the more streams at once"
)
_STYLE = {
    "font.size": 10.5, "font.family": "sans-serif", "text.color": _INK, "axes.labelcolor": _INK,
    "xtick.color": _INK, "ytick.color": _INK, "axes.edgecolor": _FAINT, "axes.facecolor": _PAPER,
    "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
}  # fmt: skip


def draw(path: str, record: Record, report: dict[str, Any]) -> None:
    """Draws a run into the file `path`."""
    alone, together, slices = record.alone, record.together, record.slices
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(12, 9), dpi=150, facecolor=_PAPER)
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(
            4,
            1,
            height_ratios=(3, 1.4, 1.5, 1.6),
            hspace=0.45,
            left=0.085,
            right=0.945,
            top=0.875,
            bottom=0.06,
        )
        began = min([*alone.due[:1], *together.due[:1]], default=0.0)
        times, work, steps, near = (figure.add_subplot(grid[row]) for row in range(4))
        _head(figure, report)
        _draw_times(times, alone, together, began)
        _draw_work(work, slices, began, times.get_xlim())
        _draw_steps(steps, slices, began, times.get_xlim())
        _draw_near(near, together, slices)
        figure.savefig(path)


def _head(figure: Figure, report: dict[str, Any]) -> None:
    count, frames, missed = len(report["characters"]), report["frames"], report["missed"]
    who = "One character speaks" if count == 1 else f"{count} characters speak"
    baseline, pace = report["baseline"], report["tps_total"]
    now, alone = report["frame_ms"], baseline["frame_ms"]
    told = (
        f"{missed} of {frames} frames missed ({report['missed_pct']:.2f} %; the game alone: "
        f"{baseline['missed_pct']:.2f} %).  Frame time p50 {now['p50']:.1f} ms, p99 {now['p99']:.1f} ms "
        f"(alone: {alone['p50']:.1f}, {alone['p99']:.1f}).  {pace:.0f} tokens a second."
    )
    title = f"{who} beside a game of 60 frames a second"
    figure.text(0.085, 0.955, title, fontsize=17, fontweight="bold")
    figure.text(0.085, 0.922, told, fontsize=10.3, color="#5d5a55")


def _draw_times(axes: Any, alone: FrameStats, together: FrameStats, began: float) -> None:
    deadline = PERIOD * 1000
    longest = max(stats.percentiles()["p999"] for stats in (alone, together))
    top = deadline * min(_HIGHEST, max(1.5, longest * 1.1 / deadline))
    for stats, colour in ((alone, _ALONE), (together, _GAME)):
        at = [due - began for due in stats.due]
        axes.plot(at, [min(ms, top) for ms in stats.times_ms], ".", ms=2.6, color=colour, alpha=0.85)
        late = [n for n, ms in enumerate(stats.times_ms) if ms >= deadline]
        missed = {"marker": "x", "ms": 6, "mew": 1.6, "ls": "", "color": _RED}
        axes.plot([at[n] for n in late], [min(stats.times_ms[n], top) for n in late], **missed, clip_on=False)
    axes.axhline(deadline, color=_RED, lw=1, ls=(0, (5, 3)))
    axes.text(0.004, deadline + top * 0.015, f"deadline, {deadline:.1f} ms", color=_RED, fontsize=9,
              transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set(ylim=(0, top), ylabel="frame time, ms")
    axes.margins(x=0.005)
    if together.due:
        axes.axvspan(together.due[0] - began, together.due[-1] - began, color=_GAME, alpha=0.07, lw=0)
    dots = [
        Line2D([], [], marker=".", ls="", ms=9, color=colour, label=name)
        for colour, name in ((_ALONE, "the game alone"), (_GAME, "while characters speak"))
    ]
    cross = Line2D([], [], marker="x", ls="", ms=6, mew=1.6, color=_RED, label="missed")
    _legend(axes, [*dots, cross])


def _draw_work(axes: Any, slices: Sequence[Slice], began: float, limits: tuple[float, float]) -> None:
    first = max(0.0, limits[0])
    bins = int((limits[1] - first) / _BIN) + 1
    below = [0.0] * bins
    bars = {"width": _BIN * 0.92, "lw": 0}
    at = [first + (place + 0.5) * _BIN for place in range(bins)]
    for kind, (colour, _) in KINDS.items():
        ms = _binned(slices, kind, began + first, bins)
        axes.bar(at, ms, bottom=below, color=colour, **bars)
        below = [one + more for one, more in zip(below, ms, strict=True)]
    named = [Patch(color=colour, label=name) for colour, name in KINDS.values()]
    waits = _binned(slices, "gate", began + first, bins)
    if any(waits):  # gate waits are part of the steps
        bottom = [whole - wait for whole, wait in zip(below, waits, strict=True)]
        axes.bar(at, waits, bottom=bottom, color=_GATE[0], **bars)
        named.append(Patch(color=_GATE[0], label=_GATE[1]))
    axes.set(xlim=limits, ylabel="engine at work,\nms in 100")
    _legend(axes, named)


def _binned(slices: Sequence[Slice], kind: str, zero: float, bins: int) -> list[float]:
    """Returns the milliseconds that slices of a kind took in each bin."""
    ms = [0.0] * bins
    for one in slices:
        if one.kind == kind:
            _spread(ms, one.begin_ns / 1e9 - zero, one.end_ns / 1e9 - zero)
    return ms


def _spread(ms: list[float], begin: float, end: float) -> None:
    """Splits the interval from `begin` to `end`, in seconds, over its bins. Adds milliseconds to each bin."""
    for place in range(max(0, int(begin / _BIN)), min(len(ms), int(end / _BIN) + 1)):
        part = min(end, (place + 1) * _BIN) - max(begin, place * _BIN)
        ms[place] += max(0.0, part) * 1000


def _draw_steps(axes: Any, slices: Sequence[Slice], began: float, limits: tuple[float, float]) -> None:
    """Draws each step's measured and predicted duration, and the duty cycle: the time share for models."""
    steps = [one for one in slices if one.kind in STEPS]
    named = []
    for kind in STEPS:
        at = [(one.begin_ns / 1e9 - began, _ms(one)) for one in steps if one.kind == kind]
        dots = {"marker": ".", "ls": "", "color": KINDS[kind][0]}
        axes.plot([x for x, _ in at], [y for _, y in at], **dots, ms=3.2, alpha=0.85, lw=0)
    guesses = [one for one in steps if one.predicted_ms > 0]
    if guesses:
        dash = {"marker": "_", "ls": "", "color": _INK, "mew": 0.7}
        at_guess = [one.begin_ns / 1e9 - began for one in guesses]
        axes.plot(at_guess, [one.predicted_ms for one in guesses], **dash, ms=4, alpha=0.55)
        named.append(Line2D([], [], **dash, ms=7, label="as predicted"))
    shown = [1.0, 10.0, *(max(0.1, _ms(one)) for one in steps)]
    axes.set(xlim=limits, ylim=(min(shown) * 0.8, max(shown) * 1.25), yscale="log")
    axes.set(ylabel="a step, ms", xlabel="seconds")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=5))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.labelpad = 1
    share = axes.twinx()
    at_step = [one.begin_ns / 1e9 - began for one in steps]
    share.plot(at_step, [one.share for one in steps], color=_SHARE, lw=1.1, drawstyle="steps-post")
    share.set(xlim=limits, ylim=(0, 1.05), ylabel="share", yticks=(0, 0.5, 1))
    share.spines["right"].set_visible(True)
    named.append(Line2D([], [], color=_SHARE, lw=1.1, label="share of the time that models may use"))
    _legend(axes, named)


def _ms(one: Slice) -> float:
    return (one.end_ns - one.begin_ns) / 1e6


def _draw_near(axes: Any, together: FrameStats, slices: Sequence[Slice]) -> None:
    """Draws the frames around the longest one: the game's work above, the engine's slices below."""
    worst = max(range(together.frames), key=lambda n: together.times_ms[n], default=0)
    first = max(0, min(worst - _NEAR // 2, together.frames - _NEAR))
    shown = range(first, min(first + _NEAR, together.frames))
    if not shown:
        return
    zero = together.due[first]
    for n in shown:
        at, ms = (together.due[n] - zero) * 1000, together.times_ms[n]
        late = ms >= PERIOD * 1000
        axes.broken_barh([(at, ms)], (1.15, 0.7), color=_RED if late else _GAME, lw=0)
        axes.axvline(at + PERIOD * 1000, color=_FAINT, lw=0.8, ls=(0, (2, 2)), zorder=0)
        axes.text(at + ms / 2, 1.5, f"{ms:.1f}", color="white", ha="center", va="center", fontsize=8.5)
    end = (together.due[shown[-1]] - zero + PERIOD) * 1000
    most = max((one.streams for one in slices), default=1) or 1
    for one in sorted(slices, key=lambda one: one.kind == "gate"):  # draw gates last, on top of their steps
        at = (one.begin_ns / 1e9 - zero) * 1000
        if not -_ms(one) < at < end:
            continue
        if one.kind in KINDS:
            height = 0.15 + 0.7 * one.streams / most
            axes.broken_barh([(at, _ms(one))], (0, height), color=KINDS[one.kind][0], lw=0)
        elif one.kind == "gate":
            axes.broken_barh([(at, _ms(one))], (0, 0.15), color=_GATE[0], lw=0)
    axes.set(xlim=(0, end), ylim=(0, 2), xlabel=_NEAR_LABEL)
    axes.set_yticks([1.5, 0.4], ["game", "engine"])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.labelpad = 1


def _legend(axes: Any, handles: list[Any]) -> None:
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(handles), frameon=False,
        handletextpad=0.4, columnspacing=1.4, borderpad=0, fontsize=9.5,
    )  # fmt: skip
