"""Choice of a cell by rendezvous hashing."""

from __future__ import annotations

from collections import Counter

import pytest

from sotto.fleet.hashing import rendezvous

KEYS = [f"session-{number}" for number in range(20_000)]
CELLS = {"a": 1.0, "b": 1.0, "c": 2.0}


def test_sessions_are_shared_out_by_weight() -> None:
    found = Counter(rendezvous(key, CELLS)[0] for key in KEYS)
    assert found["a"] / len(KEYS) == pytest.approx(0.25, abs=0.015)
    assert found["c"] / len(KEYS) == pytest.approx(0.50, abs=0.015)


def test_a_lost_cell_moves_its_own_sessions_alone() -> None:
    rest = {name: weight for name, weight in CELLS.items() if name != "b"}
    for key in KEYS[:2000]:
        before = rendezvous(key, CELLS)
        after = rendezvous(key, rest)
        assert after == [name for name in before if name != "b"]


def test_the_order_of_the_cells_does_not_matter() -> None:
    turned = dict(reversed(CELLS.items()))
    assert all(rendezvous(key, CELLS) == rendezvous(key, turned) for key in KEYS[:500])


def test_the_choice_is_the_same_in_every_version() -> None:
    assert "".join(rendezvous(key, CELLS)[0] for key in KEYS[:12]) == "caacacbaabca"


def test_cells_of_weight_zero_are_left_out() -> None:
    assert rendezvous("one", {"a": 0, "b": 1}) == ["b"]
    with pytest.raises(ValueError, match="expected at least one cell with a weight above 0"):
        rendezvous("one", {"a": 0})
    with pytest.raises(ValueError, match="invalid weight of cell 'a' '-1'"):
        rendezvous("one", {"a": -1, "b": 1})
