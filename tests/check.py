"""The one command: sets up what the checks need, then runs all that this machine can run, cheapest first."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from checks import ground, steps

# How much tests try with --full that might always try more; each names its variable.
FULL = {
    "SOTTO_FULL": "1",
    "SOTTO_TEST_CHATS": "200",
    "SOTTO_TEST_FORKS": "200",
    "SOTTO_TEST_KILLS": "200",
    "SOTTO_TEST_MUTANTS": "5000",
}


def main() -> int:
    """Runs the chosen steps. Returns 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="STEP", help="these steps, and what they build on")
    parser.add_argument("--full", action="store_true", help="also what is slow and rarely breaks")
    parser.add_argument("--list", action="store_true", help="name the steps")
    parser.add_argument(
        "--minutes",
        type=float,
        default=65,
        help="no step starts later than this: a cold check on a slow machine takes longer than CI "
        "allows; compiled objects are cached, so a second run gets further (65; --full: no limit)",
    )
    arguments = parser.parse_args()
    if arguments.list:
        for step in steps.STEPS:
            print(f"{step.name:12} {step.what}{' (--full)' if step.full else ''}")
        return 0
    unknown = set(arguments.only or ()) - {step.name for step in steps.STEPS}
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}; --list names them")

    os.chdir(ground.ROOT)
    if arguments.full:
        os.environ.update({name: os.environ.get(name, count) for name, count in FULL.items()})
    began = time.monotonic()
    missing = ground.set_up()
    chosen = steps.choose(arguments.only)
    passed, failed, skipped = [], [], []
    for step in chosen:
        lacks = [tool for tool in step.needs if tool in missing]
        broken = [name for name in step.after if name in failed or name in skipped]
        late = not arguments.full and time.monotonic() - began > 60 * arguments.minutes
        if lacks or broken or late:
            reason = f"{', '.join(broken)} did not pass"
            if lacks:
                reason = f"{', '.join(lacks)} cannot be installed here"
            elif late:
                reason = f"{arguments.minutes:g} minutes are over: run it again, or with --minutes"
            print(f"  not run  {step.name:12} {reason}", flush=True)
            skipped.append(step.name)
            continue
        went = ground.run_step(step)
        (skipped if went is None else passed if went else failed).append(step.name)
    minutes = (time.monotonic() - began) / 60
    print(f"\n{minutes:.1f} minutes.", f"Failed: {', '.join(failed)}." if failed else "")
    if skipped:
        print(f"Not run: {', '.join(skipped)}.")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
