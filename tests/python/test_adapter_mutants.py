"""LoRA adapters that somebody damaged: refused by name, or computed with; the process goes on."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import ROOT

if sys.platform == "win32":
    pytest.skip("processes are forked and limited here", allow_module_level=True)
sys.path.append(str(ROOT / "tests" / "fuzz"))

import adapter_mutants

pytestmark = pytest.mark.real
COUNT = int(os.environ.get("SOTTO_TEST_MUTANTS", "100"))  # 5,000 for a release


def test_damaged_adapters_end_no_process_and_leave_the_model_as_it_was(tmp_path: Path) -> None:
    outcomes = adapter_mutants.run(COUNT, keep=tmp_path)
    assert [outcome for outcome in outcomes if outcome.fault] == []
    spoke = Counter(outcome.said == "spoke" for outcome in outcomes)
    assert spoke[True] > COUNT // 10, "they are not all refused"
    assert spoke[False] > COUNT // 3


def test_a_sound_adapter_loads_and_one_that_must_not_is_a_fault(tmp_path: Path) -> None:
    adapter_mutants.make_adapters(tmp_path)
    for model, adapter in adapter_mutants.ADAPTERS.items():
        for must_fail in (False, True):
            status, _, _, said = adapter_mutants.in_child(
                lambda model=model, adapter=adapter, must_fail=must_fail: adapter_mutants.load(
                    tmp_path / model, tmp_path / adapter, must_fail=must_fail
                ),
                tmp_path / "said",
            )
            assert (os.WEXITSTATUS(status), said) == (
                (3, "exit: AssertionError('taken')") if must_fail else (0, "spoke")
            )
