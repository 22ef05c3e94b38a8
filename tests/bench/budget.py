"""Whether an engine keeps to its budget, whatever is asked of it, and what that costs.

Random operations on three models, each block checked when it is taken; the budget lowered by half under
eight live streams; what is parked, and how soon it speaks again; plans, and the ledger, beside what the
system says that the process has.

    budget.py --build build/check/release --json

With --out, what was measured stays in that file and is not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import budget_live as live
from budget_anonymous import anonymous
from budget_operations import Operations, Wanted
from budget_plan import plans
from machine import processor, undisturbed
from models import model
from ours import package

LIMITS: dict[str, tuple[str, Any]] = {
    "violations": ("<=", 0),
    "failed_streams": ("<=", 0),
    "unclear_refusals": ("<=", 0),
    "bytes_left": ("<=", 0),
    "ledger_vs_platform_pct": ("<=", 5.0),
    "lowering_worst_ms": ("<=", 1000.0),
    "same_text": (">=", True),
    "unpark_over_prefill": (">=", 10.0),
    "parked_not_answered": ("<=", 0),
    "parked_over_cap_mb": ("<=", 0.0),
    "plans_outside": ("<=", 0),
    "anonymous_over_ledger_mb": ("<=", 12.0),
}
QUICK_LIMITS = {  # of which a moment on a busy machine says something
    **LIMITS,
    "lowering_worst_ms": ("<=", 3000.0),
    "unpark_over_prefill": (">=", 2.0),
}


def wanted(quick: bool) -> list[Wanted]:
    """Three models, or one in three forms."""
    house = model("house")
    few = {"parallel": 2, "context": 512, "kv_type": "f16"}
    third = (
        Wanted("small", house, {"kv_type": "q8_0"})
        if quick
        else Wanted("110m", model("110m"), {"context": 1024}, share=1)
    )
    return [Wanted("house", house, {}), Wanted("few", house, few), third]


class Runs:
    """Everything that is measured."""

    def __init__(self, arguments: argparse.Namespace, sotto: ModuleType, folder: Path) -> None:
        self.arguments, self.sotto, self.folder = arguments, sotto, folder
        self.others_pct: list[float] = []

    def once(self, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What it finds, or found an earlier time."""
        out, name = self.arguments.out, measure.__name__
        lines = out.read_text().splitlines() if out and out.exists() else []
        rows = {row["measure"]: row for row in map(json.loads, lines)}
        if name in rows:
            self.others_pct.append(rows[name]["others_pct"])
            return dict(rows[name]["found"])
        found = measure()
        if out:
            others_pct = self.others_pct[-1] if self.others_pct else 0.0
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"measure": name, "found": found, "others_pct": others_pct}) + "\n")
        return found

    def undisturbed(self, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A run with the machine to itself."""
        result, others_pct = undisturbed(lambda _: run(), self.arguments.patience)
        self.others_pct.append(others_pct)
        return result

    def operations(self) -> dict[str, Any]:
        """The random ones."""
        asked = self.arguments
        return Operations(self.sotto, wanted(asked.quick), asked.seed, self.folder).run(asked.operations)

    def lowering(self) -> dict[str, Any]:
        """By half, under eight streams."""
        names = ["house"] if self.arguments.quick else ["house", "110m"]
        asked = self.arguments
        return self.undisturbed(
            lambda: live.lowering(self.sotto, names, asked.times, self.folder, asked.seed)
        )

    def same_text(self) -> dict[str, Any]:
        """With and without."""
        return live.same_text(self.sotto, self.folder, self.arguments.seed)

    def unpark(self) -> dict[str, Any]:
        """Beside reading again."""
        name, times = ("house", 1) if self.arguments.quick else ("110m", 3)
        seed = self.arguments.seed
        return self.undisturbed(lambda: live.unpark(self.sotto, name, times, self.folder, seed))

    def parked(self) -> dict[str, Any]:
        """Many characters."""
        asked = self.arguments
        cap_mb, some = (1, 10) if asked.quick else (16, 30)
        return live.parked(self.sotto, asked.characters, cap_mb, some, self.folder, asked.seed)

    def plans(self) -> dict[str, Any]:
        """Beside what is."""
        quick = self.arguments.quick
        return plans(self.arguments.build, ["house"] if quick else ["house", "110m", "1b"], 1 if quick else 3)

    def anonymous(self) -> dict[str, Any]:
        """Beside the ledger."""
        asked = self.arguments
        return anonymous(asked.build, asked.parkings, asked.seed)


def limited(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures that have limits."""
    parked = figures["parked"]
    return {
        **figures,
        "lowering_worst_ms": figures["lowering_ms"]["worst"],
        "parked_not_answered": parked["asked"] - min(parked["answered"], parked["remembered"]),
        "parked_over_cap_mb": max(0.0, parked["memory_most_mb"] - parked["memory_cap_mb"]),
        "plans_outside": figures["plan"]["outside"],
    }


def broken(figures: dict[str, Any], limits: dict[str, tuple[str, Any]]) -> list[str]:
    """What is not within its limit."""
    held = limited(figures)
    return [
        f"{name} {held[name]}, limit {side} {limit}"
        for name, (side, limit) in limits.items()
        if (held[name] < limit if side == ">=" else held[name] > limit)
    ]


def main() -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the object on one line")
    parser.add_argument("--build", type=Path, required=True, help="the folder of a release build")
    parser.add_argument("--seed", type=int, default=6, help="of everything that is left to chance (6)")
    parser.add_argument("--operations", type=int, default=2000, help="random ones (2000)")
    parser.add_argument("--times", type=int, default=20, help="that a budget is lowered (20)")
    parser.add_argument("--characters", type=int, default=1000, help="that are parked (1000)")
    parser.add_argument("--parkings", type=int, default=10_000, help="before memory is compared (10000)")
    parser.add_argument(
        "--patience", type=float, default=60, help="seconds to wait for a machine at rest, per timing (60)"
    )
    parser.add_argument("--out", type=Path, help="the file that holds what was measured, a line each")
    parser.add_argument("--quick", action="store_true", help="the house model alone, for moments")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.operations, arguments.times, arguments.characters = 200, 5, 60
        arguments.patience, arguments.parkings = 0, 120
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(arguments, package(arguments.build), Path(folder))
        for measure in (
            runs.operations,
            runs.lowering,
            runs.same_text,
            runs.unpark,
            runs.parked,
            runs.plans,
            runs.anonymous,
        ):
            figures |= runs.once(measure)
            print(f"{measure.__name__} done", file=sys.stderr, flush=True)
    figures["failed_streams"] += figures.pop("lowering_failed_streams")
    limits = QUICK_LIMITS if arguments.quick else LIMITS
    wrong = broken(figures, limits)
    told = {
        **figures,
        "seed": arguments.seed,
        "setting": {"processor": processor(), "others_pct": max(runs.others_pct)},
        "limits": {name: f"{side} {limit}" for name, (side, limit) in limits.items()},
        "broken": wrong,
        "ok": not wrong,
    }
    print(json.dumps(told, indent=None if arguments.json else 2))
    return 0 if told["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
