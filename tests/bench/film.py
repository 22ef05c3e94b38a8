"""Pictures of a terminal, one after the other, as an SVG that moves: letters stay letters, bars are drawn."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

WIDE, HIGH, SIZE = 8.4, 18.0, 14  # of a cell, and of the letters in it
EDGE, HEAD = 16, 36  # around the terminal, and above it
PAPER, INK = "#1b1b26", "#d8d6cf"
COLOURS = {
    "default": INK, "black": "#1b1b26", "red": "#e5636a", "green": "#7fb069", "brown": "#e0af5c",
    "blue": "#6f9fd8", "magenta": "#c792d6", "cyan": "#62c1c9", "white": "#d8d6cf",
    "brightblack": "#8a8794", "brightred": "#e5636a", "brightgreen": "#7fb069", "brightbrown": "#e0af5c",
    "brightblue": "#6f9fd8", "brightmagenta": "#c792d6", "brightcyan": "#62c1c9", "brightwhite": "#ffffff",
}  # fmt: skip
_BARS = " ▁▂▃▄▅▆▇█"


class Cell(NamedTuple):
    """One letter, and how it looks."""

    letter: str
    colour: str
    bold: bool = False
    italic: bool = False
    reverse: bool = False


Row = tuple[Cell, ...]
Picture = list[Row]


class Shot(NamedTuple):
    """A picture, and how long it stays."""

    picture: Picture
    seconds: float


def picture(screen: Any) -> Picture:
    """What a pyte screen shows."""
    rows = []
    for number in range(screen.lines):
        line = screen.buffer[number]
        cells = (line[column] for column in range(screen.columns))
        rows.append(tuple(Cell(c.data or " ", _colour(c.fg), c.bold, c.italics, c.reverse) for c in cells))
    return rows


def words(picture: Picture) -> str:
    """The text of a picture."""
    return "\n".join("".join(cell.letter for cell in row) for row in picture)


def svg(shots: list[Shot], columns: int, rows: int, title: str) -> str:
    """The film. Each row that ever was is drawn once; pictures are a strip that is pulled past a window."""
    width, height = columns * WIDE + 2 * EDGE, rows * HIGH + HEAD + EDGE
    known: dict[Row, int] = {}
    strip = []
    for number, shot in enumerate(shots):
        uses = []
        for line, row in enumerate(shot.picture):
            if any(cell.letter != " " or cell.reverse for cell in row):
                name = known.setdefault(row, len(known))
                uses.append(f'<use href="#r{name}" y="{line * HIGH:g}"/>')
        strip.append(f'<g transform="translate({number * width:g})">{"".join(uses)}</g>')
    drawn = "".join(f'<g id="r{name}">{_row(row)}</g>' for row, name in known.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}"><title>{escape(title)}</title>'
        f"<style>{_style(shots, width)}</style><defs>{drawn}</defs>"
        f'<rect width="100%" height="100%" rx="10" fill="{PAPER}"/>{_bar(width, title)}'
        f'<svg x="{EDGE}" y="{HEAD}" width="{columns * WIDE:g}" height="{rows * HIGH:g}">'
        f'<g class="film">{"".join(strip)}</g></svg></svg>\n'
    )


def _style(shots: list[Shot], width: float) -> str:
    whole, at, steps = sum(shot.seconds for shot in shots), 0.0, []
    for number, shot in enumerate(shots):
        steps.append(f"{100 * at / whole:.3f}%{{transform:translateX({-number * width:g}px)}}")
        at += shot.seconds
    still = len(shots) * 2 // 3  # what is shown where nothing moves
    classes = "".join(f".{name}{{fill:{colour}}}" for name, colour in COLOURS.items())
    return (
        f"text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"white-space:pre}}.b{{font-weight:700}}.i{{font-style:italic}}{classes}"
        f".film{{transform:translateX({-still * width:g}px);"
        f"animation:film {whole:.2f}s steps(1,end) infinite}}@keyframes film{{{''.join(steps)}}}"
    )


def _bar(width: float, title: str) -> str:
    dots = "".join(
        f'<circle cx="{EDGE + 6 + 18 * n}" cy="18" r="5.5" fill="{colour}"/>'
        for n, colour in enumerate(("#e5636a", "#e0af5c", "#7fb069"))
    )
    name = f'<text x="{width / 2:g}" y="23" text-anchor="middle" class="brightblack">{escape(title)}</text>'
    return dots + name


def _row(row: Row) -> str:
    out, column = [], 0
    for look, run in itertools.groupby(row, key=lambda cell: (cell[1:], cell.letter in _BARS[1:])):
        cells = list(run)
        (colour, bold, italic, reverse), bars = look
        text = "".join(cell.letter for cell in cells)
        if reverse:
            out.append(_box(column, len(cells), colour))
        if bars:
            out.append(_bars(column, text, colour))
        elif set(text) == {"─"}:
            out.append(_line(column, len(cells), colour))
        elif text.strip():
            begin = len(text) - len(text.lstrip())
            names = " ".join(
                n for n, on in (("black" if reverse else colour, True), ("b", bold), ("i", italic)) if on
            )
            out.append(_text(column + begin, text.strip(), names))
        column += len(cells)
    return "".join(out)


def _text(column: int, text: str, names: str) -> str:
    return (
        f'<text x="{column * WIDE:.4g}" y="13.5" class="{names}" textLength="{len(text) * WIDE:.4g}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )


def _bars(column: int, text: str, colour: str) -> str:
    path = ""
    for letter, run in itertools.groupby(text):
        cells, high = len(list(run)), HIGH * _BARS.index(letter) / 8
        path += f"M{column * WIDE:.5g} {HIGH:g}v{-high:g}h{cells * WIDE:.4g}v{high:g}z"
        column += cells
    return f'<path class="{colour}" d="{path}"/>'


def _line(column: int, cells: int, colour: str) -> str:
    return f'<path class="{colour}" d="M{column * WIDE:.5g} 8.5h{cells * WIDE:.4g}v1h{-cells * WIDE:.4g}z"/>'


def _box(column: int, cells: int, colour: str) -> str:
    return f'<rect class="{colour}" x="{column * WIDE:.5g}" width="{cells * WIDE:.4g}" height="{HIGH:g}"/>'


def _colour(name: str) -> str:
    return name if name in COLOURS else "default"
