"""`sotto.agent.Search`: stores, arguments, and how searches end."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from agent_script import call, calls, options, play, says
from conftest import ENVIRONMENT, SCRIPTED
from searches import ASKS, BELL, OVEN, search, search_engine
from sotto.agent import (
    Agent,
    CallContext,
    Hit,
    Search,
    Source,
    StoreSource,
    ToolResult,
    tool,
)
from sotto.agent.search import Inquiry
from sotto.agent.search.embedding import find_embedding
from sotto.npc import Character, Memories, Sheet


@pytest.fixture(scope="module")
def house() -> Iterator[sotto.Engine]:
    with search_engine() as made:
        yield made


# Stores


def test_a_store_is_searched(house: sotto.Engine, tmp_path: Path) -> None:
    with sotto.Store.open("lore", dim=256, folder=tmp_path) as store:
        memories = Memories(house, store, "mara", model="words")
        memories.add(["The bell rang at night.", "Bread is on the shelf."])
        vector = house.embeddings("The carillon.", model="words").vectors[0]
        store.insert(
            "The carillon.", key="Music", namespace="lore", embedding=vector, metadata={"url": "m:1"}
        )
        every = search(house, store, embedder="words").find("chime")
        assert {one.text for one in every.hits[:2]} == {"The bell rang at night.", "The carillon."}
        lore = search(house, StoreSource(store, namespace="lore"), embedder="words").find("chime")
        assert lore.sources == (Source(1, "Music", "m:1"),)
        words = search(house, StoreSource(store, namespace="mara")).find("bread")
        assert words.hits[0].text == "Bread is on the shelf." and words.sources[0].url.startswith(
            "lore/mara/"
        )
        none = search(house, StoreSource(store, where={"kind": "summary"})).find("bread")
        assert none.text == "nothing was found"
        lookup = search(house, store)
        lookup.close()
        assert store.count() == 3  # which is the application's
    with pytest.raises(sotto.StoreError, match="closed"):
        search(house, store).find("bread")


def test_a_store_of_other_embeddings_is_searched_by_words(house: sotto.Engine, tmp_path: Path) -> None:
    for dim in (None, 8):
        with sotto.Store.open(f"store{dim}", dim=dim, folder=tmp_path) as store:
            store.insert("The bell rang.")
            assert search(house, store, embedder="words").find("bell").hits[0].text == "The bell rang."


def test_a_long_entry_is_found_by_its_passage(house: sotto.Engine, tmp_path: Path) -> None:
    with sotto.Store.open("lore", folder=tmp_path) as store:
        days = [f"Day {at}: it rained, and the river rose by a hand. " * 12 for at in range(60)]
        days[41] = "Odo cast the bell. " * 20
        store.insert("\n\n".join(days), key="Annals")
        store.insert("Odo rang.", key="Notes")
        found = search(house, store, max_results=2).find("Odo cast the bell")
    assert "Odo cast the bell." in found.hits[0].text and found.sources[0].title == "Annals"


# Sources of the application


class Source_:
    """A source that returns what a test wants."""

    ranked = True

    def __init__(self, given: Any) -> None:
        self.given = given

    async def find(self, inquiry: Inquiry) -> Any:
        assert inquiry.text and inquiry.limit and not inquiry.cancelled()
        return self.given


def test_an_object_may_be_a_source(house: sotto.Engine) -> None:
    found = search(house, Source_([Hit("a", "zzz", "b"), BELL])).find("the bell")
    assert [one.url for one in found.sources] == ["b", "book:12"]  # in its order
    with search(house, Source_([])) as lookup:  # which has no close()
        assert lookup.find("the bell").text == "nothing was found"
    for given in (None, 7, "text", [7], [{"title": "a"}]):
        with pytest.raises((TypeError, sotto.ArgumentError), match="hits"):
            search(house, Source_(given)).find("the bell")


def test_searches_of_one_round_have_their_own_sources(engine: sotto.Engine) -> None:
    asks = calls(*(call("search", {"query": f"word{at}"}, at) for at in range(6)))
    engine.load_model("npc", options=options({"hi": [asks, says("Well.")]}))
    lookup = Search(engine, lambda query: [{"title": query, "text": query, "url": query}] * 2)
    for concurrent in (False, True):
        with engine.session(model="npc") as session:
            answer = Agent(session, [lookup], concurrent=concurrent).say("hi")
        assert [one.sources for one in answer.calls] == [
            (Source(1, f"word{at}", f"word{at}"),) for at in range(6)
        ]


# Much


def test_large_results_do_not_stop_the_loop() -> None:
    much = [{"title": f"{at}", "text": "鐘の音 é " * 30_000, "url": f"{at}"} for at in range(300)]
    gaps: list[float] = []

    async def tick() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - began)

    async def main(engine: sotto.aio.Engine) -> None:
        ticking = asyncio.ensure_future(tick())
        for find in (lambda _: much, lambda _: itertools.cycle(much)):
            found = await Search(engine, find, max_tokens=64).afind("鐘の音")
            assert 0 < found.tokens <= 64 and len(found.hits) >= 1
        ticking.cancel()
        assert max(gaps) < 2  # 0.1 on an idle machine

    play({"hi": [says("Well.")]}, main)


# Arguments and life


def test_arguments_are_checked(house: sotto.Engine) -> None:
    for source in (None, 7, "folder", [BELL]):
        with pytest.raises(TypeError, match="invalid source"):
            Search(house, source)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="invalid engine"):
        Search(None, lambda _: [])  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [
        {"max_tokens": 31}, {"max_tokens": -1}, {"max_results": 0}, {"max_results": 101}, {"name": "a b"},
        {"name": ""}, {"description": ""}, {"model": ""}, {"embedder": ""}, {"permission": "perhaps"},
        {"time_limit": 0},
    ]  # fmt: skip
    for fields in wrong:
        with pytest.raises(sotto.ArgumentError, match=next(iter(fields))):
            Search(house, lambda _: [], **fields)
    for fields in (
        {"max_tokens": "9"},
        {"max_results": True},
        {"model": 7},
        {"embedder": 7},
        {"nonsense": 1},
    ):
        with pytest.raises(TypeError):
            Search(house, lambda _: [], **fields)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="copied"):
        __import__("copy").copy(Search(house, lambda _: []))


def test_hits_and_results_are_checked() -> None:
    with pytest.raises(TypeError, match="title"):
        Hit(1, "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text"):
        ToolResult(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sources"):
        ToolResult("a", ("b",))  # type: ignore[arg-type]
    assert len(Hit("t" * 999, "x" * 999_999, "u" * 9999).text) == 200_000


def test_a_function_may_cite_sources(engine: sotto.Engine) -> None:
    engine.load_model("npc", options=options({"hi": [calls(call("look")), says("Well.")]}))

    @tool
    def look(context: CallContext) -> ToolResult:
        return ToolResult("a gate", (Source(1, "Map", "map:1"),))

    with engine.session(model="npc") as session:
        (made,) = Agent(session, [look]).say("hi").calls
    assert (made.result, made.sources) == ("a gate", (Source(1, "Map", "map:1"),))


def test_a_closed_search_searches_again_and_leaves_no_files(
    house: sotto.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with search(house, lambda _: [BELL, OVEN]) as lookup:
        for _ in range(2):
            assert lookup.find("bell").hits
            assert len(os.listdir(tmp_path)) == 1
            lookup.close()
            lookup.close()
            assert os.listdir(tmp_path) == []


def test_a_closed_engine_is_an_error(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine()
    engine.load_model("npc", options={})
    lookup = Search(engine, lambda _: [BELL, OVEN])
    assert lookup.find("bell").hits
    engine.close()
    with pytest.raises(sotto.SottoError, match="closed"):
        lookup.find("bell")


def test_a_forked_child_makes_an_index_of_its_own(house: sotto.Engine, tmp_path: Path) -> None:
    from sotto.agent.search.index import PassageIndex

    index = PassageIndex(None, "hits")
    index.open(0)
    index.add([{"value": "the bell"}], None)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            index.open(0)
            index.add([{"value": "the oven"}], None)
            status = 0 if [one.entry.value for one in index.find("oven bell", None, 5)] == ["the oven"] else 2
            index.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [one.entry.value for one in index.find("bell", None, 5)] == ["the bell"]
    index.close()


LEAVES = """
import sys, threading, time
import sotto
from sotto.agent import FolderSource, Search

engine = sotto.Engine(module_dir=sys.argv[1], mode="prioritize_compute")
engine.load_model("npc", options={})
reached = threading.Event()

def find(query):
    if query == "hang":
        reached.set()
        time.sleep(600)
    return [{"title": "a", "text": query, "url": "b"}, {"title": "c", "text": "d", "url": "e"}]

lookup = Search(engine, find)
lookup.find("one")
folder = Search(engine, FolderSource(sys.argv[2]))
folder.find("one")
threading.Thread(target=lookup.find, args=("hang",), daemon=True).start()
reached.wait(60)
"""


def test_a_process_ends_in_the_middle_of_a_search(tmp_path: Path) -> None:
    (tmp_path / "lore").mkdir()
    (tmp_path / "lore" / "a.txt").write_text("one")
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LEAVES, str(SCRIPTED), str(tmp_path / "lore")],
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert os.listdir(tmp_path / "tmp") == []


def test_minilm_is_the_first_choice(house: sotto.Engine) -> None:
    house.load_model("sotto/minilm", path="-", backend="made")
    found = find_embedding(house, "auto")
    house.unload_model("sotto/minilm")
    assert found is not None and found.model == "sotto/minilm"
    assert find_embedding(house, "auto") is None


def test_a_character_searches(engine: sotto.Engine) -> None:
    engine.load_model("npc", options=options({"Where is it?": [ASKS, says("In the tower.")]}))
    lookup = Search(engine, lambda _: [BELL])
    with Character(engine, Sheet("Odo"), model="npc", tools=[lookup]) as odo:
        saying = odo.stream("Where is it?")
        assert "".join(saying) == "In the tower."
        assert saying.calls[0].sources == (Source(1, "The bell", "book:12"),)
