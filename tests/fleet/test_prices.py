"""Tables of node prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sotto.fleet.prices import NodePrice, PriceTable


def test_workers_cost_whole_nodes() -> None:
    table = PriceTable({"gpu": {"usd_per_hour": 0.8, "workers": 4}, "cpu": NodePrice(0.1)})
    assert table.hourly_cost({"gpu": 5, "cpu": 3}) == pytest.approx(1.9)
    assert table.hourly_cost({}) == 0
    assert table["gpu"].usd_per_worker == pytest.approx(0.2)


def test_a_table_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"gpu": {"usd_per_hour": 0.8, "nodes": 3}}))
    assert dict(PriceTable.load(path)) == {"gpu": NodePrice(0.8, 1, 3)}
    path.write_text("{")
    with pytest.raises(ValueError, match=r"invalid prices .*: expected a JSON object"):
        PriceTable.load(path)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "expected at least one node type"),
        ([], "expected at least one node type"),
        ({"gpu": {}}, "missing prices.gpu.usd_per_hour"),
        ({"gpu": 3}, "invalid prices.gpu '3': expected an object"),
        ({"gpu": {"usd_per_hour": -1}}, "invalid prices.gpu.usd_per_hour '-1': expected a number >= 0"),
        ({"gpu": {"usd_per_hour": "1"}}, "invalid prices.gpu.usd_per_hour ''1''"),
        (
            {"gpu": {"usd_per_hour": 1, "workers": 0}},
            "invalid prices.gpu.workers '0': expected an integer from 1",
        ),
        ({"gpu": {"usd_per_hour": 1, "nodes": 1.5}}, "invalid prices.gpu.nodes '1.5'"),
        ({"gpu": {"usd_per_hour": 1, "euro": 2}}, "invalid prices.gpu.euro: expected one of usd_per_hour"),
    ],
)
def test_a_wrong_table_is_refused(table: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PriceTable(table)
