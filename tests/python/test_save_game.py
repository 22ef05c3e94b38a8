"""Save games: all conversations of an engine in one file, restored in another process."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xxhash

import sotto
from conftest import ENVIRONMENT
from results import check

Open = Callable[..., sotto.Engine]
FULL = int(os.environ.get("SOTTO_FULL", "0"))
KILLS = int(os.environ.get("SOTTO_TEST_KILLS", "20"))  # 200 with --full
CHARACTERS = 100
HEADER, CHUNK = 16, 24  # bytes, see native/core/game/game_format.hpp

SAVES = """
import os, sys
import sotto

path, count = sys.argv[1], int(sys.argv[2])
engine = sotto.Engine(module_dir=os.environ["SOTTO_TEST_SCRIPTED"], mode="prioritize_compute")
engine.load_model("npc", options={})
sessions = [engine.session(f"{at}", "You guard. " * 400, model="npc") for at in range(count)]
engine.save_game(path)
print("saves", flush=True)
while True:
    for session in sessions[:5]:
        session.say("hello")
    engine.save_game(path)
"""

GOES_ON = """
import json, sys
import sotto

path, turns = sys.argv[1], json.loads(sys.argv[2])
with sotto.Engine(deterministic=True, threads=1, mode="prioritize_compute") as engine:
    engine.load_model("sotto/house")
    engine.restore_game(path)
    said = {}
    for name in sorted(engine.sessions()):
        session = sotto.Session(engine, name)
        answer = session.say(turns[int(name) % len(turns)], {"max_tokens": 8, "temperature": 0})
        said[name] = [len(session.messages) - 2, answer]
    print(json.dumps(said))
"""


def messages(engine: sotto.Engine) -> dict[str, Any]:
    """The messages of each open session."""
    return {name: sotto.Session(engine, name).messages for name in engine.sessions()}


@pytest.fixture
def npc(open_engine: Open) -> sotto.Engine:
    engine = open_engine()
    engine.load_model("npc", options={})
    return engine


def saved(npc: sotto.Engine, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Saves some conversations. Returns the sessions' messages, and a stored response."""
    mara = npc.session("mara", "You are Mara.", model="npc", lora=[{"name": "a", "scale": 0.5}])
    mara.set_lora([])
    mara.say("one two")
    mara.fork("gossip").say("three")
    npc.session("夜の門", [{"role": "user", "content": "naïve \N{CROSSED SWORDS} \x01"}], model="npc")
    npc.session("empty")
    first = json.loads(npc.llm_respond({"model": "npc", "input": "hi", "instructions": "Be short."}))
    second = json.loads(
        npc.llm_respond({"model": "npc", "input": "and", "previous_response_id": first["id"]})
    )
    npc.save_game(path)
    return messages(npc), second


def test_conversations_return_in_another_engine(npc: sotto.Engine, open_engine: Open, tmp_path: Path) -> None:
    path = tmp_path / "slot1.sotto"
    told: list[float] = []
    before, response = saved(npc, path)
    again = npc.save_game(path, progress=told.append)
    assert (again.sessions, again.responses, again.path) == (4, 2, str(path))
    assert again.messages == 3 + 2 + 1 + 4 and again.bytes == path.stat().st_size
    assert all(0 < one <= 1 for one in told) and told == sorted(told)
    assert path.stat().st_mode & 0o777 == 0o600
    other = open_engine()
    other.load_model("npc", options={})
    assert other.restore_game(path) == again
    assert messages(other) == before
    assert sotto.Session(other, "mara").say("go on") == npc.session("x", model="npc").say("go on")
    goes_on = json.loads(
        other.llm_respond({"model": "npc", "input": "more", "previous_response_id": response["id"]})
    )
    assert goes_on["previous_response_id"] == response["id"]


def test_restored_sessions_replace_open_ones(npc: sotto.Engine, tmp_path: Path) -> None:
    path = tmp_path / "slot"
    before, _ = saved(npc, path)
    mara = sotto.Session(npc, "mara")
    mara.say("later")
    npc.session("stays", "You stay.", model="npc")
    npc.restore_game(path)
    after = messages(npc)
    assert after.pop("stays") == [{"role": "system", "content": "You stay."}] and after == before
    assert mara.messages == before["mara"]


def test_the_request_has_events_and_a_result(npc: sotto.Engine, tmp_path: Path) -> None:
    for op in ("save_game", "restore_game"):
        request = npc.submit(op, {"path": str(tmp_path / "slot")}, 7)  # type: ignore[arg-type]
        events: list[sotto.Event] = []
        while not events or events[-1].kind != "request_done":
            assert npc.wait(20)
            events += npc.events()
        assert {event.request for event in events} == {request} and events[0].kind == "accepted"
        assert {event.kind for event in events[1:-1]} <= {"progress"} and events[-1].user == 7
        check(op, events[-1].json)


def test_a_save_comes_after_the_session_requests_before_it(npc: sotto.Engine, tmp_path: Path) -> None:
    long = [{"role": "user", "content": "x" * 5_000_000}]  # read on another thread
    npc.submit("open_session", {"session": "long", "messages": long, "model": "npc"})
    assert npc.save_game(tmp_path / "slot").sessions == 1


@pytest.mark.real
def test_a_hundred_characters_go_on_with_the_same_text(tmp_path: Path) -> None:
    turns = ["Who are you?", "Why?", "What news?"]
    path, short = tmp_path / "slot", {"max_tokens": 4, "temperature": 0}
    last = {**short, "max_tokens": 8}
    with sotto.Engine(deterministic=True, threads=1, mode="prioritize_compute") as engine:
        engine.load_model("sotto/house", options={"parallel": 4})
        for at in range(CHARACTERS):
            sheet = f"Name: Guard {at}\nRole: guard\nManner: gruff\nFacts:\n- The gate {at} is shut."
            engine.session(f"{at}", sheet, model="sotto/house").say(turns[at % 3], short)
        assert engine.save_game(path).sessions == CHARACTERS
        said = {}
        for name in sorted(engine.sessions()):
            session = sotto.Session(engine, name)
            said[name] = [len(session.messages), session.say(turns[int(name) % 3], last)]
    other = subprocess.run(
        [sys.executable, "-c", GOES_ON, str(path), json.dumps(turns)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(other.stdout) == said


@pytest.mark.real
def test_parked_kv_caches_are_kept_where_they_fit(tmp_path: Path) -> None:
    path, short = tmp_path / "slot", {"max_tokens": 4, "temperature": 0}
    sheet = "Name: Mara\nRole: innkeeper\nFacts:\n" + "\n".join(f"- Bed {at} is taken." for at in range(12))

    def engine() -> sotto.Engine:
        made = sotto.Engine(mode="prioritize_compute", threads=1)
        made.load_model("sotto/house", options={"parallel": 1})
        return made

    def cached(made: sotto.Engine) -> tuple[int, str]:
        body = {"session": "1", "messages": [{"role": "user", "content": "Why?"}], **short}
        answer = json.loads(made.llm_chat_completion(body))
        return answer["timings"]["cache_n"], answer["choices"][0]["message"]["content"]

    with engine() as first:
        for at in range(3):
            first.session(f"{at}", f"{sheet}\n- You are number {at}.", model="sotto/house").say("Hi.", short)
        whole = first.save_game(path)
        assert whole.kv_states >= 1
        _, said = cached(first)
    with engine() as second:
        assert second.restore_game(path).kv_states == whole.kv_states
        reused, again = cached(second)
        assert reused > 50 and again == said
    with sotto.Engine(mode="prioritize_compute", threads=1) as bare:  # without the model: text alone
        assert bare.restore_game(path).kv_states == 0 and len(bare.sessions()) == 3
    with sotto.Engine(mode="prioritize_compute", threads=1) as foreign:  # another form of the KV cache
        foreign.load_model("sotto/house", options={"parallel": 1, "kv_type": "q8_0"})
        assert foreign.restore_game(path).kv_states == 0
        reused, _ = cached(foreign)
        assert reused == 0 and len(sotto.Session(foreign, "1").messages) == 5


def chunks(data: bytes) -> list[tuple[int, int]]:
    """Where each part of a save game begins and ends."""
    found, at = [], HEADER
    while at < len(data):
        end = at + CHUNK + int.from_bytes(data[at + 8 : at + 16], "little")
        found.append((at, end))
        at = end
    return found


def refusal(engine: sotto.Engine, path: Path, data: bytes) -> str:
    """Why a file with these bytes is refused. Nothing of it is restored."""
    path.write_bytes(data)
    with pytest.raises(sotto.SottoError) as refused:
        engine.restore_game(path)
    assert engine.sessions() == {}
    return str(refused.value)


def test_damaged_files_are_refused_and_change_nothing(
    npc: sotto.Engine, open_engine: Open, tmp_path: Path
) -> None:
    path = tmp_path / "slot"
    saved(npc, path)
    data, other = path.read_bytes(), open_engine()
    some = random.Random(25)
    cuts = range(0, len(data), 1 if FULL else 23)
    for size in cuts:
        assert "save game" in refusal(other, path, data[:size])
    for _ in range(20_000 if FULL else 1000):
        at = some.randrange(len(data))
        flipped = bytes([data[at] ^ 1 << some.randrange(8)])
        assert "save game" in refusal(other, path, data[:at] + flipped + data[at + 1 :])
    parts = chunks(data)
    for begin, end in parts:
        assert "save game" in refusal(other, path, data[:begin] + data[end:])  # left out
        assert "save game" in refusal(other, path, data[:end] + data[begin:end] + data[end:])  # twice
    assert "follows its end" in refusal(other, path, data + b"\0")
    assert "no header of a save game" in refusal(other, path, b"GGUF" + data[4:])
    newer = data[:8] + (2).to_bytes(4, "little") + data[12:]
    assert "has version '2': expected version 1; update the library" in refusal(other, path, newer)
    required = data[: parts[-1][0]] + b"WHAT" + data[parts[-1][0] + 4 :]
    assert "does not know; update the library" in refusal(other, path, required)


def test_a_part_of_another_kind_is_skipped(npc: sotto.Engine, open_engine: Open, tmp_path: Path) -> None:
    path = tmp_path / "slot"
    before, _ = saved(npc, path)
    data = path.read_bytes()
    head = b"WHAT" + (0).to_bytes(4, "little") + (9).to_bytes(8, "little")
    store = head + xxhash.xxh3_64_intdigest(head + b"an export").to_bytes(8, "little") + b"an export"
    parts = chunks(data)
    last = parts[-1][0]
    sums = b"".join(data[begin + 16 : begin + 24] for begin, _ in parts[:-1]) + store[16:24]
    end = len(parts).to_bytes(8, "little") + xxhash.xxh3_64_intdigest(sums).to_bytes(8, "little")
    done = data[last : last + 16]
    done += xxhash.xxh3_64_intdigest(done + end).to_bytes(8, "little") + end
    path.write_bytes(data[:last] + store + done)
    other = open_engine()
    assert other.restore_game(path).sessions == 4 and messages(other) == before


def lore_of(store: sotto.Store) -> list[tuple[str, str, list[float] | None]]:
    return [(one.id, one.value, one.embedding) for one in store.list(with_embedding=True)]


def test_stores_and_files_are_saved_with_the_conversations(
    npc: sotto.Engine, open_engine: Open, tmp_path: Path
) -> None:
    path, quests = tmp_path / "slot", tmp_path / "quests.json"
    quests.write_bytes(b"[1, 2]" * 700_000)  # several pieces
    with sotto.Store.open("lore", dim=2, folder=tmp_path) as lore:
        lore.insert_many([{"value": f"fact {at}", "embedding": [1, at]} for at in range(50)])
        told = lore_of(lore)
        done = npc.save_game(path, stores=[lore], files={"quests": quests})
        assert done.files == 2 and done.bytes == path.stat().st_size > 700_000 * 6
        lore.insert("forgotten after loading", embedding=[0, 1])
        lore.delete(told[3][0])
        restored = open_engine().restore_game(path, stores=[lore], files={"quests": tmp_path / "new"})
        assert restored.files == 2 and lore_of(lore) == told
        assert lore.query(embedding=[1, 49], limit=1)[0].entry.value == "fact 49"
        assert lore.query("fact 7", limit=1)[0].entry.value == "fact 7"
    assert (tmp_path / "new").read_bytes() == quests.read_bytes()
    with sotto.Store.open("lore", folder=tmp_path) as lore:  # from the disk
        assert lore_of(lore) == told
    assert open_engine().restore_game(path).files == 2  # neither is wanted


def test_what_a_save_game_lacks_and_bad_files(npc: sotto.Engine, tmp_path: Path) -> None:
    path, file = tmp_path / "slot", tmp_path / "file"
    npc.save_game(path)
    before = path.read_bytes()
    with sotto.Store.open("lore", dim=2, folder=tmp_path) as lore:
        lore.insert("kept", embedding=[1, 0])
        with pytest.raises(sotto.SottoError, match="the save game has no file 'store/lore'"):
            npc.restore_game(path, stores=[lore])
        assert lore.count() == 1
        with pytest.raises(ValueError, match="stores whose ids differ"):
            npc.save_game(path, stores=[lore, lore])
    for name, given, said in (
        ("a", tmp_path / "none", r"files\.a.*none"),
        ("a", tmp_path, r"files\.a.*folder"),
        ("", file, "names of 1 to 128 bytes"),
        ("n" * 129, file, "names of 1 to 128 bytes"),
        ("a", "", r"files\.a"),
    ):
        with pytest.raises((ValueError, sotto.SottoError), match=said):
            npc.save_game(path, files={name: given})
    with sotto.Store.open("lore", dim=2, folder=tmp_path) as lore:
        for place, given in ((tmp_path / "lore.db", {}), (path, {"a": tmp_path / "lore.db"})):
            with pytest.raises(ValueError, match="this one is a store that is open"):
                npc.save_game(place, files=given)
            with pytest.raises((ValueError, sotto.SottoError), match=r"a store that is open|has no file"):
                npc.restore_game(place, files=given)
        lore.insert("still here")
        assert lore.count() == 2
    assert path.read_bytes() == before
    file.write_text("of the game")
    npc.save_game(path, files={"a": file})
    for same in ({"a": path}, {"a": tmp_path / "b", "b": tmp_path / "x" / ".." / "b"}):
        with pytest.raises(ValueError, match="a path of its own"):
            npc.restore_game(path, files=same)
    with pytest.raises(ValueError, match=r"files\.a.*folder"):
        npc.restore_game(path, files={"a": tmp_path})
    data = path.read_bytes()
    at = data.index(b"of the game")
    path.write_bytes(data[:at] + b"O" + data[at + 1 :])
    with pytest.raises(sotto.SottoError, match="a checksum does not match"):
        npc.restore_game(path, files={"a": tmp_path / "out"})
    assert not (tmp_path / "out").exists()


def test_bad_paths(npc: sotto.Engine, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "slot")
    for path, said in (
        (tmp_path / "folder", "expected a regular file, but it is a folder"),
        (tmp_path / "link", "expected a regular file, but it is a link"),
        ("/dev/null", "expected a regular file, but it is a device"),
        (tmp_path / "a\0b", "without NUL"),
        ("", "expected"),
    ):
        with pytest.raises(ValueError, match=said):
            npc.save_game(path)
    with pytest.raises(sotto.SottoError, match="the system says: No such file"):
        npc.save_game(tmp_path / "nowhere" / "slot")
    with pytest.raises(sotto.SottoError, match="expected a file that can be read"):
        npc.restore_game(tmp_path / "nothing")
    with pytest.raises(ValueError, match="it is a folder"):
        npc.restore_game(tmp_path / "folder")
    with pytest.raises(TypeError):
        npc.save_game(3)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit limits the size of a file")
def test_a_full_disk_leaves_the_old_file(npc: sotto.Engine, open_engine: Open, tmp_path: Path) -> None:
    path = tmp_path / "slot"
    before, _ = saved(npc, path)
    script = """
import resource, signal, sys, os
import sotto

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
engine = sotto.Engine(module_dir=os.environ["SOTTO_TEST_SCRIPTED"])
engine.session("large", [{"role": "user", "content": "x" * 3_000_000}])
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    engine.save_game(sys.argv[1])
except sotto.SottoError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert "expected a file that can be written" in done.stdout and "make room" in done.stdout
    assert [one.name for one in tmp_path.iterdir()] == ["slot"]
    other = open_engine()
    other.restore_game(path)
    assert messages(other) == before


def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_file(
    open_engine: Open, tmp_path: Path
) -> None:
    path, other, chance = tmp_path / "slot", open_engine(), random.Random(7)
    for _ in range(KILLS):
        command = [sys.executable, "-c", SAVES, str(path), "200"]
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None and child.stdout.readline() == "saves\n"
            time.sleep(chance.uniform(0, 0.15))
            child.kill()
        assert other.restore_game(path).sessions == 200
    left = [one for one in tmp_path.iterdir() if one != path]
    assert len(left) <= max(2, KILLS // 10)  # those killed while a whole file was being renamed
