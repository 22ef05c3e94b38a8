"""Runs scripts of another library with it and with ours, only the import changed, and compares their results.

`same_script.py llama|runner [--models house,110m] [--only NAMES] [--json]`

The scripts lie in a folder of the subject's name; each leaves its result in the variable `result`. Results
are equal but for what the TOML file beside the folder excuses with a reason. The results of scripts in
`many/` are dicts of lists, whose equal elements are counted. Fails if a difference is not excused, if an
excuse is not needed, or if fewer elements are equal than LEAST says.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOLERANCE = 0.02  # of log probabilities and embeddings: both sides round differently
LEAST = {  # share that is equal, of each model, by subject
    "llama": {"greedy": 0.98, "tokens": 1.0, "text": 1.0},
    "runner": {"greedy": 0.85, "reasons": 1.0},  # ours with and without flash attention agree in 0.89
}
MODELS = ("house", "110m")
RANDOM = {"id", "created"}  # fields of responses that differ from run to run
Excuses = dict[str, dict[str, str]]  # reason, by script and path


@dataclass(frozen=True)
class Subject:
    """A library and our module with its interface."""

    its: str
    ours: str
    python: Callable[[], Path]  # an interpreter that has the library


def llama_cpp_python() -> Path:
    """Returns the Python of llama-cpp-python, which is built if it has to be."""
    import llama_cpp_python

    return llama_cpp_python.python()


def mistralrs() -> Path:
    """Returns the Python of mistralrs, which is installed if it has to be."""
    sys.path.append(str(ROOT / "tests" / "bench"))
    import peers

    return peers.environment("mistralrs", "mistralrs==0.9.5")


SUBJECTS = {
    "llama": Subject("llama_cpp", "sotto.llama", llama_cpp_python),
    "runner": Subject("mistralrs", "sotto.runner", mistralrs),
}


def run(python: Path | str, script: Path, model: str, replaced: str | None = None) -> Any:
    """Returns the result of a script in a process of its own. `replaced`: ITS=OURS."""
    words = [str(python), str(HERE / "run_script.py"), str(script), model, *([replaced] if replaced else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": f"exit status {done.returncode}", "text": done.stderr[-2000:]}
    found = json.loads(done.stdout)
    if not replaced and isinstance(found, dict) and "error" in found:
        sys.exit(f"{script} fails with its own library: {found['error']}: {found['text']}")
    return found


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields each path at which two results differ, with both values."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in (theirs.keys() | ours.keys()) - RANDOM:
            yield from differences(theirs.get(name), ours.get(name), f"{path}.{name}" if path else name)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for at, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(one, other, f"{path}.{at}" if path else str(at))
    elif not same(theirs, ours):
        yield path, theirs, ours


def same(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return math.isclose(theirs, ours, abs_tol=TOLERANCE)
    return type(theirs) is type(ours) and bool(theirs == ours)


def excused(excuses: Excuses, script: str, path: str) -> tuple[str, str] | None:
    """Returns the excuse of a difference: the script that it is for, and its pattern."""
    for name in (script, "every"):
        for pattern in excuses.get(name, {}):
            if fnmatchcase(path, pattern):
                return name, pattern
    return None


def compared(results: dict[str, tuple[Any, Any]], excuses: Excuses) -> dict[str, Any]:
    """Returns the figures for the results of scripts, theirs and ours."""
    different: dict[str, Any] = {}
    needed, equal = set(), 0
    for script, (theirs, ours) in results.items():
        found = list(differences(theirs, ours))
        equal += not found
        for path, its, our in found:
            excuse = excused(excuses, script, path)
            if excuse:
                needed.add(excuse)
            else:
                different.setdefault(script, {})[path] = [its, our]
    count = len(results)
    own = [(name, path) for name in results for path in excuses.get(name, {})]
    return {
        "scripts": count,
        "equal": equal,
        "excused": count - equal - len(different),
        "different": different,
        "unneeded": [f"{name}: {path}" for name, path in own if (name, path) not in needed],
    }


def counted(theirs: Any, ours: Any) -> dict[str, int]:
    """Returns how many elements of lists are equal, by the lists' names."""
    told = {}
    for name in theirs:
        pairs = list(zip(theirs[name], ours[name], strict=True))
        told |= {f"{name}_equal": sum(one == other for one, other in pairs), f"{name}_of": len(pairs)}
    return told


def few(figures: dict[str, int], subject: str = "llama") -> list[str]:
    """Returns which shares are smaller than they may be, in words."""
    return [
        f"{name}: {figures[f'{name}_equal']} of {figures[f'{name}_of']} are equal, expected {least:.0%}"
        for name, least in LEAST[subject].items()
        if f"{name}_of" in figures and figures[f"{name}_equal"] < least * figures[f"{name}_of"]
    ]


def measure(subject: str, models: dict[str, str], only: list[str]) -> dict[str, Any]:
    """Runs a subject's scripts on each model, both sides in turn."""
    sides, folder = SUBJECTS[subject], HERE / subject
    python = sides.python()

    def both(script: Path) -> tuple[Any, Any]:
        print(script.stem, file=sys.stderr, flush=True)
        theirs, ours = {}, {}
        for name, path in models.items():
            theirs[name] = run(python, script, path)
            ours[name] = run(sys.executable, script, path, f"{sides.its}={sides.ours}")
        return theirs, ours

    def chosen(where: Path) -> list[Path]:
        return [one for one in sorted(where.glob("*.py")) if not only or one.stem in only]

    excuses = tomllib.loads(folder.with_suffix(".toml").read_text(encoding="utf-8"))
    told = compared({one.stem: both(one) for one in chosen(folder)}, excuses)
    if set(models) != set(MODELS):
        told["unneeded"] = []  # an excuse may be for a model that did not run
    told["few"] = []
    for script in chosen(folder / "many"):
        theirs, ours = both(script)
        for name in models:
            figures = counted(theirs[name], ours[name])
            told["few"] += [f"{name}: {one}" for one in few(figures, subject)]
            told |= {key: told.get(key, 0) + value for key, value in figures.items()}
    return told


def main() -> int:
    """Prints the figures. Returns 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check" / "release")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--only", default="", help="names of scripts")
    parser.add_argument("--json", action="store_true", help="one object, also with all differences")
    words = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    os.environ.setdefault("SOTTO_LIBRARY", str((words.build / "out" / "libsotto.so").resolve()))
    sys.path.append(str(ROOT / "tests" / "bench"))
    from models import model

    paths = {name: str(model(name).path) for name in words.models.split(",")}
    told = measure(words.subject, paths, [one for one in words.only.split(",") if one])
    if words.json:
        print(json.dumps(told, indent=1))
    else:
        for name, value in told.items():
            print(f"{name}: {json.dumps(value)}")
    return 1 if told["different"] or told["unneeded"] or told["few"] else 0


if __name__ == "__main__":
    sys.exit(main())
