"""Files that an engine writes: private, whole or not at all, and none that outlives a killed process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT

Open = Callable[..., sotto.Engine]
KILLS = int(os.environ.get("SOTTO_TEST_KILLS", "6"))  # 200 by hand: the check has other things to do

PARKS = """
import json, os, sys
import sotto

folder = sys.argv[1]
scripted = os.environ["SOTTO_TEST_SCRIPTED"]
engine = sotto.Engine(
    module_dir=scripted, mode="prioritize_compute", kv_spill_dir=folder + "/park", kv_spill_memory_mb=1
)
state = "secret " * 40_000  # of which memory holds few
engine.load_model("npc", options={"fingerprint": "{}", "state": state, "parkable": True, "streams": 1})
sessions = [engine.session(f"character {number}", "You guard the gate.", model="npc") for number in range(8)]
body = {"model": "npc", "messages": [{"role": "user", "content": "hi"}], "path": folder + "/npc.state"}
engine.save_state(json.dumps(body))
for session in sessions:
    session.say("hello")
print("parks", flush=True)
while True:
    for session in sessions:
        session.say("hello")
    engine.save_state(json.dumps(body))
"""


def kill_one(folder: Path, seconds: float) -> None:
    """Kills a process that parks characters and saves states, `seconds` after it began."""
    command = [sys.executable, "-c", PARKS, str(folder)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "parks\n"
        time.sleep(seconds)
        child.kill()


def test_a_process_that_is_killed_while_it_parks_and_saves_leaves_no_part_of_a_file(
    tmp_path: Path, open_engine: Open
) -> None:
    (tmp_path / "park").mkdir()
    chance = random.Random(18)
    for _ in range(KILLS):
        kill_one(tmp_path, chance.uniform(0, 0.4))
        assert list((tmp_path / "park").iterdir()) == []
    state = tmp_path / "npc.state"
    left = [path for path in tmp_path.iterdir() if path not in (state, tmp_path / "park")]
    assert len(left) <= max(2, KILLS // 10)  # those killed while a whole state was being renamed
    for path in [state, *left]:
        assert (path.stat().st_mode & 0o777, path.stat().st_size) == (0o600, state.stat().st_size)
    engine = open_engine()
    engine.load_model("npc", options={"fingerprint": "{}", "state": "secret " * 40_000})
    engine.restore_state(json.dumps({"model": "npc", "path": str(tmp_path / "npc.state")}))


def test_two_threads_that_save_to_one_path_never_spoil_it(tmp_path: Path, open_engine: Open) -> None:
    path = tmp_path / "npc.state"
    body = json.dumps({"model": "npc", "messages": [{"role": "user", "content": "hi"}], "path": str(path)})
    engines = [open_engine() for _ in range(2)]
    for engine in engines:
        engine.load_model("npc", options={"fingerprint": "{}", "state": "s" * 300_000})
    over = threading.Event()

    def saves(engine: sotto.Engine) -> None:
        while not over.is_set():
            engine.save_state(body)

    engines[0].save_state(body)
    threads = [threading.Thread(target=saves, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for _ in range(100):
        engines[0].restore_state(json.dumps({"model": "npc", "path": str(path)}))
    over.set()
    for thread in threads:
        thread.join()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".sotto-")] == []


def test_a_path_with_a_nul_is_refused_and_not_cut(tmp_path: Path, open_engine: Open) -> None:
    engine = open_engine()
    engine.load_model("npc", options={"fingerprint": "{}"})
    body = {"model": "npc", "messages": [{"role": "user", "content": "hi"}], "path": f"{tmp_path}/x\0y"}
    with pytest.raises(sotto.ArgumentError, match=r"invalid path '.*x\?y': expected a path without NUL"):
        engine.save_state(json.dumps(body))
    assert not (tmp_path / "x").exists()
