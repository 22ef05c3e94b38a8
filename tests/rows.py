"""Counts the rows of the reference interfaces that tests exercise, by their `@pytest.mark.row("A-001", ...)`.

A contract row is one of kind S (the reference says it) or X (an example shows it). Without --run, a row is
verified if a collected test carries its marker; with --run, if such a test was run and none of them failed.
`tests/data/rows.json` lists the ids and kinds. Checklists beside the repository are compared with it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).resolve().parent / "data" / "rows.json"
CONTRACT = ("S", "X")
_ROW = re.compile(r"^\| ([A-Z]-\d{3}) \| ([A-Z]) \|", re.M)

Kinds = dict[str, dict[str, str]]


def listed() -> Kinds:
    """Returns the kind of each row, by interface and id, as the committed list has them."""
    kinds: Kinds = {}
    for interface, numbers in json.loads(LIST.read_text(encoding="utf-8")).items():
        ids = {f"{interface}-{one:03}": kind for kind, ones in numbers.items() for one in ones}
        kinds[interface] = dict(sorted(ids.items()))
    return kinds


def checklists(folder: Path) -> Kinds:
    """Returns the same from the checklists in `folder`; nothing if there are none."""
    kinds: Kinds = {}
    for file in sorted(folder.glob("checklist-?.md")):
        kinds[file.stem[-1]] = dict(_ROW.findall(file.read_text(encoding="utf-8")))
    return kinds


def write_list(kinds: Kinds) -> None:
    """Writes the committed list."""
    written: dict[str, dict[str, list[int]]] = {}
    for interface, rows in kinds.items():
        numbers = defaultdict(list)
        for row, kind in sorted(rows.items()):
            numbers[kind].append(int(row.split("-")[1]))
        written[interface] = dict(sorted(numbers.items()))
    lines = [
        f'  "{interface}": {{\n'
        + ",\n".join(f'    "{kind}": {json.dumps(ones)}' for kind, ones in numbers.items())
        + "\n  }"
        for interface, numbers in written.items()
    ]
    LIST.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


class Marks:
    """A pytest plugin that notes the rows of each test, and how the tests end."""

    def __init__(self) -> None:
        self.tests: dict[str, set[str]] = defaultdict(set)  # ids of tests, by row
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Notes the markers."""
        for item in session.items:
            for mark in item.iter_markers("row"):
                for row in mark.args:
                    self.tests[row].add(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes how a test ended."""
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def verified(self, run: bool) -> set[str]:
        """Returns the rows that are verified."""
        if not run:
            return set(self.tests)
        return {row for row, tests in self.tests.items() if tests & self.passed and not tests & self.failed}


def collect(run: bool = False) -> Marks:
    """Collects the tests of the Python package and of the fleet; runs those with a row if `run` is true.

    Raises:
        RuntimeError: pytest could not collect them; the text has its errors.
    """
    marks = Marks()
    words = ["-q", "-p", "no:cacheprovider", *([] if run else ["--collect-only"])]
    said = io.StringIO()
    with contextlib.redirect_stdout(sys.stderr if run else said):
        codes = [
            pytest.main([*words, str(ROOT / "tests" / folder)], plugins=[marks])
            for folder in ("python", "fleet")
        ]
    if code := next((one for one in codes if one not in (0, 1)), 0):
        errors = [
            line for line in said.getvalue().splitlines() if line.startswith(("E  ", "ERROR", "SKIPPED"))
        ]
        raise RuntimeError("\n".join(errors) or f"pytest ended with {code}")
    return marks


def count(kinds: Kinds, verified: set[str]) -> dict[str, Any]:
    """Returns the figures of each interface: contract rows, verified ones, and the ids of the absent ones."""
    figures = {}
    for interface, rows in kinds.items():
        contract = [row for row, kind in rows.items() if kind in CONTRACT]
        absent = [row for row in contract if row not in verified]
        figures[interface] = {
            "rows": len(contract),
            "verified": len(contract) - len(absent),
            "absent": len(absent),
            "absent_rows": absent,
        }
    return figures


def differences(ours: Kinds, theirs: Kinds) -> list[str]:
    """Returns what the committed list and the checklists say differently, a line each."""
    return [
        f"{row}: {LIST.name} has {ours.get(interface, {}).get(row, 'no such row')}, the checklist {kind}"
        for interface, rows in theirs.items()
        for row, kind in (ours.get(interface, {}) | rows).items()
        if (ours.get(interface, {}).get(row), rows.get(row)) != (kind, kind)
    ]


def main() -> int:
    """Prints the figures. Returns 1 if a marker names no row, or the list and the checklists differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="as JSON, with the ids of absent rows")
    parser.add_argument("--run", action="store_true", help="run the tests instead of only collecting them")
    parser.add_argument("--update", action="store_true", help="write the list from the checklists")
    parser.add_argument(
        "--checklists", type=Path, default=ROOT.parent / "shared" / "reference", metavar="FOLDER"
    )
    arguments = parser.parse_args()
    theirs = checklists(arguments.checklists)
    if arguments.update:
        write_list(theirs)
    kinds = listed()
    marks = collect(arguments.run)
    known = {row for rows in kinds.values() for row in rows}
    wrong = [f"{row}: no such row, but a test carries it" for row in sorted(set(marks.tests) - known)]
    wrong += differences(kinds, theirs)
    figures = count(kinds, marks.verified(arguments.run))
    if arguments.json:
        print(json.dumps({"run": arguments.run, "interfaces": figures}, indent=1))
    else:
        for interface, one in figures.items():
            print(f"{interface}: {one['verified']} of {one['rows']} verified, {one['absent']} absent")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
