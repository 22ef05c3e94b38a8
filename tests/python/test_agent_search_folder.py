"""`sotto.agent.FolderSource`: what is found in a folder, what changes, and what is never read."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from agent_script import call, calls, options, play, says
from made_backend import Made
from search_models import DIM, Topics
from sotto.agent import Agent, FolderSource, Search, Source, aio
from sotto.agent.search import Inquiry
from sotto.agent.search import files as walking
from sotto.agent.search.embedding import Cancelled, find_embedding

RULES = """# Combat

A hero who falls takes one wound for every ten feet.

## Shields

A shield stops one arrow.
"""


@pytest.fixture(scope="module")
def words() -> Topics:
    return Topics("plunge falls drop", "shield buckler")


@pytest.fixture(scope="module")
def house(words: Topics) -> Iterator[sotto.Engine]:
    with sotto.Engine(mode="prioritize_compute", threads=1) as made:
        made.load_model("sotto/house")
        made.add_backend(Made(words))
        made.load_model("words", path="-", backend="made")
        yield made


@pytest.fixture
def lore(tmp_path: Path) -> Path:
    """A folder with rules, and beside it a secret."""
    folder = tmp_path / "lore"
    (folder / "towns").mkdir(parents=True)
    (folder / "rules.md").write_text(RULES)
    (folder / "towns" / "mill.txt").write_text("The bell of Millbrook was cast after the flood.")
    (tmp_path / "secret.txt").write_text("The secret word is mandragora.")
    return folder


def search(engine: sotto.Engine, source: FolderSource, embedder: str | None = None, **fields: Any) -> Search:
    return Search(engine, source, model="sotto/house", embedder=embedder, **fields)


def texts(found: Any) -> list[str]:
    return [one.text for one in found.hits]


def old(path: Path) -> None:
    """Makes a file look as if it was written long ago, as far as a program may."""
    os.utime(path, ns=(10**18, 10**18))


def test_a_folder_is_searched_by_words_and_by_meaning(house: sotto.Engine, lore: Path) -> None:
    by_words = search(house, FolderSource(lore)).find("bell of Millbrook")
    assert by_words.sources[0] == Source(1, "mill", "towns/mill.txt:1")
    assert by_words.text.startswith("[1] mill (towns/mill.txt:1)\nThe bell of Millbrook was cast")
    assert search(house, FolderSource(lore)).find("plunge").text == "nothing was found"
    by_meaning = search(house, FolderSource(lore), "words").find("plunge")
    assert by_meaning.sources[0] == Source(1, "Combat", "rules.md:3") and "one wound" in by_meaning.text
    assert search(house, FolderSource(lore), "words").find("buckler").sources[0].title == "Shields"


def test_an_agent_looks_up_a_rule(engine: sotto.Engine, lore: Path) -> None:
    asks = calls(call("look_up_rule", {"query": "falls ten feet"}))
    engine.load_model("npc", options=options({"hi": [asks, says("One wound.")]}))
    with engine.session(model="npc") as session:
        lookup = Search(engine, FolderSource(lore), name="look_up_rule", description="Looks up a rule.")
        (made,) = Agent(session, [lookup]).say("hi").calls
    assert made.status == "done" and made.sources[0] == Source(1, "Combat", "rules.md:3")


@pytest.mark.parametrize("embedder", [None, "words"])
def test_changes_are_picked_up(house: sotto.Engine, lore: Path, embedder: str | None) -> None:
    lookup = search(house, FolderSource(lore), embedder)
    assert "one wound" in lookup.find("falls").text
    (lore / "rules.md").write_text(RULES.replace("one wound", "two wound"))  # of the same size
    found = lookup.find("falls").text
    assert "two wound" in found and "one wound" not in found
    (lore / "towns" / "port.txt").write_text("The port falls dry at ebb.")
    assert "falls dry" in lookup.find("falls").text
    (lore / "rules.md").unlink()
    found = lookup.find("falls").text
    assert "wound" not in found and "falls dry" in found
    (lore / "towns" / "port.txt").rename(lore / "port.txt")
    assert lookup.find("falls").sources[0].url == "port.txt:1"


def test_unchanged_files_are_not_read_again(
    house: sotto.Engine, words: Topics, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = walking.read
    monkeypatch.setattr(walking, "read", lambda file, most: read.append(file.name) or whole(file, most))
    monkeypatch.setattr(walking, "_YOUNG", 0)
    lookup = search(house, FolderSource(lore), "words")
    assert lookup.refresh() == 2 and sorted(read) == ["rules.md", "towns/mill.txt"]
    read.clear()
    words.texts.clear()
    assert lookup.refresh() == 0 and read == []
    lookup.find("falls")
    assert read == [] and words.texts[-1] == "falls" and len(words.texts) == 2
    old(lore / "rules.md")
    assert lookup.refresh() == 0 and read == ["rules.md"]  # the content is the same


def test_an_index_in_a_store_is_kept(house: sotto.Engine, words: Topics, lore: Path, tmp_path: Path) -> None:
    where = tmp_path / "stores"
    with sotto.Store.open("index", dim=DIM, folder=where) as store:
        assert search(house, FolderSource(lore, store=store), "words").refresh() == 2
        words.texts.clear()
    with sotto.Store.open("index", dim=DIM, folder=where) as store:
        lookup = search(house, FolderSource(lore, store=store), "words")
        assert lookup.find("plunge").sources[0].url == "rules.md:3" and words.texts == ["plunge"]
        assert search(house, FolderSource(lore, store=store)).refresh() == 0  # embeddings are kept
        (lore / "rules.md").unlink()
        assert all(one.url != "rules.md:3" for one in lookup.find("plunge").hits)
        lookup.close()
        assert store.count() == 1
    with sotto.Store.open("plain", folder=where) as store:  # without embeddings
        lookup = search(house, FolderSource(lore, store=store), "words")
        assert texts(lookup.find("flood")) == ["The bell of Millbrook was cast after the flood."]


def test_another_embedding_model_embeds_again(house: sotto.Engine, lore: Path) -> None:
    other = Topics("carillon bell", dim=64)
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("sotto/house")
        engine.add_backend(Made(other))
        engine.load_model("others", path="-", backend="made")
        source = FolderSource(lore)
        assert search(engine, source, "others").find("carillon").sources[0].url == "towns/mill.txt:1"
        assert search(house, source, "words").find("plunge").sources[0].url == "rules.md:3"
        assert search(house, source).find("flood").sources[0].url == "towns/mill.txt:1"


# What is never read


def test_links_lead_nowhere(house: sotto.Engine, lore: Path, tmp_path: Path) -> None:
    (lore / "link.txt").symlink_to(tmp_path / "secret.txt")
    (lore / "up").symlink_to(tmp_path, target_is_directory=True)
    (lore / "loop").symlink_to(lore, target_is_directory=True)
    (lore / "towns" / "passwd.txt").symlink_to("/etc/passwd")
    (lore / "dead.txt").symlink_to("nowhere")
    source = FolderSource(lore)
    lookup = search(house, source)
    for query in ("secret mandragora", "root bin nologin"):
        assert all("mandragora" not in one and "root:" not in one for one in texts(lookup.find(query)))
    assert lookup.find("mandragora").text == "nothing was found"
    for name in ("link.txt", "up", "loop", "towns/passwd.txt", "dead.txt"):
        assert source.skipped[name] == "a link"


def test_a_file_that_becomes_a_link_meanwhile_is_not_read(
    house: sotto.Engine, lore: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a name and its opening, a file and a folder are replaced by links."""
    opening = os.open

    def replaced(path: Any, flags: int, *mode: Any, dir_fd: int | None = None) -> int:
        if dir_fd is not None and path == "rules.md":
            (lore / "rules.md").unlink(missing_ok=True)
            (lore / "rules.md").symlink_to(tmp_path / "secret.txt")
        if dir_fd is not None and path == "towns":
            (lore / "towns").rename(tmp_path / "moved")
            (lore / "towns").symlink_to(tmp_path, target_is_directory=True)
        return opening(path, flags, *mode, dir_fd=dir_fd)

    monkeypatch.setattr(walking.os, "open", replaced)
    source = FolderSource(lore)
    found = search(house, source)
    assert found.find("mandragora").text == "nothing was found"
    assert set(source.skipped) == {"rules.md", "towns"}


def test_sizes_are_bounded(house: sotto.Engine, lore: Path, caplog: pytest.LogCaptureFixture) -> None:
    (lore / "huge.txt").write_text("the hoard " * 2000)
    (lore / "binary.txt").write_bytes(b"the hoard\0\1\2")
    (lore / ".hidden.txt").write_text("the hoard")
    (lore / ".git").mkdir()
    (lore / ".git" / "hoard.txt").write_text("the hoard")
    (lore / "hoard.bin").write_text("the hoard")
    os.mkfifo(lore / "pipe.txt")
    source = FolderSource(lore, max_file_bytes=10_000)
    assert search(house, source).find("hoard").text == "nothing was found"
    assert set(source.skipped) == {"huge.txt", "binary.txt", "pipe.txt"}
    assert "max_file_bytes" in source.skipped["huge.txt"] and "'huge.txt'" in caplog.text
    for number in range(5):
        (lore / f"z{number}.txt").write_text("zebra " * 20)
    few = FolderSource(lore, max_files=4, max_file_bytes=10_000)
    assert len(texts(search(house, few, max_results=9).find("zebra"))) == 1 and "max_files=4" in str(
        few.skipped
    )
    small = FolderSource(lore, max_bytes=400, max_file_bytes=10_000)
    search(house, small).find("zebra")
    assert "max_bytes=400" in str(small.skipped)


def test_names_of_all_kinds_are_cited_or_skipped(house: sotto.Engine, lore: Path) -> None:
    for name in ("夜 zebra.txt", "a\nb.txt", "a'b;--.txt", "x" * 250 + ".txt", "[7] zebra.md"):
        (lore / name).write_text("A zebra.")
    (lore / os.fsdecode(b"caf\xe9.txt")).write_text("A zebra.")
    source = FolderSource(lore)
    found = search(house, source, max_results=9).find("zebra")
    assert len(found.hits) == 5 and source.skipped == {"caf\ufffd.txt": "its name is not UTF-8"}
    assert all("\n" not in one.url and one.url.endswith(":1") for one in found.sources)


def test_a_deep_folder_ends(house: sotto.Engine, lore: Path) -> None:
    deep = lore
    for _ in range(40):
        deep = deep / "d"
        deep.mkdir()
    (deep / "a.txt").write_text("zebra")
    source = FolderSource(lore)
    assert search(house, source).find("zebra").text == "nothing was found"
    assert any("folders deep" in one for one in source.skipped.values())


def test_a_folder_that_may_not_be_read_is_skipped(house: sotto.Engine, lore: Path) -> None:
    closed = lore / "towns"
    closed.chmod(0)
    try:
        os.listdir(closed)
        readable = True  # by root
    except PermissionError:
        readable = False
    source = FolderSource(lore)
    found = search(house, source).find("bell flood")
    closed.chmod(0o700)
    assert ("towns" in source.skipped) != readable and (found.text == "nothing was found") != readable


def test_texts_of_all_encodings_are_read(house: sotto.Engine, lore: Path) -> None:
    for number, encoding in enumerate(("utf-8-sig", "utf-16", "utf-16-le", "latin-1")):
        mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
        (lore / f"e{number}.txt").write_bytes(mark + f"Quagga{number} Grüße.".encode(encoding))
    (lore / "empty.txt").write_text("")
    lookup = search(house, FolderSource(lore))
    for number in range(4):
        (hit,) = lookup.find(f"quagga{number}").hits
        assert hit.text.startswith(f"Quagga{number} Gr") and "\ufeff" not in hit.text
    assert "\ufffd" in lookup.find("quagga3").text and "Grüße" in lookup.find("quagga1").text


def test_a_folder_that_goes_away_fails_and_comes_back(
    house: sotto.Engine, lore: Path, tmp_path: Path
) -> None:
    lookup = search(house, FolderSource(lore))
    assert lookup.find("flood").hits
    lore.rename(tmp_path / "away")
    with pytest.raises(OSError, match="No such file"):
        lookup.find("flood")
    (tmp_path / "away").rename(lore)
    assert lookup.find("flood").hits


# Long work


def test_a_cancelled_search_keeps_what_it_indexed(lore: Path, words: Topics, house: sotto.Engine) -> None:
    for number in range(20):
        (lore / f"a{number:02}.txt").write_text(f"Number {number}.")
    source = FolderSource(lore)
    left = 8

    def cancelled() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    embedding = find_embedding(house, "words")
    with pytest.raises(Cancelled):
        source.refresh(embedding, cancelled)
    words.texts.clear()
    assert 0 < source.refresh(embedding) < 22
    assert 0 < len([one for one in words.texts if "Number" in one]) < 20
    assert search(house, source, "words").find("number 7").hits


def test_searches_at_once_index_once(house: sotto.Engine, words: Topics, lore: Path) -> None:
    words.texts.clear()
    lookup = search(house, FolderSource(lore), "words")
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(lookup.find("falls").hits))) for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert found == [3] * 8 and sum("one wound" in one for one in words.texts) == 1


def test_a_call_whose_time_is_over_stops_indexing(engine: sotto.Engine, lore: Path) -> None:
    """A folder whose files take long: the turn goes on, and the thread ends at the next file."""
    asks = calls(call("search", {"query": "falls"}))
    engine.load_model("npc", options=options({"hi": [asks, says("Well.")]}))
    ended = threading.Event()

    class Slow(FolderSource):
        def _find(self, inquiry: Inquiry) -> Any:
            try:
                for _ in range(6000):
                    if inquiry.cancelled():
                        raise Cancelled
                    time.sleep(0.01)
                return super()._find(inquiry)
            finally:
                ended.set()

    with engine.session(model="npc") as session:
        (made,) = Agent(session, [Search(engine, Slow(lore), time_limit=0.1)]).say("hi").calls
    assert made.status == "timed_out" and ended.wait(10)


def test_cancelled_turns_leave_a_search_in_order(
    lore: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """48 turns of 16 agents with one search, while its files change; a third of them is cancelled."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    asks = calls(call("search", {"query": "falls"}), call("search", {"query": "bell"}, 1))
    draw = random.Random(5)

    async def turns(engine: sotto.aio.Engine, lookup: Search, number: int) -> int:
        ended = 0
        async with await engine.session(f"s{number}", model="npc") as session:
            agent = aio.Agent(session, [lookup], concurrent=number % 2 == 0)
            for turn in range(3):
                (lore / f"n{number % 4}.txt").write_text(f"It falls at {turn}.")
                task = asyncio.ensure_future(agent.say("hi"))
                if draw.random() < 0.35:
                    await asyncio.sleep(draw.random() * 0.05)
                    task.cancel()
                done = await asyncio.gather(task, return_exceptions=True)
                if isinstance(done[0], BaseException):
                    assert isinstance(done[0], asyncio.CancelledError), done[0]
                    continue
                assert [one.status for one in done[0].calls] == ["done", "done"], done[0].calls
                assert all(one.sources for one in done[0].calls)
                ended += 1
        return ended

    async def main(engine: sotto.aio.Engine) -> None:
        with Search(engine, FolderSource(lore)) as lookup:
            ended = await asyncio.gather(*(turns(engine, lookup, one) for one in range(16)))
            assert 16 <= sum(ended) < 48
            found = await lookup.afind("it falls at")
            assert {"n0.txt:1", "n1.txt:1", "n2.txt:1", "n3.txt:1"} <= {one.url for one in found.hits}

    play({"hi": [asks, says("Well.")]}, main)
    assert os.listdir(tmp_path / "temporary") == []


def test_arguments_are_checked(lore: Path, tmp_path: Path) -> None:
    for folder in (tmp_path / "none", lore / "rules.md"):
        with pytest.raises(sotto.ArgumentError, match="folder"):
            FolderSource(folder)
    wrong: list[dict[str, Any]] = [
        {"patterns": [""]}, {"max_files": -1}, {"max_bytes": 1 << 40}, {"max_file_bytes": -1},
        {"passage": 99}, {"namespace": ""},
    ]  # fmt: skip
    for fields in wrong:
        with pytest.raises(sotto.ArgumentError, match=next(iter(fields))):
            FolderSource(lore, **fields)
    for fields in ({"patterns": "*.txt"}, {"patterns": 7}, {"store": "index"}, {"max_files": 1.5}):
        with pytest.raises(TypeError, match=next(iter(fields))):
            FolderSource(lore, **fields)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        FolderSource(7)  # type: ignore[arg-type]
