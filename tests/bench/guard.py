"""What the phrase checker catches, what it takes for a phrase that is none, and what a check costs.

The texts are those of tests/data/guard: disguised phrases, and innocent look-alikes. The figures are of the
set that is held apart; `--development` measures the one that the checker was developed on, `--wrong` lists
the mistakes.

    guard.py --build build/check/release --json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "guard"
LIMITS = {"caught": 0.98, "false_alarms": 0.005, "us_500_chars": 50}
PHRASES = 10_000
PROSE = (
    "The innkeeper wiped the counter and looked up when the door creaked. Rain had followed the traveller"
    " in, and a dog that smelled of it. 'You will want soup,' she said, 'and a bed that does not leak.' "
    "He counted his coins twice, put 3 of them down, and asked about the road to the mill: was it open, "
    "or had the river taken it again? Nobody at the long table answered. One of the masons laughed, "
    "drank, and drew a map in spilled ale. It was not a good map, but it had the bridge on it, and the "
    "bridge was what mattered."
)[:500]


def configuration(name: str) -> dict[str, Any]:
    """The guardrails of a set: a checker for each language."""
    languages = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["languages"]
    checkers = [
        {
            "type": "phrases",
            "phrases": one["phrases"],
            **({"letters": one["letters"]} if "letters" in one else {}),
        }
        for one in languages
    ]
    return {"input": checkers}


def judge(guard: Any, name: str, wrong: bool) -> dict[str, float]:
    """The shares of texts that are caught, and of innocent ones that are."""
    lines = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {True: [0, 0], False: [0, 0]}
    for line in lines:
        blocked = not guard.check(line["text"]).allowed
        found[line["caught"]][0] += 1
        found[line["caught"]][1] += blocked
        if wrong and blocked != line["caught"]:
            print(
                line["kind"],
                "missed" if line["caught"] else "false alarm",
                repr(line["text"]),
                file=sys.stderr,
            )
    return {
        "evasions": found[True][0],
        "innocents": found[False][0],
        "caught": round(found[True][1] / found[True][0], 4),
        "false_alarms": round(found[False][1] / found[False][0], 4),
    }


def made_up(count: int) -> list[str]:
    """Pronounceable phrases of one to three words."""
    dice = random.Random(7)
    syllables = [
        a + b for a in "bcdfghklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "ol", "ut")
    ]

    def word() -> str:
        return "".join(dice.choices(syllables, k=dice.randint(2, 4)))

    return [" ".join(word() for _ in range(dice.choice((1, 1, 2, 3)))) for _ in range(count)]


def cost(sotto: Any) -> dict[str, float]:
    """Median processor time of a check of 500 characters with 10,000 phrases, and of building the guard."""
    phrases = made_up(PHRASES)
    begun = time.perf_counter()
    guard = sotto.Guard({"input": [{"type": "phrases", "phrases": phrases}]})
    built = time.perf_counter() - begun
    assert guard.check(PROSE).allowed and not guard.check(PROSE + " " + phrases[-1]).allowed
    times = []
    for _ in range(2000):
        begun = time.thread_time()  # of the processor: others may use it meanwhile
        guard.check_json(PROSE)
        times.append(time.thread_time() - begun)
    return {
        "phrases": PHRASES,
        "us_500_chars": round(statistics.median(times) * 1e6, 1),
        "p99_us_500_chars": round(statistics.quantiles(times, n=100)[98] * 1e6, 1),
        "build_ms": round(built * 1e3, 1),
    }


def main() -> int:
    """Measures, prints, and fails if a limit is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--development", action="store_true", help="measure the set of the development")
    parser.add_argument("--wrong", action="store_true", help="list the texts that are judged wrong")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    os.environ.setdefault("SOTTO_LIBRARY", str(given.build / "out" / "libsotto.so"))
    sys.path.insert(0, str(ROOT / "python"))
    import sotto

    name = "development" if given.development else "held_apart"
    figures = {"set": name, **judge(sotto.Guard(configuration(name)), name, given.wrong), **cost(sotto)}
    missed = [
        f"{key} {figures[key]}, not {limit}"
        for key, limit in LIMITS.items()
        if (figures[key] < limit if key == "caught" else figures[key] > limit)
    ]
    if given.json:
        print(json.dumps({**figures, "limits": LIMITS, "missed": missed}, indent=2))
    else:
        print(*(f"{key}: {value}" for key, value in figures.items()), *missed, sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
