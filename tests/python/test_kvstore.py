"""`Engine.kvstore_...`: the key-value stores of the reference interface."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from conftest import SCRIPTED

Open = Callable[..., sotto.Engine]


@pytest.fixture
def stores(open_engine: Open, tmp_path: Path) -> sotto.Engine:
    """An engine with an empty store `lore` of three dimensions."""
    engine = open_engine(store_dir=tmp_path / "stores")
    engine.kvstore_create("lore", 3)
    return engine


def entry(key: str, embedding: list[float], **fields: Any) -> dict[str, Any]:
    return {"key": key, "value": f"value of {key}", "embedding": embedding, **fields}


def query(engine: sotto.Engine, **fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(engine.kvstore_query("lore", json.dumps(fields)))
    return found


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["key_text"] for row in rows]


@pytest.mark.row("A-169", "A-175", "A-189", "A-191")
def test_signatures() -> None:
    expected = {
        "kvstore_create": ["self", "store_id", "dim", "path"],
        "kvstore_insert": ["self", "store_id", "entries_json"],
        "kvstore_query": ["self", "store_id", "query_json"],
        "kvstore_delete": ["self", "store_id"],
    }
    for name, parameters in expected.items():
        assert list(inspect.signature(getattr(sotto.Engine, name)).parameters) == parameters


@pytest.mark.row("A-192")
def test_the_documented_examples(stores: sotto.Engine) -> None:
    engine, embedding_vec = stores, [0.1, 0.2, 0.3]
    entries = json.dumps(
        [
            {"key": "greeting", "value": "Hello!", "embedding": [0.1, 0.2, 0.3]},
        ]
    )
    assert engine.kvstore_insert("lore", entries) is None
    query = json.dumps({"query_embedding": embedding_vec, "limit": 5})
    results = json.loads(engine.kvstore_query("lore", query))
    shown = [(r["key_text"], r["similarity"]) for r in results]
    assert shown == [("greeting", pytest.approx(1.0, abs=1e-6))]
    assert engine.kvstore_delete("lore") is None


@pytest.mark.row("A-170", "A-171", "A-181", "A-182", "A-183", "A-184", "A-185", "A-186")
def test_rows_of_a_query(stores: sotto.Engine) -> None:
    rolled = random.Random(1)
    given = [[rolled.gauss(0, 1) for _ in range(3)] for _ in range(30)]
    stores.kvstore_insert("lore", json.dumps([entry(f"k{at}", one) for at, one in enumerate(given)]))
    asked = [0.3, -0.2, 0.9]
    rows = query(stores, query_embedding=asked, limit=30)
    assert len(rows) == 30 and len({row["id"] for row in rows}) == 30
    for row in rows:
        assert set(row) == {"id", "key_text", "similarity", "priority", "combined_score"}
        vector = given[int(row["key_text"][1:])]
        cosine = (
            sum(a * b for a, b in zip(asked, vector, strict=True)) / math.hypot(*asked) / math.hypot(*vector)
        )
        assert row["similarity"] == pytest.approx(cosine, abs=1e-5)
        assert row["priority"] == 1.0 and isinstance(row["priority"], float)
        assert row["combined_score"] == (row["similarity"] + row["priority"]) / 2
        stored = json.loads(stores.kvstore_get("lore", row["id"]))
        assert (stored["key"], stored["value"]) == (row["key_text"], f"value of {row['key_text']}")
    scores = [row["combined_score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert [row["id"] for row in query(stores, query_embedding=asked, limit=30)] == [
        row["id"] for row in rows
    ]


@pytest.mark.row("A-185", "A-186")
def test_priority_raises_an_entry(stores: sotto.Engine) -> None:
    rows = [entry("near", [1, 0, 0]), entry("urgent", [1, 1, 0], priority=2.0)]
    stores.kvstore_insert("lore", json.dumps(rows))
    found = query(stores, query_embedding=[1, 0, 0])
    assert keys(found) == ["urgent", "near"]
    assert found[0]["combined_score"] == pytest.approx((math.sqrt(0.5) + 2) / 2)


@pytest.mark.row("A-170", "A-171", "A-172", "A-173")
@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ('{"key": "a", "value": "b", "embedding": [1, 2, 3]}', "array"),
        ("not JSON", "expected JSON"),
        ('"text"', "array"),
        ("[1]", r"entries_json\[0\]"),
        ('[{"value": "b", "embedding": [1, 2, 3]}]', r"entries_json\[0\].key"),
        ('[{"key": 5, "value": "b", "embedding": [1, 2, 3]}]', r"entries_json\[0\].key"),
        ('[{"key": "a", "embedding": [1, 2, 3]}]', r"entries_json\[0\].value"),
        ('[{"key": "a", "value": "b"}]', r"entries_json\[0\].embedding"),
        ('[{"key": "a", "value": "b", "embedding": []}]', r"entries_json\[0\].embedding"),
        ('[{"key": "a", "value": "b", "embedding": "x"}]', r"entries_json\[0\].embedding"),
        ('[{"key": "a", "value": "b", "embedding": [1, "2", 3]}]', r"embedding\[1\]"),
        ('[{"key": "a", "value": "b", "embedding": [1, NaN, 3]}]', r"embedding\[1\]"),
        ('[{"key": "a", "value": "b", "embedding": [1, 1e39, 3]}]', r"embedding\[1\]"),
        ('[{"key": "a", "value": "b", "embedding": [0, 0, 0]}]', "zero"),
        ('[{"key": "a", "value": "b", "embedding": [1, 2, 3], "kye": 1}]', "kye"),
        ('[{"key": "a", "value": "b", "embedding": [1, 2, 3], "priority": "high"}]', "priority"),
    ],
)
def test_invalid_entries(stores: sotto.Engine, entries: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        stores.kvstore_insert("lore", entries)
    assert query(stores, query_embedding=[1, 2, 3]) == []


@pytest.mark.row("A-172", "A-174", "A-188", "A-190")
def test_store_errors(stores: sotto.Engine) -> None:
    good = json.dumps([entry("a", [1, 2, 3])])
    with pytest.raises(sotto.StoreError, match="no store 'none'"):
        stores.kvstore_insert("none", good)
    with pytest.raises(sotto.StoreError, match="no store 'none'"):
        stores.kvstore_query("none", '{"query_embedding": [1, 2, 3]}')
    with pytest.raises(sotto.StoreError, match="no store 'none'"):
        stores.kvstore_delete("none")
    with pytest.raises(sotto.StoreError, match="expected 3 values"):
        stores.kvstore_insert("lore", json.dumps([entry("a", [1, 2, 3]), entry("b", [1, 2])]))
    assert query(stores, query_embedding=[1, 2, 3]) == []  # none of the two
    with pytest.raises(sotto.StoreError, match="expected 3 values"):
        query(stores, query_embedding=[1, 2])
    with pytest.raises(sotto.StoreError, match="invalid dim '4'"):
        stores.kvstore_create("lore", 4)
    for name in ("a/b", "..", "a\\b", "nul", "x" * 101):
        with pytest.raises(ValueError, match="invalid store id"):
            stores.kvstore_create(name, 3)
    for dim in (0, -1, 16_385):
        with pytest.raises(ValueError, match="dim"):
            stores.kvstore_create("other", dim)


@pytest.mark.row("A-176", "A-178", "A-179", "A-187")
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("[]", "object"),
        ("{", "expected JSON"),
        ("{}", "query_embedding"),
        ('{"query_embedding": []}', "query_embedding"),
        ('{"query_embedding": [1, null, 2]}', r"query_embedding\[1\]"),
        ('{"query_embedding": [0, 0, 0]}', "zero"),
        ('{"query_embedding": [1, 2, 3], "limit": 0}', "limit"),
        ('{"query_embedding": [1, 2, 3], "limit": "5"}', "limit"),
        ('{"query_embedding": [1, 2, 3], "limit": true}', "limit"),
        ('{"query_embedding": [1, 2, 3], "limit": -1}', "limit"),
        ('{"query_embedding": [1, 2, 3], "vector_search_limit": 1.5}', "vector_search_limit"),
        ('{"query_embedding": [1, 2, 3], "query_text": 5}', "query_text"),
        ('{"query_embedding": [1, 2, 3], "use_prefilter": "yes"}', "use_prefilter"),
        ('{"query_embedding": [1, 2, 3], "embeding": 5}', "embeding"),
    ],
)
def test_invalid_queries(stores: sotto.Engine, asked: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        stores.kvstore_query("lore", asked)


@pytest.mark.row("A-177", "A-178", "A-179", "A-180")
def test_text_filter_and_limits(stores: sotto.Engine) -> None:
    rows = [entry(f"Street {at}", [1, at / 100, 0]) for at in range(50)]
    rows += [entry("The KING's road", [1, 0.9, 0]), entry("Königsweg", [0, 1, 0])]
    stores.kvstore_insert("lore", json.dumps(rows))
    asked: dict[str, Any] = {"query_embedding": [1, 0, 0]}
    assert keys(query(stores, **asked, query_text="king")) == ["The KING's road"]
    assert keys(query(stores, **asked, query_text="KÖNIG")) == ["Königsweg"]
    assert query(stores, **asked, query_text="queen") == []
    assert len(query(stores, **asked)) == 10  # the default
    assert keys(query(stores, **asked, limit=3)) == ["Street 0", "Street 1", "Street 2"]
    assert len(query(stores, **asked, limit=52)) == 52
    assert len(query(stores, **asked, limit=10, vector_search_limit=1)) == 1
    assert len(query(stores, **asked, limit=10, vector_search_limit=10)) == 10
    text: dict[str, Any] = {**asked, "query_text": "king", "vector_search_limit": 20}
    assert keys(query(stores, **text, use_prefilter=True)) == ["The KING's road"]
    assert query(stores, **text, use_prefilter=False) == []  # it is not among the 20 nearest
    text["vector_search_limit"] = 52
    assert keys(query(stores, **text, use_prefilter=False)) == ["The KING's road"]


@pytest.mark.row("A-189", "A-190")
def test_deleting_removes_the_files(stores: sotto.Engine, tmp_path: Path) -> None:
    stores.kvstore_insert("lore", json.dumps([entry("a", [1, 2, 3])]))
    assert list((tmp_path / "stores").iterdir())
    stores.kvstore_delete("lore")
    assert not list((tmp_path / "stores").iterdir())
    with pytest.raises(sotto.StoreError, match="no store 'lore'"):
        query(stores, query_embedding=[1, 2, 3])
    with pytest.raises(sotto.StoreError, match="no store 'lore'"):
        stores.kvstore_delete("lore")


@pytest.mark.row("A-191", "A-193")
def test_stores_outlive_the_engine(open_engine: Open, tmp_path: Path) -> None:
    first = open_engine(store_dir=tmp_path)
    first.kvstore_create("lore", 3)
    first.kvstore_create("elsewhere", 2, path=tmp_path / "more")
    first.kvstore_create("lore", 3)  # opens it again
    first.kvstore_insert("lore", json.dumps([entry("a", [1, 2, 3])]))
    rows = query(first, query_embedding=[3, 2, 1])
    assert json.loads(first.kvstore_list()) == ["elsewhere", "lore"]
    with pytest.raises(sotto.StoreError, match="open elsewhere"):
        open_engine(store_dir=tmp_path).kvstore_query("lore", '{"query_embedding": [1, 2, 3]}')
    first.close()
    second = open_engine(store_dir=tmp_path)
    assert json.loads(second.kvstore_list()) == ["lore"]
    assert query(second, query_embedding=[3, 2, 1]) == rows
    second.kvstore_create("elsewhere", 2, path=tmp_path / "more")
    second.kvstore_delete("elsewhere")
    assert not list((tmp_path / "more").iterdir())


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, open_engine: Open, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    engine = open_engine()
    assert json.loads(engine.kvstore_list()) == [] and not (tmp_path / "data").exists()
    engine.kvstore_create("lore", 3)
    assert (tmp_path / "data" / "sotto" / "stores" / "lore.db").is_file()


def test_asyncio(tmp_path: Path) -> None:
    async def main() -> None:
        async with sotto.aio.Engine(module_dir=SCRIPTED, store_dir=tmp_path) as engine:
            await engine.kvstore_create("lore", 3)
            await engine.kvstore_insert("lore", json.dumps([entry("a", [1, 2, 3])]))
            rows = json.loads(await engine.kvstore_query("lore", '{"query_embedding": [1, 2, 3]}'))
            assert keys(rows) == ["a"]
            assert json.loads(await engine.kvstore_get("lore", rows[0]["id"]))["value"] == "value of a"
            assert json.loads(await engine.kvstore_list()) == ["lore"]
        async with sotto.aio.Engine(module_dir=SCRIPTED, store_dir=tmp_path) as engine:
            await engine.kvstore_delete("lore")
        assert not list(tmp_path.iterdir())

    asyncio.run(main())
