"""What the ingress of a fleet costs, and what its affinity gains.

Road: CPU per token of the ingress, and time to first token through it, beside the replica asked directly,
vllm-router and, with --ray, Ray Serve's Python proxy. Affinity: prompt tokens prefilled again and time to the
first word in dialogues, with the ingress' consistent hashing and with power of two choices, the policy of Ray
Serve's default router; with --ray, with this router itself too. All sides take turns in random order; figures
are medians of the runs. Prints one JSON object. Returns 1 if a limit is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fleet_clients import Load
from machine import processor
from peers import ROOT

STREAMS, PACE, TOKENS = 64, 20.0, 50  # at once; tokens per second of each; tokens of an answer
PARTS = ("road", "affinity")
LIMITS = {  # at most
    "road_us_per_token": 80.0,
    "road_over_vllm_router": 1.1,
    "ttfb_over_direct_ms": 15.0,
    "repeated_prefill": 0.1,
    "first_word_p95_ratio": 0.3,
    "first_word_p95_over_ray": 0.3,
    "sessions_moved_without_cause": 0.0,
}
QUICK_LIMITS = {  # of which a moment says something, on any machine
    "road_us_per_token": 240.0,
    "repeated_prefill": 0.3,
    "sessions_moved_without_cause": 0.0,
}


def road(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Asks a replica on each road."""
    import fleet_road

    streams = STREAMS // 2 if arguments.quick else STREAMS
    load = Load(0, fleet_road.MODEL, streams, arguments.answers, TOKENS, PACE)
    modules = arguments.build / "out" / "scripted"
    with fleet_road.Roads(folder, modules, load, peer=not arguments.quick, ray=arguments.ray) as roads:
        runs, others_pct = fleet_road.measured(roads, arguments.runs, arguments.patience)
    figures = fleet_road.figures(runs)
    setting = {"streams": streams, "answers": load.answers, "tokens": TOKENS, "target_tps": PACE}
    setting["runs"] = arguments.runs
    return {**figures, "setting": {**setting, "prompt_words": load.prompt, "others_pct": others_pct}}


def affinity(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Holds dialogues with replicas of each model."""
    import fleet_affinity

    told = []
    for name in arguments.models.split(","):
        traffic = (fleet_affinity.QUICK if arguments.quick else fleet_affinity.TRAFFIC)[name]
        (folder / name).mkdir()
        with fleet_affinity.Fleet(traffic, folder / name, ray=arguments.ray) as fleet:
            runs, others_pct = fleet.runs(arguments.runs, arguments.patience)
        told.append({**fleet_affinity.figures(traffic, runs), "others_pct": others_pct})
    return told


def report(found: dict[str, Any], quick: bool) -> dict[str, Any]:
    """Returns the figures that have limits, those of the worst model, and whether they are kept."""
    limits = QUICK_LIMITS if quick else LIMITS
    figures = {name: found["road"][name] for name in limits if name in found.get("road", ())}
    for name in limits:
        told = [one[name] for one in found.get("affinity", ()) if name in one]
        if told:
            figures[name] = max(told)
    broken = [
        f"{name} {figures[name]}, limit <= {limits[name]}"
        for name in figures
        if not figures[name] <= limits[name]
    ]
    return {"bench": "fleet", **figures, **found, "limits": limits, "broken": broken, "ok": not broken}


def haproxy_version() -> str:
    """Returns the version of HAProxy."""
    said = subprocess.run(["haproxy", "-v"], capture_output=True, text=True).stdout
    return next((word for word in said.split() if word[:1].isdigit()), "")


def check(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Fills in defaults, which --quick changes. Ends with status 2 if an argument is invalid."""
    quick = arguments.quick
    arguments.build = arguments.build.resolve()
    arguments.answers = 2 if quick else arguments.answers
    known = ["house"] if quick else ["house", "110m"]
    for name, usual in (("runs", 1 if quick else 5), ("models", ",".join(known))):
        if getattr(arguments, name) is None:
            setattr(arguments, name, usual)
    if arguments.patience is None:
        arguments.patience = 0.0 if quick else 600.0
    for name in ("runs", "answers"):
        if getattr(arguments, name) < 1:
            parser.error(f"invalid --{name} '{getattr(arguments, name)}': expected >= 1")
    for name, some in (("parts", PARTS), ("models", known)):
        if unknown := set(getattr(arguments, name).split(",")) - set(some):
            parser.error(f"invalid --{name} '{min(unknown)}': expected some of {', '.join(some)}")
    if quick and arguments.ray:
        parser.error("invalid --ray with --quick: --quick runs no peers; remove one of them")


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--parts", default=",".join(PARTS), help="of road, affinity (both)")
    parser.add_argument("--runs", type=int, help="of each part (5)")
    parser.add_argument("--answers", type=int, default=4, help="of each stream in a run (4)")
    parser.add_argument("--models", help="of the dialogues (house,110m)")
    parser.add_argument("--ray", action="store_true", help="Ray Serve's proxy and default router too")
    parser.add_argument("--quick", action="store_true", help="the house model for moments, no peers")
    parser.add_argument("--patience", type=float, help="seconds to repeat runs that others disturbed (600)")
    parser.add_argument("--json", action="store_true", help="on one line")
    arguments = parser.parse_args()
    check(parser, arguments)
    os.environ.setdefault("SOTTO_LIBRARY", str(arguments.build / "out" / "libsotto.so"))
    paths = [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path.insert(0, paths[0])
    began = time.monotonic()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as made:
        for name in arguments.parts.split(","):
            found[name] = {"road": road, "affinity": affinity}[name](arguments, Path(made))
    setting = {"processor": processor(), "cores": os.cpu_count(), "haproxy": haproxy_version()}
    setting |= {"runs": arguments.runs, "quick": arguments.quick}
    told = report({**found, "setting": setting}, arguments.quick)
    told["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(told, indent=None if arguments.json else 2))
    return 0 if told["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
