"""From frames to figures: what frames.py says of the cells that it ran."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import groupby
from typing import Any

PERIOD_US = 16_667
GAMES = ("one_thread", "job_system")
MODES = ("balance", "prioritize_graphics", "prioritize_compute")
BLOCK = 60  # frames, about a second: misses come in bursts
RESAMPLES = 1000
MISSED_OF_PEER = 1.0  # points over the game alone; the best peer is the fastest that misses fewer
FRAMES_KEPT = {"missed_over_alone_points": 0.5, "p99_over_alone": 1.2}
LIMITS: dict[str, Any] = {
    "prioritize_graphics": {
        **FRAMES_KEPT,
        "p95_over_alone": 1.2,
        "worst_run_over_alone": 1,
        "tokens_over_best_peer": 1.1,
    },
    "balance": {
        **FRAMES_KEPT,
        "tokens_over_best_peer": 1.1,
        "tokens_max_over_min": 1.15,  # or the best peer's: a processor that others share drifts by more
    },
}
QUICK_LIMITS: dict[str, Any] = {  # of a few hundred frames on any machine
    mode: {"missed_over_alone_points": 10.0} for mode in ("balance", "prioritize_graphics")
}
STANDSTILL_MS = 250.0
QUICK_STANDSTILL_MS = 1000.0  # of one moment, on any machine
FIRST_TOKEN_MS = 2000.0  # all of them ask at once
MOST_OTHERS_PCT = 20.0  # a cell during which others used more is not held against limits

Row = dict[str, Any]  # a cell of a shard


def missed(frame_us: int) -> bool:
    """Whether a frame ended after its vsync."""
    return frame_us >= PERIOD_US


def percentile(frames_us: list[int], part: float) -> float:
    """In milliseconds."""
    ordered = sorted(frames_us)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] / 1000


def tokens_per_s(cells: list[Row]) -> float:
    """Generated while frames counted."""
    seconds = sum(cell["ended_ns"] - cell["began_ns"] for cell in cells) / 1e9
    return float(sum(cell["tokens"] for cell in cells) / seconds)


def missed_pct(cells: list[Row]) -> float:
    """Of all frames."""
    frames = [us for cell in cells for us in cell["frames_us"]]
    return 100 * sum(map(missed, frames)) / len(frames)


def worst_run(cells: list[Row]) -> int:
    """The most frames in succession that were missed."""
    runs = (
        sum(1 for _ in run) for cell in cells for late, run in groupby(map(missed, cell["frames_us"])) if late
    )
    return max(runs, default=0)


def blocks(cell: Row) -> list[tuple[int, int]]:
    """Missed and all, of each second."""
    late = [missed(us) for us in cell["frames_us"]]
    return [(sum(late[at : at + BLOCK]), len(late[at : at + BLOCK])) for at in range(0, len(late), BLOCK)]


def interval(pairs: list[tuple[Row, Row]]) -> tuple[float, float]:
    """Of the difference in missed frames, in points, with 95 % confidence: a bootstrap.

    Shards are drawn, and seconds within each cell of them, so that both kinds of drift count.
    """
    chance = random.Random(1)
    seconds = [(blocks(loaded), blocks(alone)) for loaded, alone in pairs]

    def drawn(shards: list[list[tuple[int, int]]]) -> float:
        some = [block for blocks_ in shards for block in chance.choices(blocks_, k=len(blocks_))]
        return 100 * sum(late for late, _ in some) / sum(frames for _, frames in some)

    differences = []
    for _ in range(RESAMPLES):
        shards = chance.choices(seconds, k=len(seconds))
        differences.append(drawn([loaded for loaded, _ in shards]) - drawn([alone for _, alone in shards]))
    differences.sort()
    return differences[int(0.025 * RESAMPLES)], differences[int(0.975 * RESAMPLES)]


def paired(rows: list[Row]) -> Iterator[tuple[tuple[str, str, str], list[tuple[Row, Row]]]]:
    """Each cell's runs beside the game alone in the same shard; those that have none are left out.

    Of a run that was made again, the last counts.
    """
    last = {(row["game"], row["model"], row["load"], row["shard"]): row for row in rows}
    alone = {(row["game"], row["shard"]): row for row in last.values() if row["load"] == "alone"}
    order = sorted(last.values(), key=lambda row: (row["game"], row["model"], row["load"], row["shard"]))
    for cell, runs in groupby(order, key=lambda row: (row["game"], row["model"], row["load"])):
        pairs = [
            (row, alone[row["game"], row["shard"]]) for row in runs if (row["game"], row["shard"]) in alone
        ]
        if pairs:
            yield cell, pairs


def row_of(cell: tuple[str, str, str], pairs: list[tuple[Row, Row]]) -> Row:
    """The figures of a cell, and of it beside the game alone."""
    loaded, alone = [one for one, _ in pairs], [other for _, other in pairs]
    frames, alone_frames = ([us for one in cells for us in one["frames_us"]] for cells in (loaded, alone))
    p50, p95, p99 = (percentile(frames, part) for part in (0.5, 0.95, 0.99))
    game, model, load = cell
    told: Row = {"game": game, "model": model, "load": load, "shards": len(pairs), "frames": len(frames)}
    told |= {"missed_pct": round(missed_pct(loaded), 3), "p50": p50, "p95": p95, "p99": p99}
    told |= {
        "worst_run": worst_run(loaded),
        "others_pct": max(one["others_pct"] for one in (*loaded, *alone)),
    }
    if load != "alone":
        told |= {
            "missed_over_alone_points": round(missed_pct(loaded) - missed_pct(alone), 3),
            "ci": [round(end, 3) for end in interval(pairs)],
            "p95_over_alone": round(p95 / percentile(alone_frames, 0.95), 3),
            "p99_over_alone": round(p99 / percentile(alone_frames, 0.99), 3),
            "worst_run_over_alone": worst_run(loaded) - worst_run(alone),
            "tokens_per_s": round(tokens_per_s(loaded), 2),
            "tokens_max_over_min": spread(loaded),
        }
    return told


def spread(cells: list[Row]) -> float | None:
    """Of the tokens of the best run to those of the worst; none where one had none."""
    rates = [tokens_per_s([cell]) for cell in cells]
    return round(max(rates) / min(rates), 3) if min(rates) > 0 else None


def is_peer(row: Row) -> bool:
    """Whether it is not ours."""
    return str(row["load"]).startswith(("in_process", "llama_server"))


def best_peer(rows: list[Row]) -> Row | None:
    """The fastest of those that miss few frames; where none does, the one that misses fewest."""
    all_ = [row for row in rows if is_peer(row) and row["tokens_per_s"] > 0]
    good = [row for row in all_ if row["missed_over_alone_points"] < MISSED_OF_PEER]
    if good:
        return max(good, key=lambda row: row["tokens_per_s"])
    return min(all_, key=lambda row: row["missed_pct"], default=None)


def report(cells: list[Row], model: str, *, quick: bool) -> dict[str, Any]:
    """All figures. Those told first are of `model`, and the worst of all games."""
    rows = [row_of(cell, pairs) for cell, pairs in paired(cells)]
    for key in {(row["game"], row["model"]) for row in rows}:
        same = [row for row in rows if (row["game"], row["model"]) == key]
        best = best_peer(same)
        for row in same:
            if best and not is_peer(row) and row["load"] != "alone":
                row["best_peer"] = best["load"]
                row["best_peer_max_over_min"] = best["tokens_max_over_min"]
                row["tokens_over_best_peer"] = round(row["tokens_per_s"] / best["tokens_per_s"], 3)
    main = [row for row in rows if row["model"] == model]
    limits = QUICK_LIMITS if quick else LIMITS
    missing = [] if quick else list(not_measured(main))
    broken = [*missing, *(text for row in main for text in beyond(row, limits.get(row["load"], {})))]
    told = ("frames", "missed_pct", "p50", "p95", "p99", "worst_run")
    alone = {row["game"]: {name: row[name] for name in told} for row in rows if row["load"] == "alone"}
    return {
        "alone": alone,
        "sotto": {mode: worst(main, mode) for mode in MODES if any(row["load"] == mode for row in main)},
        "peers": {row["load"]: worst(main, row["load"]) for row in main if is_peer(row)},
        "rows": rows,
        "limits": limits,
        "broken": broken,
        "ok": not broken,
    }


def not_measured(rows: list[Row]) -> Iterator[str]:
    """What has limits and no figures, or no peer to be held against."""
    for load, limits in LIMITS.items():
        for game in GAMES:
            found = [row for row in rows if (row["load"], row["game"]) == (load, game)]
            if not found or any(name not in found[0] for name in limits):
                yield f"{game} {load}: not measured beside peers"


def worst(rows: list[Row], load: str) -> dict[str, float | None]:
    """The load's worst figures over the games."""
    of_it = [row for row in rows if row["load"] == load]
    most = (
        "missed_pct",
        "missed_over_alone_points",
        "p95_over_alone",
        "p99_over_alone",
        "worst_run_over_alone",
    )
    least = ("tokens_per_s", "tokens_over_best_peer")
    told = {name: max(row[name] for row in of_it) for name in most}
    return told | {
        name: min(row[name] for row in of_it) for name in least if all(name in row for row in of_it)
    }


def beyond(row: Row, limits: dict[str, Any]) -> Iterator[str]:
    """What of a row is not within its limits, in words."""
    if row["others_pct"] > MOST_OTHERS_PCT:
        return
    for name, limit in limits.items():
        if name not in row:
            continue
        least = name == "tokens_over_best_peer"
        value = row[name]
        if name == "tokens_max_over_min":
            limit = max(limit, row.get("best_peer_max_over_min") or limit)
        if value is None or (value < limit if least else value > limit):
            yield f"{row['game']} {row['load']}: {name} {value}, {'at least' if least else 'at most'} {limit}"


def add_standstill(figures: dict[str, Any], crowded: list[Row], quick: bool) -> None:
    """Adds the longest time without a token, beside a game and a process that keep every core busy."""
    if not crowded:
        return
    longest = max(row["longest_standstill_ms"] for row in crowded)
    figures["longest_standstill_ms"] = longest
    figures["crowded"] = crowded
    most = QUICK_STANDSTILL_MS if quick else STANDSTILL_MS
    if longest > most:
        figures["broken"].append(f"crowded: longest_standstill_ms {longest}, at most {most}")
    late = [row["load"] for row in crowded if not 0 <= row["first_token_ms"] <= FIRST_TOKEN_MS]
    figures["broken"] += [f"crowded {load}: first token later than {FIRST_TOKEN_MS} ms" for load in late]
    figures["ok"] = not figures["broken"]
