"""What an image and four characters cost a game: its frames with both beside them, and beside the peer.

The two games of frames.py, at 60 FPS: alone; with an engine in its process, in the mode prioritize_graphics,
where four characters speak and images are generated without a pause; and beside stable-diffusion-cpp-python
in a process of its own, which generates the same images with all cores. Interleaved, in random order. Prints
one JSON object: for each game and load the missed frames in percent, `more_pct`, which is ours less alone in
points, and tokens and images per second.

    image_frames.py --build build/check/release --turns 5 --json
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import frames_report
import image
import peers
from commands import given, said
from frames import CORES, GAMES, TALK
from machine import Busy, processor
from models import model

LIMIT = 0.5  # points of missed frames
LOADS = ("alone", "ours", "theirs")
SIZE = 256


class Runs:
    """How each load is run."""

    def __init__(self, build: Path, folder: Path, seconds: float, name: str) -> None:
        self.bench = build / "bench" / "sotto_bench_frames"
        self.theirs = str(peers.stable_diffusion_python())
        self.seconds = seconds
        self.talks = model("house")
        self.words = self.talks.write_words(folder)
        image.FOLDER.mkdir(parents=True, exist_ok=True)
        self.painter = image.model(name)
        self.iterations = {game: self._calibrate(game) for game in GAMES}

    def run(self, game: str, load: str) -> dict[str, Any]:
        """The game's frames, and what was computed beside them."""
        threads = GAMES[game][0]
        wanted = given(threads=threads, iterations=self.iterations[game], seconds=self.seconds, warmup=2)
        if load == "ours":
            options = {**self.painter["parts"], "size": f"{SIZE}x{SIZE}"}
            wanted += given(model=self.talks.path, words=self.words, mode="prioritize_graphics", **vars(TALK))
            wanted += given(picture=self.painter["path"], picture_options=json.dumps(options))
        if load != "theirs":
            return dict(said([self.bench, *wanted]))
        command = [self.theirs, str(image.SIDE), "forever", str(CORES), json.dumps(self.painter), str(SIZE)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as painter:
            assert painter.stdout is not None
            painter.stdout.readline()  # the first image is complete
            try:
                return dict(said([self.bench, *wanted]))
            finally:
                painter.kill()

    def _calibrate(self, game: str) -> int:
        threads, work_ms = GAMES[game]
        return int(said([self.bench, *given(calibrate=work_ms, threads=threads)])["iterations"])


def measured(runs: Runs, turns: int) -> dict[str, Any]:
    """The figures of each game."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    cells = [(game, load) for game in GAMES for load in LOADS]
    for turn in range(turns):
        for game, load in random.Random(turn).sample(cells, len(cells)):
            rows[game, load].append(runs.run(game, load))
            missed = frames_report.missed_pct(rows[game, load][-1:])
            print(f"{turn}: {game} {load}: missed {missed:.2f} %", file=sys.stderr, flush=True)
    told: dict[str, Any] = {}
    for game in GAMES:
        missed = {load: frames_report.missed_pct(rows[game, load]) for load in LOADS}
        ours = rows[game, "ours"]
        seconds = sum(row["ended_ns"] - row["began_ns"] for row in ours) / 1e9
        told[game] = {
            "missed_pct": {load: round(pct, 2) for load, pct in missed.items()},
            "more_pct": round(missed["ours"] - missed["alone"], 2),
            "tokens_per_s": round(frames_report.tokens_per_s(ours), 1),
            "images_per_s": round(sum(row["images"] for row in ours) / seconds, 3),
        }
    return told


def main() -> int:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--model", default="tiny", choices=("tiny", "small", "sd1"))
    parser.add_argument("--json", action="store_true", help="the only form")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(arguments.build, Path(folder), arguments.seconds, arguments.model)
        busy = Busy()
        games = measured(runs, arguments.turns)
    broken = [game for game, told in games.items() if told["more_pct"] > LIMIT]
    print(
        json.dumps(
            {
                "bench": "image_frames",
                "processor": processor(),
                "model": arguments.model,
                "turns": arguments.turns,
                "games": games,
                "limits": {"more_pct": LIMIT},
                "broken": broken,
                "others_pct": round(busy.others_pct(), 1),
            }
        )
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
