"""`sotto.Store`: entries, queries, files, arrays, threads and forks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT, ROOT
from test_fork import in_child

STRANGE = 'a "b"\\\t\x01 é 🏰 \u202e'


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with sotto.Store.open("lore", dim=3, folder=tmp_path) as opened:
        yield opened


def values(matches: list[sotto.Match]) -> list[str]:
    return [match.entry.value for match in matches]


def test_entries(store: sotto.Store) -> None:
    metadata = {"place": "inn", "level": 3, "deep": {"er": [1, None, True]}}
    one = store.insert(
        STRANGE, key="gate", namespace="mara", priority=2, importance=0.25, created_ms=5, metadata=metadata
    )
    two = store.insert("b", id="my own", embedding=[1, 2, 3])
    found = store.get(one)
    assert found == sotto.Entry(one, "mara", "gate", STRANGE, 2.0, 0.25, 5, 5, metadata)
    second = store.get(two, with_embedding=True)
    assert second is not None and second.embedding == (1.0, 2.0, 3.0) and second.id == "my own"
    assert second.created_ms == second.accessed_ms > 1_700_000_000_000
    assert store.get("none") is None
    store.update(two, value="c", embedding=[3, 2, 1], metadata={"x": 1})
    changed = store.get(two, with_embedding=True)
    assert changed is not None
    assert (changed.value, changed.embedding, changed.metadata) == ("c", (3.0, 2.0, 1.0), {"x": 1})
    store.update(two, embedding=None)
    assert store.info()["embeddings"] == 0
    with pytest.raises(sotto.StoreError, match="no entry 'none'"):
        store.update("none", value="x")
    with pytest.raises(sotto.StoreError, match="invalid id 'my own'"):
        store.insert("x", id="my own")
    assert store.insert_many([{"id": "my own", "value": "d"}], replace=True) == ["my own"]
    assert [entry.value for entry in store.list()] == [STRANGE, "d"]
    assert (store.count(), store.count(namespace="mara"), store.count(namespace="")) == (2, 1, 1)
    assert store.delete(one, "none") == 1
    assert store.delete_where(namespace="mara") == 0
    assert store.delete_where() == 1


def test_queries(store: sotto.Store) -> None:
    store.insert(
        "Mara lost a silver ring.", embedding=[1, 0, 0], namespace="mara", metadata={"place": "well"}
    )
    store.insert(
        "The king is old.", embedding=[0, 1, 0], namespace="tobin", metadata={"place": "inn", "n": 2}
    )
    store.insert("A ring of bells.", namespace="mara", metadata={"place": "church", "n": 7})
    assert values(store.query("ring")) == ["A ring of bells.", "Mara lost a silver ring."]
    assert values(store.query(embedding=[0.1, 1, 0]))[0] == "The king is old."
    both = store.query("silver", embedding=[1, 0.1, 0])
    assert both[0].relevance == 1.0 and both[0].text_score is not None
    assert both[0].similarity == pytest.approx(0.995, abs=1e-3)
    assert values(store.query("ring", namespace="tobin")) == []
    assert values(store.query(where={"place": "inn"})) == ["The king is old."]
    assert values(store.query(where={"n": {"gte": 2, "lt": 7}})) == ["The king is old."]
    assert len(store.query(where={"place": ["inn", "church"]})) == 2
    assert len(store.query(where={"place": {"in": ["inn", "church"]}, "n": {"ne": 7}})) == 1
    assert len(store.query(limit=2)) == 2
    assert store.query("ring", with_embedding=True)[1].entry.embedding == (1.0, 0.0, 0.0)
    times = {entry.value: entry.accessed_ms for entry in store.list()}
    store.query("king", touch=True, now_ms=times["The king is old."] + 86_400_000)
    recent = store.query(
        weights={"relevance": 0, "recency": 1}, now_ms=times["The king is old."] + 86_400_000
    )
    assert values(recent)[0] == "The king is old." and recent[0].score == 1.0
    assert recent[1].recency == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda s: s.insert("x", embedding=[]), "embedding"),
        (lambda s: s.insert("x", embedding=[1, float("nan"), 2]), "finite"),
        (lambda s: s.insert("x", importance=2), r"entries\[0\].importance '2'"),
        (lambda s: s.insert("x", keyy="a"), "keyy"),
        (lambda s: s.insert("x", key=5), r"entries\[0\].key '5'"),
        (lambda s: s.insert("x", metadata=[1]), "metadata"),
        (lambda s: s.insert_many([{"namespace": "a"}]), r"entries\[0\].value"),
        (lambda s: s.insert_many([{"value": "a"}], embeddings=[[1, 2, 3], [1, 2, 3]]), "1 vectors"),
        (
            lambda s: s.insert_many([{"value": "a"}, {"value": "b"}], embeddings=[[1, 2, 3], [1]]),
            "one length",
        ),
        (lambda s: s.update("x", id="y"), "id"),
        (lambda s: s.query(limit=0), "limit"),
        (lambda s: s.query(limit=10_001), "limit"),
        (lambda s: s.query(where={"a": {"like": "x"}}), "like"),
        (lambda s: s.query(where={"a": {"gt": None}}), "where.a.gt"),
        (lambda s: s.query(where={'a"b': 1}), "where"),
        (lambda s: s.query(where={"a": {"in": "x"}}), "where.a.in"),
        (lambda s: s.query(weights={"relevance": 0}), "weights"),
        (lambda s: s.query(weights={"relevence": 1}), "relevence"),
        (lambda s: s.query(half_life_s=0), "half_life_s"),
        (lambda s: s.query("x" * 70_000), "text"),
        (lambda s: s.get(""), "entry_id"),
    ],
)
def test_invalid_arguments(store: sotto.Store, call: Any, named: str) -> None:
    with pytest.raises(sotto.ArgumentError, match=named):
        call(store)
    assert store.count() == 0


def test_wrong_dimensions(store: sotto.Store, tmp_path: Path) -> None:
    with pytest.raises(sotto.StoreError, match="expected 3 values"):
        store.insert("x", embedding=[1, 2])
    with pytest.raises(sotto.StoreError, match="expected 3 values"):
        store.query(embedding=[1, 2, 3, 4])
    with (
        sotto.Store.open("words", folder=tmp_path) as words,
        pytest.raises(sotto.StoreError, match="without embeddings"),
    ):
        words.insert("x", embedding=[1, 2])


def test_arrays(store: sotto.Store) -> None:
    numpy = pytest.importorskip("numpy")
    random = numpy.random.default_rng(1)
    rows = random.normal(size=(100, 3)).astype("float32")
    store.insert_many([{"value": str(at)} for at in range(100)], embeddings=rows)
    entries = list(store.list(with_embedding=True))
    assert numpy.array_equal(numpy.array([entry.embedding for entry in entries], "float32"), rows)
    asked = random.normal(size=3)  # float64
    cosines = rows @ asked / numpy.linalg.norm(rows, axis=1) / numpy.linalg.norm(asked)
    found = store.query(embedding=asked, limit=100)
    assert [int(match.entry.value) for match in found] == list(numpy.argsort(-cosines, kind="stable"))
    assert numpy.allclose([match.similarity for match in found], numpy.sort(cosines)[::-1], atol=1e-5)
    store.insert_many([{"value": "strided"}], embeddings=rows[::2][:1])
    with pytest.raises(sotto.ArgumentError, match="100x3 values"):
        store.query(embedding=rows)


def test_jsonl(store: sotto.Store, tmp_path: Path) -> None:
    store.insert_many([{"value": f"{at} {STRANGE}", "embedding": [1, at, 0.1]} for at in range(1200)])
    before = list(store.list(with_embedding=True))
    assert store.export_jsonl(tmp_path / "lore.jsonl") == 1200
    assert not list(tmp_path.glob(".sotto-*"))
    with sotto.Store.open("copy", dim=3, folder=tmp_path) as copy:
        assert copy.import_jsonl(tmp_path / "lore.jsonl") == 1200
        assert copy.import_jsonl(tmp_path / "lore.jsonl") == 1200  # replaces
        assert list(copy.list(with_embedding=True)) == before
        with pytest.raises(sotto.StoreError, match="invalid id"):
            copy.import_jsonl(tmp_path / "lore.jsonl", replace=False)
        (tmp_path / "bad.jsonl").write_text('{"value": "a"}\n\n{"value": \n')
        with pytest.raises(sotto.ArgumentError, match="line 3"):
            copy.import_jsonl(tmp_path / "bad.jsonl")


def test_opening(tmp_path: Path) -> None:
    with pytest.raises(sotto.StoreError, match="no store 'lore'"):
        sotto.Store.open("lore", folder=tmp_path, create=False)
    for name in ("a/b", "../a", "nul", "a\\b", "x" * 101):
        with pytest.raises(sotto.ArgumentError, match="invalid store id"):
            sotto.Store.open(name, folder=tmp_path)
    with pytest.raises(sotto.ArgumentError, match="without NUL"):
        sotto.Store.open("a\0b", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
    with sotto.Store.open(tmp_path / "deep" / "lore.db", dim=3) as store:
        assert (store.folder, store.id) == (str(tmp_path / "deep"), "lore")
        assert "lore" in repr(store)
        with pytest.raises(sotto.StoreError, match="open elsewhere") as caught:
            sotto.Store.open("lore", folder=tmp_path / "deep")
        assert caught.value.status == sotto.Status.BUSY
        with pytest.raises(sotto.StoreError, match="open elsewhere"):
            sotto.Store.remove_files("lore", folder=tmp_path / "deep")
    store.close()
    with pytest.raises(sotto.StoreError, match="is closed"):
        store.count()
    mode = os.stat(tmp_path / "deep" / "lore.db").st_mode & 0o777
    assert os.name != "posix" or mode == 0o600
    with pytest.raises(sotto.StoreError, match="invalid dim '4': expected 3"):
        sotto.Store.open("lore", dim=4, folder=tmp_path / "deep")
    assert sotto.Store.ids(tmp_path / "deep") == ["lore"]
    sotto.Store.remove_files("lore", folder=tmp_path / "deep")
    assert list((tmp_path / "deep").iterdir()) == []
    assert sotto.Store.ids(tmp_path / "nowhere") == []


@pytest.mark.parametrize("kind", ["folder", "link", "fifo", "text", "empty"])
def test_strange_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "lore.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "victim").write_text("precious")
        path.symlink_to(tmp_path / "victim")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_text("no database, but a text" * 100 if kind == "text" else "")
    if kind == "empty":  # what is left if a process is killed as it creates a store
        sotto.Store.open("lore", folder=tmp_path).close()
        return
    with pytest.raises(sotto.SottoError, match="regular file" if kind != "text" else "not a database"):
        sotto.Store.open("lore", folder=tmp_path)
    assert kind != "link" or (tmp_path / "victim").read_text() == "precious"


def test_threads_share_a_store(store: sotto.Store) -> None:
    failures: list[Exception] = []

    def work(name: int) -> None:
        try:
            for at in range(20):
                one = store.insert(f"thread {name} {at}", embedding=[name + 1, at, 1], namespace=str(name))
                assert any(match.entry.id == one for match in store.query(f"{at}", namespace=str(name)))
                if at % 3 == 0:
                    store.delete(one)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and store.count() == 4 * 13
    store.check()


def test_closing_while_another_thread_works(tmp_path: Path) -> None:
    for _ in range(5):
        store = sotto.Store.open("lore", dim=3, folder=tmp_path)
        ended: list[sotto.SottoError] = []

        def work(store: sotto.Store = store, ended: list[sotto.SottoError] = ended) -> None:
            try:
                while True:
                    store.insert("x", embedding=[1, 2, 3])
            except sotto.SottoError as error:
                ended.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        while not store.count():
            pass
        store.close()
        thread.join(30)
        assert not thread.is_alive() and "closed" in str(ended[0])
    with sotto.Store.open("lore", dim=3, folder=tmp_path) as again:
        again.check()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_no_store(store: sotto.Store, tmp_path: Path) -> None:
    store.insert("x")

    def child() -> None:
        with pytest.raises(sotto.StoreError, match="before the fork"):
            store.count()
        with pytest.raises(sotto.StoreError, match="open elsewhere"):
            sotto.Store.open("lore", folder=tmp_path)
        with sotto.Store.open("other", folder=tmp_path) as own:
            own.insert("mine")

    assert in_child(child) == 0
    store.insert("y")
    assert store.count() == 2


def test_results_are_json_of_the_header(store: sotto.Store) -> None:
    store.insert("x", embedding=[1, 2, 3], metadata={"a": 1})
    (row,) = store.ask(json.dumps({"limit": 1}), [1, 2, 3])
    assert {"id", "namespace", "key", "value", "score", "similarity", "metadata"} <= set(row)
    with pytest.raises(sotto.ArgumentError, match="unknown field 'limt'"):
        store.ask('{"limt": 1}')


def test_the_sample(tmp_path: Path) -> None:
    def run(line: str) -> list[str]:
        command = [sys.executable, str(ROOT / "samples" / "python" / "memory_store.py"), line]
        done = subprocess.run(
            command, capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert run("I lost my silver ring at the old well.") == ["Mara now knows 1 things."]
    recalled, known = run("Did you find anything at the well?")
    assert recalled.endswith("I lost my silver ring at the old well.") and known == "Mara now knows 2 things."
