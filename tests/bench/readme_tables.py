"""Tables for README and docs/ of what the longer benches found, from their reports in results/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LOADS = {  # in the order in which they are shown
    "alone": "the game alone",
    "balance": "**Sotto**, `balance`",
    "prioritize_graphics": "**Sotto**, `prioritize_graphics`",
    "balance_gates": "Sotto, `balance`, gates",
    "prioritize_graphics_gates": "Sotto, `prioritize_graphics`, gates",
    "prioritize_compute": "Sotto, `prioritize_compute`",
    "llama_server": "llama-server, all cores",
    "llama_server_t1": "llama-server, one thread",
    "llama_server_nice19": "llama-server, all cores, nice 19",
    "llama_server_idle": "llama-server, all cores, idle class",
    "llama_server_idle_t1": "llama-server, one thread, idle class",
    "in_process": "a llama.cpp loop inside the game",
}
NAMES = {"110m": "110 M", "1b": "1 B"}
GAMES = {"one_thread": "one thread, 8 ms a frame", "job_system": "all cores, 10 ms a frame"}


def found(bench: str) -> dict[str, Any]:
    """A bench's report, as it was printed with --json."""
    return dict(json.loads((RESULTS / f"{bench}.json").read_text(encoding="utf-8")))


def frames_table(report: dict[str, Any], model: str) -> str:
    """Frames and tokens of each load, game by game."""
    rows = {(row["game"], row["load"]): row for row in report["rows"] if row["model"] in ("", model)}
    head = "".join(f" {what}: missed | p99 | tokens/s |" for what in GAMES.values())
    lines = [f"| beside it |{head}", "|---|" + "---:|" * (3 * len(GAMES))]
    for load, name in LOADS.items():
        cells = [rows.get((game, load)) for game in GAMES]
        if all(cell is None for cell in cells):
            continue
        lines.append(f"| {name} | " + " | ".join(map(_frames_cell, cells)) + " |")
    return "\n".join(lines)


def _frames_cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return " | | "
    tokens = f"{row['tokens_per_s']:.0f}" if "tokens_per_s" in row else ""
    return f"{row['missed_pct']:.2f} % | {row['p99']:.1f} ms | {tokens}"


def many_table(report: dict[str, Any]) -> str:
    """What many characters get together."""
    lines = ["| | |", "|---|---|"]
    for model in report["models"]:
        batch, server, prefix = model["batched_bench"], model["llama_server"], model["shared_prefix"]
        name = NAMES.get(model["name"], model["name"])
        lines += [
            f"| {name}: eight streams write together, tokens/s | {batch['ours_tps']:.0f} "
            f"(llama-batched-bench at its best: {batch['peer_tps']:.0f}) |",
            f"| {name}: eight streams ask again and again, tokens/s | {server['ours_tps']:.0f} "
            f"(llama-server: {server['peer_tps']:.0f}) |",
            f"| {name}: first token where 400 of 440 tokens are another's | "
            f"{prefix['others_ms']:.0f} ms (where none are: {prefix['first_ms']:.0f}) |",
        ]
    lines.append(f"| 64 streams on 8 places: most to least served | {report['fairness_max_min']:.2f} |")
    return "\n".join(lines)


def pacing_table(report: dict[str, Any]) -> str:
    """How exactly speech keeps its pace, and how soon it ends."""
    last = max(row["p99_ms"] for row in report["cancel"].values())
    hitch, prompt = report["hitch_max_rate_over_target"], report["prompt_max_gap_intervals"]
    lines = {
        "targets of 5 to 60 tokens/s: the mean, off by": f"{report['mean_error_pct']:.2f} %",
        "a token's moment, off by (p99, looked at every ms)": f"{report['p99_deviation_ms']:.1f} ms",
        "after 300 ms in which the game stood still": f"{hitch:.1f} x the target at most",
        "longest silence while 4,000 tokens of a prompt come in between": f"{prompt:.1f} intervals",
        "the same while a 1 B model loads": f"{report['load_max_gap_intervals']:.1f} intervals",
        "from cancel to the last event (p99)": f"{last:.1f} ms",
        "an engine that has nothing to do, of a core": f"{report['idle_core_pct']:.3f} %",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in lines.items())])


def budget_table(report: dict[str, Any]) -> str:
    """How a budget held, and what that cost."""
    unpark, parked, plan = report["unpark"], report["parked"], report["plan"]
    lowered = {row["model"]: row for row in report["lowering_ms"]["rows"]}
    lines = {
        f"{report['operations']:,} random operations on three models: blocks taken beyond the budget": str(
            report["violations"]
        ),
        "speech that failed because the budget was lowered": str(report["failed_streams"]),
        **{
            f"lowered by half under eight live streams ({name}): until it holds, median and worst": (
                f"{row['p50']:.0f} and {row['worst']:.0f} ms"
            )
            for name, row in lowered.items()
        },
        "what they say then is what they would have said": "yes" if report["same_text"] else "no",
        f"{unpark['tokens']:,} tokens of a 110 M model that were parked: until the next word": (
            f"{unpark['unpark_ms']:.0f} ms (worked through again: {unpark['prefill_ms']:.0f})"
        ),
        f"{parked['characters']:,} parked characters of 200 tokens, in {parked['memory_cap_mb']} MB of "
        "memory and files": (
            f"{parked['bytes_per_character'] / 1000:.0f} kB each; "
            f"{parked['answered']} of {parked['asked']} asked at random answered, and remembered"
        ),
        f"`sotto plan` beside what the process takes, {len(plan['cases'])} cases: the worst": (
            f"{plan['worst_mb']:.1f} MB off"
        ),
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in lines.items())])


def budget_text() -> str:
    """The block in the budget's chapter."""
    report = found("budget")
    return f"""\
By `tests/bench/budget.py`, on {report["setting"]["processor"]}:

{budget_table(report)}
"""


def on(report: dict[str, Any]) -> str:
    """Where it was measured."""
    return f"on {report['setting']['processor']}, {report['setting']['cores']} cores"


def first_token_rows(report: dict[str, Any]) -> str:
    """How soon the first token comes, beside peers."""
    prompt = report["setting"]["prompt"]
    return "\n".join(
        f"| {NAMES[model['name']]}: first token after {prompt} unknown tokens | "
        f"{model['ours_ms']:.0f} ms (llama-server: {model['llama_server_ms']:.0f}, "
        f"CTranslate2: {model['ctranslate2_ms']:.0f}) |"
        for model in report["models"]
    )


def headline() -> str:
    """Five bullets for the README, each with a figure."""
    frames, many, pacing, budget = (found(name) for name in ("frames", "many_npcs", "pacing", "budget"))
    rows = {row["load"]: row for row in frames["rows"] if row["game"] == "job_system"}
    ours, alone, peer = rows["balance"], rows["alone"], rows["llama_server_idle"]
    small = next(model for model in many["models"] if model["name"] == "110m")
    prefix, server = small["shared_prefix"], small["llama_server"]
    return f"""\
- **Frames stay.** Four streams beside a 60 FPS game on all cores: {ours["missed_pct"]:.2f} % of frames
  missed, the game alone {alone["missed_pct"]:.2f} %; \
{ours["tokens_per_s"] / peer["tokens_per_s"]:.1f} times the tokens of llama-server in the idle class.
- **Many characters, one model.** Eight streams that ask again and again get \
{server["ours_tps"]:.0f} tokens/s from
  a 110 M model on {many["setting"]["cores"]} cores (llama-server: {server["peer_tps"]:.0f}).
- **Shared prefixes are prefilled once.** First token after {prefix["others_ms"]:.0f} ms if 400 of 440
  tokens are cached, else after {prefix["first_ms"]:.0f} ms.
- **A pace to speak at.** 99 % of paced tokens come within {pacing["p99_deviation_ms"]:.1f} ms of their time.
- **A memory budget that holds.** {budget["operations"]:,} random operations on three models: \
{budget["violations"]} allocations beyond it.
"""


def models_text() -> str:
    """Returns the block of the page on models: speeds by size."""
    many, frames = found("many_npcs"), found("frames")
    lines = [
        "| size | eight streams together | time to first token, 440 tokens new | 400 of them cached |",
        "|---|--:|--:|--:|",
    ]
    for model in many["models"]:
        prefix = model["shared_prefix"]
        lines.append(
            f"| {NAMES[model['name']]} | {model['batched_bench']['ours_tps']:.0f} tokens/s | "
            f"{prefix['first_ms']:.0f} ms | {prefix['others_ms']:.0f} ms |"
        )
    rows = {row["game"]: row for row in frames["rows"] if row["load"] == "balance"}
    beside = {game: f"{row['tokens_per_s']:.0f}" for game, row in rows.items()}
    table = "\n".join(lines)
    return f"""\
Two synthetic models (random weights, Q4_0) {on(many)}, by `tests/bench/many_npcs.py`:

{table}

Beside a game less remains. By `tests/bench/frames.py` four streams of the 110 M model get
{beside["one_thread"]} tokens/s beside a game of one thread, 8 ms a frame,
and {beside["job_system"]} beside one on all cores, 10 ms.
"""


def characters_text() -> str:
    """Returns the block of the page on models: real models as characters."""
    report = found("characters")
    models = report["models"]
    of = f"of {report['sheets']}"
    rows = [
        "| | " + " | ".join(model["name"] for model in models) + " |",
        "|---|" + "--:|" * len(models),
    ]
    for label, name, unit in (
        ("file", "file_mb", "MB"),
        ("weights in memory", "weights_mb", "MB"),
        ("KV cache, each token of context", "kv_kb_per_token", "KB"),
        ("prefill, one core", "prefill_tps", "tokens/s"),
        ("decode, one core", "decode_tps", "tokens/s"),
    ):
        rows.append(f"| {label} | " + " | ".join(f"{model[name]} {unit}" for model in models) + " |")
    for line in models[0]["right"]:
        rows.append(f"| {line} | " + " | ".join(f"{model['right'][line]} {of}" for model in models) + " |")
    table = "\n".join(rows)
    return f"""\
By `tests/bench/characters.py`, on {report["setting"]["processor"]}, one core; {report["sheets"]}
characters with random facts, temperature 0; an answer is right if the fact stands in it:

{table}
"""


def images_text() -> str:
    """Returns the block of the page on diffusion models."""
    images, beside = found("image"), found("image_frames")
    lines = [
        "| form | file | image | seconds a step | seconds an image | peak memory |",
        "|---|--:|---|--:|--:|--:|",
    ]
    forms = {
        "tiny": "Z-Image, 3 layers",
        "small-256": "SD 1.5, narrow",
        "sd1-256": "SD 1.5",
        "sd1-512": "SD 1.5",
    }
    for name, case in images["cases"].items():
        size = f"{case['size']}x{case['size']}, {case['steps']} steps"
        told = " | ".join(
            f"{case[f'{what}_ours']:{form}} ({case[f'{what}_theirs']:{form}})"
            for what, form in (("step_s", ".2f"), ("picture_s", ".1f"), ("memory_mb", ",.0f"))
        )
        lines.append(f"| {forms[name]} | {case['file_mb']:,.0f} MB | {size} | {told} MB |")
    games = [
        f"- {GAMES[game]}: {told['missed_pct']['ours']:.2f} % (the game alone "
        f"{told['missed_pct']['alone']:.2f} %, beside that package {told['missed_pct']['theirs']:.1f} %)"
        for game, told in beside["games"].items()
    ]
    table, joined = "\n".join(lines), "\n".join(games)
    return f"""\
Random weights, on {images["processor"]}, {images["threads"]} threads, by `tests/bench/image.py`; in brackets
stable-diffusion-cpp-python with the same model, seed and threads:

{table}

Frames missed at 60 FPS beside images without a pause and four characters, by `tests/bench/image_frames.py`:

{joined}
"""


def text() -> str:
    """The whole block beside peers."""
    frames, many, pacing = found("frames"), found("many_npcs"), found("pacing")
    first_token = found("first_token")
    counted = [row["frames"] for row in frames["rows"] if row["model"] == "110m"]
    return f"""\
Four streams that ask for 128 tokens after 512 again and again (a 110 M model), beside two games at 60 FPS;
{min(counted):,} to {max(counted):,} frames of each row, the rows in random order, by `tests/bench/frames.py`,
{on(frames)}:

{frames_table(frames, "110m")}

Many characters on one set of weights, with the machine to themselves, by `tests/bench/many_npcs.py`
({on(many)}) and `tests/bench/first_token.py` ({on(first_token)}):

{many_table(many)}
{first_token_rows(first_token)}

Paced speech, by `tests/bench/pacing.py`, on {pacing["setting"]["processor"]}:

{pacing_table(pacing)}
"""
