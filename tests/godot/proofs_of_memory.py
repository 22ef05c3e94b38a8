"""Proofs of stores, of characters that remember, of save games and of guardrails."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from checks.ground import PYTHON

from .proofs import Ground, command, expect_clean, sanitize
from .stage import HOME, ROOT, Run, expect, make_project

ARGUMENT, NOT_FOUND, MODEL, BLOCKED = -1, -7, -8, -13
RULES = {
    "input": [{"type": "phrases", "category": "insult", "phrases": ["swamp rat"]}],
    "output": [{"type": "phrases", "category": "price", "phrases": ["copper"]}],
}


def prove_memory(ground: Ground) -> str:
    """Scripts keep and find entries; a character answers what it was told."""
    project = make_project(ground.folder / "memory", ground.addon)
    run = play_memory(ground, project)
    return f"{len(run.report())} habits of stores and memories"


def prove_memory_sanitized(ground: Ground) -> str:
    """The same under the address and undefined-behaviour sanitizers: 0 findings."""
    project, options = sanitize(ground, "memory_sanitized")
    expect_clean(play_memory(ground, project, **options))
    return "0 findings in memories under ASan and UBSan"


def play_memory(ground: Ground, project: Path, **options: str) -> Run:
    """Plays probes/memory.gd. Raises Broken unless each entry of its report is true."""
    command([PYTHON, ROOT / "tests" / "data" / "tiny_encoder.py", project / "models"])
    options |= {"ENCODER": "res://models/encoder.gguf"}
    run = ground.play(project, "memory", "--headless", "--max-fps", "120", **options)
    wrong = [name for name, truth in run.report().items() if truth is not True]
    expect(not wrong and run.status == 0, f"not so: {', '.join(wrong)}; {run.status}\n{run.output[-3000:]}")
    expect("insert() was called outside the main thread" in run.output, run.output[-3000:])
    with closing(sqlite3.connect(project / "saves" / "quit.db")) as file:
        (count,) = file.execute("SELECT count(*) FROM entries").fetchone()
    expect(count == 51, f"the store has {count} of 51 entries that were on their way to the disk at the end")
    return run


def prove_game(ground: Ground) -> str:
    """Conversations are saved, restored in another process, and go on there."""
    project = make_project(ground.folder / "game", ground.addon)
    options = ("--headless", "--max-fps", "120")
    found = ground.play(project, "game", *options, STEP="save").report()
    wanted = {
        "saved": [1, 3],
        "a_conversation_outlives_its_node": [1, 5],
        "missing": [NOT_FOUND],
        "a_folder": [ARGUMENT],
        "it_speaks_on": True,
        "restored": [1, 3],
        "its_answer_was_cancelled": True,
        "it_goes_on_from_there": [1, 5],
        "it_forgets": [0, 0],
        "one_without_an_id_ends": [0, 0],
        "damaged": [MODEL],
    }
    expect(found == wanted, f"saved: {found}")
    run = ground.play(project, "game", *options, STEP="restore")
    found = run.report()
    wanted = {"restored": [1, 5], "it_answers": "", "it_goes_on": [1, 7], "it_forgets": [0, 0]}
    expect(found == wanted and "ERROR" not in run.output, f"restored: {found}\n{run.output[-2000:]}")
    return "a save game goes on in another process"


def prove_tavern(ground: Ground) -> str:
    """In the tavern, a guest remembers what the player said, and F5 and F9 save and load."""
    project = make_project(ground.folder / "tavern", ground.addon)
    settings = project / "project.godot"
    settings.write_text(settings.read_text().replace('"Sotto Tavern"', '"Sotto Guests"'))  # its own user://
    shutil.rmtree(HOME / ".local/share/godot/app_userdata/Sotto Guests", ignore_errors=True)
    run = ground.play(project, "guests", "--headless", "--max-fps", "60")
    found = run.report()
    said = found.pop("remembered")
    expect(any("I hid my silver under the old mill." in line for line in said), f"remembered: {said}")
    wanted = {"it_answers": "", "saved": "Saved", "loaded": "Loaded", "again": "Loaded", "cancelled": True}
    expect(found == {**wanted, "messages": 3}, f"{found}\n{run.output[-2000:]}")
    expect("ERROR" not in run.output, run.output[-2000:])
    return "guests of the tavern remember, F5 and F9 save and load"


def prove_guardrails(ground: Ground) -> str:
    """Guardrails of the project settings block lines and cut answers; invalid ones leave no engine."""
    project = make_project(ground.folder / "guardrails", ground.addon)
    with (project / "project.godot").open("a") as settings:
        settings.write('guardrails="res://rules.json"\n')
    rules = project / "rules.json"
    rules.write_text(json.dumps(RULES))
    found = ground.play(project, "game", "--headless", STEP="guard").report()
    status, text, error = found.pop("blocked")
    expect((status, text) == (BLOCKED, "") and "insult" in error, f"{status}: {text!r}, {error!r}")
    status, text = found.pop("cut")
    expect(status == 0 and "copper" not in text, f"{status}: {text!r}")
    wanted = {"input": [False, "insult"], "innocent": True, "output": False, "output_is_not_input": True}
    expect(found == wanted, f"checks: {found}")
    for config, reason in (("{", "rules.json"), ('{"input": [{"type": "oracle"}]}', "input[0].type")):
        rules.write_text(config)
        found = ground.play(project, "game", "--headless", STEP="guard").report()
        status, text, error = found["blocked"]
        expect(status == ARGUMENT and reason in error, f"{config}: {status}, {error!r}")
        expect(found["innocent"] is None, f"{config}: {found}")
    rules.unlink()
    found = ground.play(project, "game", "--headless", STEP="guard").report()
    expect(
        found["blocked"][0] == NOT_FOUND and "res://rules.json" in found["blocked"][2], f"no file: {found}"
    )
    return "guardrails block lines and answers"
