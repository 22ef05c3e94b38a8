"""Runs llama.cpp's own server tests against llama-server of the pinned source, and against `sotto serve`.

The tests lie in the source of llama.cpp; a copy of them runs in a temporary folder, on the models of
llama_models.py. A test counts if llama-server passes it. Ours has to pass it too, or llama_suite.toml excuses
it with a reason. `ratio`: tests that ours passes, of those that count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llama_models
import stock
import tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXCUSES = HERE / "llama_suite.toml"
TESTS = Path("tools") / "server" / "tests"
FILE_LIMIT = 1800  # seconds for all tests of one file
MIN_RATIO = 0.9
Outcomes = dict[str, tuple[str, str]]  # "passed", "failed" or "skipped", and the reason, by test


def python() -> Path:
    """Returns the Python of an environment with the packages that the tests name. Installs them once."""
    folder = stock.cache() / "llama-suite-venv"
    wanted = stock.peers.source() / TESTS / "requirements.txt"
    noted = folder / "requirements.txt"
    if not noted.exists() or noted.read_text() != wanted.read_text():
        show = stock.peers.show_only_failure
        show([sys.executable, "-m", "venv", "--clear", folder], "an environment for llama.cpp's tests")
        show([folder / "bin" / "pip", "install", "-q", "-r", wanted], "the packages of llama.cpp's tests")
        shutil.copyfile(wanted, noted)
    return folder / "bin" / "python"


def command(side: str) -> list[str]:
    """Returns the command of a server, without arguments."""
    if side == "theirs":
        return [str(stock.llama_server())]
    return [sys.executable, "-m", "sotto.cli", "serve", "--as", "llama-server"]


def free_port() -> int:
    """Returns a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Tree:
    """A copy of the tests, and of the templates that they read, in a folder; and one server's front."""

    def __init__(self, folder: Path, server: Sequence[str]) -> None:
        self.tests = folder / TESTS
        source = stock.peers.source()
        shutil.copytree(source / TESTS, self.tests)
        (folder / "models").symlink_to(source / "models")
        (folder / "tools" / "mtmd").symlink_to(source / "tools" / "mtmd")  # pictures
        (self.tests / "tmp").mkdir(exist_ok=True)
        found = llama_models.models()
        files = {
            "server": list(server),
            "presets": {
                name: [str(found[one]) for one in ours] for name, ours in llama_models.PRESETS.items()
            },
            "downloads": {name: str(found[ours]) for name, ours in llama_models.DOWNLOADS.items()},
        }
        self.described = folder / "suite.json"
        self.described.write_text(json.dumps(files), encoding="utf-8")
        self.front = folder / "llama-server"
        self.front.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "llama_suite_front.py"}" "$@"\n')
        self.front.chmod(0o755)
        self._python = python()

    def run(self, file: str, chosen: str | None, only: Path | None) -> Outcomes:
        """Runs the tests of one file. `only`: a file with the names of the tests that count; None: all."""
        outcomes = self.described.with_name(f"{file}.jsonl")
        outcomes.touch()
        environment = {
            **os.environ,
            "LLAMA_SUITE": str(self.described),
            "LLAMA_SUITE_OUTCOMES": str(outcomes),
            "LLAMA_SUITE_ONLY": str(only or ""),
            "LLAMA_SERVER_BIN_PATH": str(self.front),
            "LLAMA_CACHE": str(self.tests / "tmp"),
            "LLAMA_ARG_THREADS": "1",  # threads that spin for each other crawl on a busy machine
            "PORT": str(free_port()),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(HERE), str(self.tests)]),
        }
        options = ["-q", "-p", "llama_suite_plugin", "-p", "no:cacheprovider", "-m", "not slow"]
        words = [self._python, "-m", "pytest", *options, *(["-k", chosen] if chosen else []), f"unit/{file}"]
        log = outcomes.with_suffix(".log")
        with log.open("wb") as said:
            process = subprocess.Popen(
                [str(word) for word in words],
                cwd=self.tests,
                env=environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            try:
                process.wait(FILE_LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
        found = read(outcomes)
        if not found and only is None:
            sys.exit(f"{file}: no test ran\n{log.read_text(errors='replace')[-3000:]}")
        return found


def read(outcomes: Path) -> Outcomes:
    """Returns the outcomes that the plugin wrote: the worst of a test's phases."""
    found: Outcomes = {}
    for line in outcomes.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if one["test"] not in found or one["outcome"] == "failed":
            found[one["test"].removeprefix("unit/")] = (one["outcome"], one["reason"])
    return found


def suite(side: str, words: argparse.Namespace, only: Sequence[str] = ()) -> Outcomes:
    """Runs files against one server, `jobs` at a time. `only`: the tests that count; empty: all."""
    with tempfile.TemporaryDirectory(prefix="llama-suite-") as folder:
        tree = Tree(Path(folder), command(side))
        named = Path(folder) / "only.txt" if only else None
        if named is not None:
            named.write_text("\n".join(only), encoding="utf-8")

        def run(file: str) -> Outcomes:
            outcomes = tree.run(file, words.chosen, named)
            passed = sum(outcome == "passed" for outcome, _ in outcomes.values())
            print(f"{side}: {file}: {passed} of {len(outcomes)} passed", file=sys.stderr, flush=True)
            return outcomes

        try:
            with ThreadPoolExecutor(words.jobs) as pool:
                parts = list(pool.map(run, words.files))
        finally:
            if words.logs is not None:
                words.logs.mkdir(parents=True, exist_ok=True)
                for log in Path(folder).glob("*.log"):
                    shutil.copyfile(log, words.logs / f"{side}-{log.name}")
    return {test: outcome for part in parts for test, outcome in part.items()}


def report(theirs: Outcomes, ours: Outcomes | None, excuses: dict[str, Any]) -> dict[str, Any]:
    """Returns the figures and the lists of one or of both runs."""
    counted = sorted(test for test, (outcome, _) in theirs.items() if outcome == "passed")
    failed = {test: why for test, (outcome, why) in sorted(theirs.items()) if outcome == "failed"}
    told: dict[str, Any] = {"theirs_passed": len(counted), "theirs_failed": failed}
    if ours is None:
        return {**told, "passed": counted}
    cases = excuses.get("cases", {})
    good = {test for test, (outcome, _) in ours.items() if outcome == "passed"}
    bad = [test for test in counted if test not in good]
    excused = {test: cases[test] for test in bad if test in cases}
    return {
        **told,
        "ours_passed": len(counted) - len(bad),
        "excused": len(excused),
        "ratio": round((len(counted) - len(bad)) / len(counted), 4) if counted else 0.0,
        "excused_cases": excused,
        "failures": {test: ours.get(test, ("", "did not run"))[1] for test in bad if test not in excused},
        "needless_excuses": sorted(set(cases) & set(counted) & good),
    }


def arguments(all_files: Sequence[str], left_out: dict[str, str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(all_files)}")
    parser.add_argument("--server", choices=("ours", "theirs", "both"), default="both")
    parser.add_argument("--json", action="store_true", help="all figures and lists as JSON")
    parser.add_argument("-k", dest="chosen", help="tests whose names match, as pytest's -k")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument(
        "--theirs", type=Path, help="JSON of an earlier run of --server theirs; ours runs what passed there"
    )
    parser.add_argument("--logs", type=Path, help="folder for the tests' output")
    words = parser.parse_args()
    words.files = [f"test_{one.removeprefix('test_').removesuffix('.py')}.py" for one in words.files]
    words.files = words.files or [file for file in all_files if file not in left_out]
    if unknown := sorted(set(words.files) - set(all_files)):
        parser.error(f"no such file: {', '.join(unknown)}")
    return words


def main() -> int:
    """Prints the figures. Returns 1 if ours fails a test that counts and that is not excused."""
    excuses = tomllib.loads(EXCUSES.read_text(encoding="utf-8"))
    left_out = excuses.get("files", {})
    all_files = sorted(path.name for path in (stock.peers.source() / TESTS / "unit").glob("test_*.py"))
    words = arguments(all_files, left_out)
    theirs: Outcomes
    if words.theirs:
        earlier = json.loads(words.theirs.read_text(encoding="utf-8"))
        theirs = {test: ("passed", "") for test in earlier["passed"] if test.split("::")[0] in words.files}
    elif words.server == "ours":
        theirs = {}
    else:
        theirs = suite("theirs", words)
    ours = None
    if words.server != "theirs":
        ours = suite("ours", words, [test for test, (outcome, _) in theirs.items() if outcome == "passed"])
    if words.server == "ours" and not words.theirs:
        theirs = dict.fromkeys(ours or {}, ("passed", ""))  # every test counts
    told = report(theirs, ours, excuses)
    told["files_left_out"] = {file: why for file, why in left_out.items() if file not in words.files}
    if words.json:
        print(json.dumps(told, indent=1))
    else:
        for name, value in told.items():
            print(f"{name}: {value if isinstance(value, (int, float)) else len(value)}")
        for test, why in told.get("failures", {}).items():
            print(f"{test}: {why.splitlines()[0] if why else ''}")
    return 1 if ours is not None and (told["failures"] or told["ratio"] < MIN_RATIO) else 0


if __name__ == "__main__":
    sys.exit(main())
