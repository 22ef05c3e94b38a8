"""Records `sotto demo` in a terminal, and draws its run: the pictures at the top of README.md.

Needs an interpreter that has `sotto-runtime[plot]`; this one needs pyte, a terminal without a screen.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import film
import pyte

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, ROWS = 84, 24
PICTURES = 7  # a second
PAUSE = 0.8  # seconds; what stands still for longer is cut to that
LAST = 5.0  # seconds that the end stays
FAINT = re.compile(r"\x1b\[((?:\d+;)*)2((?:;\d+)*)m")  # pyte knows no faint letters; grey ones it does


def watch(command: list[str]) -> Iterator[tuple[float, str]]:
    """What a command writes to a terminal, and when."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "", "COLUMNS": "", "LINES": ""}
    environment.pop("NO_COLOR", None)
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment, cwd=ROOT)
    os.close(its)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while True:
        try:
            arrived = os.read(ours, 65536)
        except OSError:  # the command has ended
            arrived = b""
        if not arrived:
            break
        yield time.monotonic() - began, decode(arrived)
    os.close(ours)
    if process.wait():
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")


def pictures(written: Iterator[tuple[float, str]]) -> Iterator[tuple[float, film.Picture]]:
    """What the terminal showed, and when; no more often than there are pictures a second."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    shown, at = -1.0, 0.0
    for at, text in written:
        if at - shown >= 1 / PICTURES:
            yield at, film.picture(screen)
            shown = at
        stream.feed(FAINT.sub("\x1b[\\g<1>90\\2m", text))
    yield at, film.picture(screen)


def cut(shown: list[tuple[float, film.Picture]], first: str) -> list[film.Shot]:
    """The pictures from the one with the words `first` on, and how long each stays."""
    begin = next(n for n, (_, picture) in enumerate(shown) if first in film.words(picture))
    shots: list[film.Shot] = []
    for (at, picture), (then, _) in zip(shown[begin:], [*shown[begin + 1 :], (0.0, [])], strict=True):
        stays = min(PAUSE, then - at) if then else LAST
        if shots and shots[-1].picture == picture:
            stays += shots.pop().seconds
            stays = min(PAUSE, stays) if then else stays
        shots.append(film.Shot(picture, stays))
    return shots


def main() -> int:
    """Records, draws, and says how large it became."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has sotto installed")
    parser.add_argument("--seconds", default="14", help="how long the characters speak (14)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "samples" / "media", help="a folder (samples/media)"
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True)
    demo = [arguments.python, "-m", "sotto.cli", "demo", "--model", "sotto/house", "--seconds"]
    command = [*demo, arguments.seconds]
    shots = cut(list(pictures(watch(command))), "60 FPS")
    path = arguments.out / "tavern.svg"
    path.write_text(film.svg(shots, COLUMNS, ROWS, "sotto demo"), encoding="utf-8")
    plot = arguments.out / "frames.png"
    subprocess.run([*demo, "20", "--headless", "--plot", str(plot)], check=True, cwd=ROOT)
    for made in (path, plot):
        print(f"{made}: {made.stat().st_size / 1024:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
