"""Every row of the reference checklist that is built so far is carried by a test."""

from __future__ import annotations

import json
import subprocess
import sys

from conftest import ENVIRONMENT, ROOT

sys.path.append(str(ROOT / "tests"))

import rows  # needs the path above

# Rows of reference interface A that are not built yet: proxy and images.
ABSENT = {9, *range(11, 17), *range(114, 134)}
# Rows of E that are not built yet.
ABSENT_E: set[int] = set()


def test_the_contract_rows_that_are_built_have_tests() -> None:
    command = [sys.executable, str(ROOT / "tests" / "rows.py"), "--json"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    interfaces = json.loads(done.stdout)["interfaces"]
    absent = {int(row[2:]) for row in interfaces["E"]["absent_rows"]}
    assert absent <= ABSENT_E, f"no test carries {[f'E-{row:03}' for row in sorted(absent - ABSENT_E)]}"
    figures = interfaces["A"]
    assert figures["rows"] == figures["verified"] + figures["absent"] == 221
    missing = {int(row[2:]) for row in figures["absent_rows"]} - ABSENT
    assert not missing, f"no test carries {[f'A-{row:03}' for row in sorted(missing)]}"


def test_a_row_is_verified_by_tests_that_pass() -> None:
    marks = rows.Marks()
    marks.tests.update({"A-001": {"one"}, "A-002": {"one", "two"}, "A-003": {"skipped"}, "A-004": {"two"}})
    marks.passed, marks.failed = {"one"}, {"two"}
    assert marks.verified(run=False) == {"A-001", "A-002", "A-003", "A-004"}
    assert marks.verified(run=True) == {"A-001"}
    kinds = {"A": {"A-001": "S", "A-002": "X", "A-003": "G"}}
    one = rows.count(kinds, {"A-001", "A-003"})["A"]
    assert one == {"rows": 2, "verified": 1, "absent": 1, "absent_rows": ["A-002"]}
    assert rows.differences(kinds, kinds) == [] == rows.differences(kinds, {})
    assert len(rows.differences(kinds, {"A": {"A-001": "X", "A-002": "X", "A-003": "G"}})) == 1
    assert len(rows.differences(kinds, {"A": {**kinds["A"], "A-004": "S"}})) == 1
    assert len(rows.differences({"A": {**kinds["A"], "A-004": "S"}}, kinds)) == 1
