"""What characters cost a game: its frames with models beside them, ours and those of peers.

Two games at 60 FPS (a thread that works 8 ms a frame; jobs that keep every core busy for 60 % of it), beside
four streams that ask for 128 tokens again and again, each time after another prompt of 512. A shard runs
every cell once, in random order, and writes it down: runs can be cut short and gone on with. Each cell is
held against the game alone in the same shard. A cell during which others used the processors is made again.

Last, the job-system game runs beside characters and a third process that keeps every core busy: how long no
token of any of them is computed.

    frames.py --build build/check/release --out frames.jsonl --shards 17 --seconds 20
    frames.py --build build/check/release --account
    frames.py --report --out frames.jsonl --json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import frames_account
import frames_report
import peers
from commands import given, said
from frames_report import MODES
from llama_server import Talk, asked
from machine import processor, undisturbed
from models import Model, model

CORES = os.cpu_count() or 1
GAMES = {"one_thread": (1, 8.0), "job_system": (max(2, CORES), 10.0)}  # threads, work in ms
GATED = ("balance_gates", "prioritize_graphics_gates")  # as a mode, with gates inside steps
IDLE = ("chrt", "--idle", "0")
SERVERS: dict[str, tuple[int, tuple[str, ...]]] = {  # threads, and how it is started
    "llama_server": (CORES, ()),
    "llama_server_t1": (1, ()),
    "llama_server_nice19": (CORES, ("nice", "-n", "19")),
    "llama_server_idle": (CORES, IDLE),
    "llama_server_idle_t1": (1, IDLE),
}
LOADS = ("alone", *MODES, *GATED, "in_process", *SERVERS)
BEST = {"one_thread": "llama_server_idle_t1", "job_system": "llama_server_idle"}  # unless --best says another
TALK = Talk(streams=4, prompt=512, tokens=128)
WARM_UPS = {"1b": 10.0, "house": 1.0}  # seconds of a game until all streams speak
WARM_UP = 3.0
QUICK_SECONDS = 2.0
CROWDED = "job_system"
CROWDED_MODES = ("balance", "prioritize_graphics")


@dataclass(frozen=True)
class Cell:
    """A game and what runs beside it."""

    game: str
    model: str  # "": none
    load: str


def cells(models: list[str], best: dict[str, str]) -> list[Cell]:
    """Every load on the first model; on the others what is the default, and the best peer."""
    made = [Cell(game, "", "alone") for game in GAMES]
    made += [Cell(game, models[0], load) for game in GAMES for load in LOADS if load != "alone"]
    made += [Cell(game, name, "balance") for name in models[1:] for game in GAMES]
    return made + [Cell(game, name, best[game]) for name in models[1:] for game in GAMES]


class Runs:
    """How each cell is run."""

    def __init__(self, build: Path, folder: Path, wanted: list[Cell], seconds: float) -> None:
        self.bench = build / "bench" / "sotto_bench_frames"
        self.clients = build / "bench" / "sotto_bench_clients"
        self.seconds = seconds
        names = {one.model for one in wanted if one.model} | {"house"}
        self.models: dict[str, Model] = {name: model(name) for name in names}
        self.words = {name: one.write_words(folder) for name, one in self.models.items()}
        loads = {one.load for one in wanted}
        self.server = peers.as_users_get_it("llama-server") if loads & set(SERVERS) else None
        self.in_process = peers.in_process() if "in_process" in loads else None

    def calibrate(self, game: str) -> int:
        """How many iterations make this game's work at present."""
        threads, work_ms = GAMES[game]
        return int(said([self.bench, *given(calibrate=work_ms, threads=threads)])["iterations"])

    def run(self, cell: Cell, iterations: int, *, account: bool = False) -> dict[str, Any]:
        """The cell's frames, and what was said meanwhile. With `account`, where the time went too."""
        threads = GAMES[cell.game][0]
        warmup = WARM_UPS.get(cell.model, WARM_UP)
        game = given(threads=threads, iterations=iterations, seconds=self.seconds, warmup=warmup)
        if cell.load == "alone":
            return dict(said([self.bench, *game]))
        beside = given(model=self.models[cell.model].path, words=self.words[cell.model], **vars(TALK))
        if cell.load == "in_process":
            return dict(said([self.in_process, *game, *beside, *given(compute_threads=CORES)]))
        if cell.load in SERVERS:
            return self.run_beside_server(cell, game)
        mode, gates = cell.load.removesuffix("_gates"), int(cell.load.endswith("_gates"))
        return dict(said([self.bench, *game, *beside, *given(mode=mode, gates=gates, account=int(account))]))

    def run_beside_server(self, cell: Cell, game: list[str]) -> dict[str, Any]:
        """The game alone in its process, while clients ask a server."""
        assert self.server is not None
        threads, before = SERVERS[cell.load]
        one, words = self.models[cell.model], self.words[cell.model]
        with asked(self.server, self.clients, one, words, TALK, threads, before) as clients:
            result = dict(said([self.bench, *game]))
        result["tokens"] = clients.tokens(result["began_ns"], result["ended_ns"])
        return result


def crowded(runs: Runs, model_name: str, out: Path) -> None:
    """Adds how long characters stand still beside the job-system game and a process at full load."""
    iterations = runs.calibrate(CROWDED)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(CORES)]
    try:
        for mode in CROWDED_MODES:
            result = runs.run(Cell(CROWDED, model_name, mode), iterations)
            del result["frames_us"]  # nobody's frames are held against that
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"shard": -1, "crowded": True, "load": mode, **result}) + "\n")
    finally:
        for one in busy:
            one.kill()
            one.wait()


def rows_of(path: Path) -> list[dict[str, Any]]:
    """What was written down so far. A last line that is not whole is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


class Shard:
    """Every cell once. What is there already, and was not disturbed, is not run again."""

    def __init__(self, number: int, out: Path, runs: Runs, most_others_pct: float) -> None:
        self.number, self.out, self.runs, self.most_others_pct = number, out, runs, most_others_pct
        rows = [row for row in rows_of(out) if row["shard"] == number]
        self.iterations: dict[str, int] = next((row["iterations"] for row in rows if "iterations" in row), {})
        self.done = {
            Cell(row["game"], row["model"], row["load"])
            for row in rows
            if "frames_us" in row and row["others_pct"] <= most_others_pct
        }

    def run(self, wanted: list[Cell], patience_s: float) -> None:
        """Runs what is missing, in an order of its own."""
        left = [cell for cell in wanted if cell not in self.done]
        if left and not self.iterations:
            self.iterations, _ = self.undisturbed(self.calibrate, patience_s)
            self.write({"iterations": self.iterations})
        random.Random(self.number).shuffle(left)
        for cell in left:
            result, others_pct = self.undisturbed(
                lambda _, cell=cell: self.runs.run(cell, self.iterations[cell.game]), patience_s
            )
            self.write({**vars(cell), "others_pct": others_pct, **result})
            missed = sum(frames_report.missed(us) for us in result["frames_us"])
            pct, tps = 100 * missed / len(result["frames_us"]), frames_report.tokens_per_s([result])
            shown = f"{cell.game} {cell.model} {cell.load}: missed {pct:.2f} %, {tps:.1f} tokens/s"
            print(f"{self.number}: {shown}, others {others_pct} %", file=sys.stderr, flush=True)

    def calibrate(self, _: bool) -> dict[str, int]:
        """For all games."""
        return {game: self.runs.calibrate(game) for game in GAMES}

    def undisturbed(self, run: Callable[[bool], Any], patience_s: float) -> tuple[Any, float]:
        """A run with the machine to itself."""
        return undisturbed(run, patience_s, self.most_others_pct)

    def write(self, row: dict[str, Any]) -> None:
        """Adds a line."""
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"shard": self.number, **row}) + "\n")


def measure(arguments: argparse.Namespace, out: Path, folder: Path) -> None:
    """All shards that are not there yet."""
    best = {**BEST, **dict(pair.split("=") for pair in arguments.best)}
    wanted = cells(arguments.models.split(","), best)
    if arguments.quick:
        wanted = [cell for cell in wanted if cell.load in ("alone", *MODES)]
    if arguments.loads:
        wanted = [cell for cell in wanted if cell.load in arguments.loads.split(",")]
    runs = Runs(arguments.build, folder, wanted, arguments.seconds)
    for number in range(arguments.shards):
        Shard(number, out, runs, arguments.others).run(wanted, arguments.patience)
    if not arguments.loads:
        crowded(runs, "house", out)


def accounts(arguments: argparse.Namespace, folder: Path) -> int:
    """Prints where the time goes beside each game, as tables on stderr and as one JSON object."""
    model_name = arguments.models.split(",")[0]
    cells_ = [Cell(game, model_name, mode) for game in GAMES for mode in CROWDED_MODES]
    runs = Runs(arguments.build, folder, cells_, arguments.seconds)
    told, broken = [], []
    for cell in cells_:
        iterations = runs.calibrate(cell.game)
        result, others_pct = undisturbed(
            lambda _, cell=cell, count=iterations: runs.run(cell, count, account=True),
            arguments.patience,
            arguments.others,
        )
        account = result["account"]
        name = f"{cell.game} {cell.model} {cell.load}"
        print(f"{name}, others {others_pct} %\n{frames_account.table(account)}", file=sys.stderr, flush=True)
        told.append({**vars(cell), "others_pct": others_pct, **account})
        broken += [f"{name}: {text}" for text in frames_account.limits_broken(account)]
    figures = {"accounts": told, "broken": broken, "ok": not broken, "processor": processor()}
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0 if not broken else 1


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, help="the folder of a release build with tests")
    parser.add_argument("--out", type=Path, help="a file of JSON lines that cells are added to")
    parser.add_argument("--shards", type=int, default=1, help="how often every cell is run (1)")
    parser.add_argument("--seconds", type=float, default=20, help="how long each cell is (20)")
    parser.add_argument("--report", action="store_true", help="run nothing; only read the file")
    parser.add_argument(
        "--account", action="store_true", help="run our modes once and say where the time goes"
    )
    parser.add_argument("--models", default="110m,1b,house", help="which; the first has all rows")
    parser.add_argument("--loads", help=f"only these: {','.join(LOADS)}")
    parser.add_argument(
        "--best", nargs="*", default=[], help=f"the peer for the other models: game=load ({BEST})"
    )
    parser.add_argument(
        "--others", type=float, default=2.0, help="percent that others may use in a cell that counts (2)"
    )
    parser.add_argument(
        "--patience", type=float, default=300, help="seconds to wait for a machine at rest, per cell (300)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="our modes on the house model for moments, no patience"
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.models, arguments.shards, arguments.patience, arguments.others = "house", 1, 0, 100.0
        arguments.seconds = QUICK_SECONDS
    if not arguments.report and not arguments.build:
        parser.error("--build says where the benches are; or --report what was measured")
    if arguments.report and not arguments.out:
        parser.error("--report wants --out, the file that was written")
    if arguments.account:
        with tempfile.TemporaryDirectory() as folder:
            return accounts(arguments, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        out = arguments.out or Path(folder) / "frames.jsonl"
        if not arguments.report:
            measure(arguments, out, Path(folder))
        written = rows_of(out)
    all_rows = [row for row in written if "frames_us" in row]
    rows = [row for row in all_rows if row["others_pct"] <= arguments.others]
    figures = frames_report.report(rows, arguments.models.split(",")[0], quick=arguments.quick)
    frames_report.add_standstill(figures, [row for row in written if row.get("crowded")], arguments.quick)
    figures["disturbed"] = len(all_rows) - len(rows)  # cells that do not count
    figures["setting"] = {
        "games": {name: {"threads": threads, "work_ms": ms} for name, (threads, ms) in GAMES.items()},
        "talk": vars(TALK),
        "cores": CORES,
        "processor": processor(),
    }
    print(json.dumps(figures, indent=None if arguments.json else 2))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
