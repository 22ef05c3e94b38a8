"""`sotto plan`: plans how a model fits into a memory budget. Measures the model without loading it."""

from __future__ import annotations

import argparse
import math
from typing import Any

from ..memory import Plan, Rung
from . import arguments as types
from . import confined, screen
from .text import megabytes, size

_MB = 1 << 20
_MOST_COUNT = 2**31 - 1  # the engine checks the model's own maximum
_COLUMNS = ("", "rung", "streams", "context", "weights", "kv", "compute", "together", "fits")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto plan` to `parser`."""
    parser.epilog = (
        "Megabytes are of 1,048,576 bytes. Nothing is downloaded. Exit status: 0 if the model fits, 1 if it "
        "does not or cannot be read, 2 if the question makes no sense."
    )
    parser.add_argument(
        "model", nargs="?", default="sotto/house", help="a GGUF file or a Hugging Face id (sotto/house)"
    )
    parser.add_argument(
        "--budget",
        type=types.count(1, types.MOST_MB),
        metavar="MB",
        help="what it may take (what this machine has available)",
    )
    parser.add_argument(
        "--context", type=types.count(1, _MOST_COUNT), metavar="N", help="tokens of each stream, no fewer"
    )
    parser.add_argument(
        "--parallel", type=types.count(1, _MOST_COUNT), metavar="N", help="streams at once, no fewer"
    )
    parser.add_argument(
        "--kv", choices=("f16", "q8_0"), help="what streams remember, in this form and no other"
    )
    parser.add_argument("--options", metavar="JSON", help="how to load it, where there is no argument for it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    types.add_limit_arguments(parser)
    types.add_engine_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the plan. Returns 0 if the model fits into the budget, else 1."""
    options = _options(arguments)
    asked = {"model": arguments.model, "budget_mb": arguments.budget, "options": options}
    asked["engine"] = types.engine_options(arguments)
    limits = types.limits(arguments.model, arguments.timeout, arguments.memory)
    plan: Plan = confined.value("plan", asked, limits, arguments.model)
    if arguments.json:
        screen.say(screen.dump(plan))
    else:
        _show(plan, asked=arguments.budget is not None)
    return 0 if plan["fits"] else 1


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {} if arguments.options is None else types.json_object("--options", arguments.options)
    named = {"context": arguments.context, "parallel": arguments.parallel, "kv_type": arguments.kv}
    return {**given, **{name: value for name, value in named.items() if value is not None}}


def _show(plan: Plan, *, asked: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = screen.console()
    console.print(escape(plan["model"]), style="bold")
    facts = Table(box=None, show_header=False, padding=(0, 2))
    facts.add_column(style="dim")
    for title, value in _facts(plan, asked=asked):
        facts.add_row(title, value)
    console.print(facts)
    chosen = _chosen(plan)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in ("", "rung", "fits") else "right")
    for rung in plan["rungs"]:
        taken = rung is chosen
        table.add_row(">" if taken else "", *_row(rung), style="bold" if taken else "")
    console.print()
    console.print(table)
    if chosen is None:
        console.print()
        for line in _remedy(plan):
            console.print(escape(line))


def _facts(plan: Plan, *, asked: bool) -> list[tuple[str, str]]:
    facts = []
    if plan["rungs"]:
        facts.append(("weights", f"{megabytes(plan['rungs'][0]['weights'])} MB"))
    if plan["kv_per_token"]:
        facts.append(("a token", f"{size(plan['kv_per_token'])} to remember, of each stream"))
    budget = plan["budget"]
    if not budget:
        facts.append(("budget", "none: this machine does not say what it has"))
    else:
        whose = "" if asked else ", which this machine has available"
        facts.append(("budget", f"{budget // _MB:,} MB{whose}"))
    chosen = _chosen(plan)
    facts.append(("fits", "no" if chosen is None else _said(chosen)))
    return facts


def _said(rung: Rung) -> str:
    streams = "1 stream" if rung["streams"] == 1 else f"{rung['streams']:,} streams"
    each = f" of {rung['context']:,} tokens" if rung["context"] else ""
    return f"{rung['rung']}: {streams}{each}, {megabytes(rung['bytes'])} MB"


def _row(rung: Rung) -> list[str]:
    sizes = [megabytes(rung["weights"]), megabytes(rung["kv"]), megabytes(rung["compute"])]
    counts = [f"{rung['streams']:,}", f"{rung['context']:,}" if rung["context"] else "any"]
    return [rung["rung"], *counts, *sizes, megabytes(rung["bytes"]), "yes" if rung["fits"] else "no"]


def _chosen(plan: Plan) -> Rung | None:
    return next((rung for rung in plan["rungs"] if rung["fits"]), None)


def _remedy(plan: Plan) -> list[str]:
    """Returns lines with the reason why the model does not fit, and the smallest budget that it fits into."""
    least = min((rung["bytes"] for rung in plan["rungs"]), default=None)
    why = [plan["reason"]] if plan["reason"] else []
    return why if least is None else [*why, f"It fits with --budget {math.ceil(least / _MB)}."]
