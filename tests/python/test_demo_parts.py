"""The demo's parts: the tavern's sheets, the rules for lines, the strip, the editor, the frames' figures."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
from rich.console import Console

import sotto
from sotto import perfetto
from sotto.demo import frames, load, memory, rules, strip
from sotto.demo.editor import Editor
from sotto.demo.live import Live, doing
from sotto.demo.personas import find, personas, tavern
from sotto.demo.record import Record
from sotto.demo.scene import Scene

NAMES = ["Brenna Oakhollow", "Sister Amalie", "Pip", "Captain Varga"]
ONE_EACH = ("Name", "Role", "Manner", "Place", "Time", "Mood", "Visitor")
LISTS = ("Relationships", "Prices", "Quests", "Rumours", "Facts", "Memories")


def test_at_least_eight_sit_there_and_every_sheet_is_full() -> None:
    assert len({one.name for one in personas()}) == len({one.called for one in personas()}) >= 8
    assert (
        len({one.about("Role") for one in personas()})
        == len({one.about("Manner") for one in personas()})
        >= 8
    )
    for persona in personas():
        lines = persona.system.splitlines()
        assert [line.split(":")[0] for line in lines if not line.startswith("- ")] == [*ONE_EACH, *LISTS]
        assert persona.about("Name") == persona.name and persona.called in persona.name
        assert persona.about("Place") == tavern().place


def test_whatever_is_asked_for_stands_in_the_sheet() -> None:
    for persona in personas():
        for question in persona.script:
            assert question.facts and not rules.missing(persona.system, question.facts), question


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        ("brenna", 0),
        ("Bren", 0),
        ("amalie", 1),
        ("SISTER AMALIE", 1),
        ("pip", 2),
        ("v", 3),
        ("x", None),
        (" ", None),
    ],
)
def test_people_are_found_by_their_names(wanted: str, number: int | None) -> None:
    assert find(wanted, NAMES) == number


def test_a_whole_name_comes_before_the_beginning_of_another() -> None:
    assert find("Ann", ["Annabel", "Ann"]) == 1


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("That is 9 copper, love.", []),
        ("Nine coppers.", ["9 copper"]),
        ("That is 19 copper.", ["9 copper"]),
        ("9 Copper!", []),
        ("9\ncopper", []),
    ],
)
def test_a_fact_counts_whole(answer: str, missing: list[str]) -> None:
    assert rules.missing(answer, ["9 copper"]) == missing


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("*nods* Nine copper.", "a stage direction"),
        ("(nods) Nine copper.", "a stage direction"),
        ('{"say": "Nine copper."}', "JSON"),
        ("Nine copper.<|end|>", "markup"),
        ('"Nine copper."', "a quotation mark"),
        ("Nine.\nCopper.", "several lines"),
        ("assistant: Nine copper.", "a role"),
        ("As an AI I own no beds.", "a machine"),
        (" ", "silence"),
    ],
)
def test_what_is_no_speech_is_out_of_character(answer: str, fault: str) -> None:
    assert fault in rules.faults(answer, "stop", 10)


def test_speech_that_ends_is_in_character() -> None:
    said = "Well, the forge was flooded - don't ask. That'll be 9 copper, friend: no less."
    assert rules.faults(said, "stop", 20) == []
    assert rules.faults(said, "length", 20) == ["no end"]
    assert rules.faults(said, "stop", rules.MAX_TOKENS + 1) == ["no end"]


def test_a_missed_frame_and_no_other_fills_the_strip() -> None:
    stats = frames.FrameStats()
    for ms in (1.0, 8.0, 16.6, 16.7):
        for _ in range(strip.FRAMES_EACH):
            stats.take(5.0, 5.0 + ms / 1000)
    upper, lower = (row.plain for row in strip.rows(stats, 6))
    assert len(upper) == len(lower) == 6
    assert [pair == "██" for pair in map("".join, zip(upper, lower, strict=True))] == [False] * 5 + [True]
    assert lower[:2] == "  " and upper[2] == " " and lower[2] != " "
    assert stats.missed == strip.FRAMES_EACH


def test_the_strip_shows_the_newest_frames() -> None:
    stats = frames.FrameStats()
    for ms in [20.0] * 40 + [1.0] * 40:
        stats.take(0.0, ms / 1000)
    assert "█" not in strip.rows(stats, 10)[0].plain
    assert strip.rows(stats, 20)[0].plain.count("█") == 10
    assert strip.rows(stats, 20, plain=True)[1].plain.isascii()


STAT = """cpu  300 0 0 300 0 0 0 0 0 0
cpu0 100 5 20 300 40 3 2 30 7 0
cpu1 200 0 0 0 0 0 0 0 0 0
intr 12345 0
"""


def test_ticks_are_those_of_the_allowed_cores() -> None:
    assert load.ticks(STAT, {0}) == (160, 500)  # idle and iowait are not busy, stolen time is
    assert load.ticks(STAT, None) == (360, 700)
    assert load.ticks(STAT, {7}) is None and load.ticks("", None) is None
    assert load.ticks("cpu0 0 0 0 0 0 0 0 0 0 0\n", None) is None


def test_the_load_of_others_leaves_out_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat, own = tmp_path / "stat", [10.0]
    monkeypatch.setattr(load, "_allowed_cores", lambda: None)
    monkeypatch.setattr(load.time, "process_time", lambda: own[0])
    monkeypatch.setattr(load.os, "sysconf", lambda name: 100)
    stat.write_text("cpu0 1000 0 0 1000 0 0 0 0 0 0\n")
    others = load.OtherLoad(str(stat))
    assert others.percent() is None  # the counters stand still
    stat.write_text("cpu0 1600 0 0 1400 0 0 0 0 0 0\n")
    own[0] += 2
    assert others.percent() == 40.0
    own[0] += 9
    assert others.percent() == 0.0  # ticks are coarse
    stat.unlink()
    assert others.percent() is None
    assert load.OtherLoad(str(stat)).percent() is None


@pytest.mark.parametrize(
    ("typed", "lines", "left"),
    [
        ("hello\r", ["hello"], ""),
        ("a\nb\nc", ["a", "b"], "c"),
        ("abc\x1b[D\x1b[DX\r", ["aXbc"], ""),
        ("abc\x7f\x7fd\n", ["ad"], ""),
        ("abc\x01\x1b[3~\x05!\n", ["bc!"], ""),
        ("one two\x17three\n", ["one three"], ""),
        ("gone\x15stays\n", ["stays"], ""),
        ("keep this\x1b[H\x1b[C\x1b[C\x1b[C\x1b[C\x0b\n", ["keep"], ""),
        ("Grüß Gott \N{CAT}\n", ["Grüß Gott \N{CAT}"], ""),
        ("\x1b[15~\x1b[200~x\x1b[201~\n", ["x"], ""),
        ("bre\t\n", ["Brenna,"], ""),
        ("x\tbre\n", ["xbre"], ""),
    ],
)  # fmt: skip
def test_keys_edit_a_line(typed: str, lines: list[str], left: str) -> None:
    editor = Editor(["Brenna, ", "/who "])
    assert editor.feed(typed) == lines and editor.text == left
    bytewise = Editor(["Brenna, ", "/who "])
    assert [line for key in typed for line in bytewise.feed(key)] == lines and bytewise.text == left


def test_the_history_is_gone_through_and_what_was_typed_is_kept() -> None:
    editor = Editor([], ["first"])
    editor.feed("second\nsecond\ndraft")
    assert editor.history == ["first", "second"]
    editor.feed("\x1b[A")
    assert editor.text == "second"
    editor.feed("\x1bOA\x1b[A\x1b[A")
    assert editor.text == "first" and editor.cursor == 5
    editor.feed("\x1b[B\x1b[B\x1b[B")
    assert editor.text == "draft"


def test_a_pasted_text_is_one_line() -> None:
    editor = Editor([])
    assert editor.feed("\x1b[200~two\nlines\x07\x1b[201~\r") == ["two lines"]


def test_no_key_raises_or_leaves_an_unprintable_line() -> None:
    keys = [chr(code) for code in range(32)]
    keys += ["\x7f", "a", "\x1b[A", "\x1b[B", "\x1b[1;5C", "\x1b[1;1R", "\x1b[<0;1;1M", "\x1bx", "\x18\x05"]
    dice = random.Random(1)
    for _ in range(50):
        editor = Editor(["Brenna, ", "/who "], ["one", "two"])
        for key in dice.choices(keys, k=40):
            assert all(line.isprintable() for line in editor.feed(key))


def test_ctrl_d_leaves_an_empty_line_only() -> None:
    editor = Editor([])
    editor.feed("ab\x01\x04")
    assert editor.text == "b" and not editor.left
    editor.feed("\x7f\x05\x7f\x04")
    assert editor.left


@pytest.mark.parametrize(
    ("width", "height", "characters"), [(80, 24, 4), (40, 10, 12), (30, 6, 64), (200, 60, 4)]
)
def test_the_picture_fits_the_terminal(width: int, height: int, characters: int, npc: sotto.Engine) -> None:
    scene = Scene(npc, "npc", characters)
    for one in scene.characters:
        one.speaking = "A bed for the night is nine copper, and a stew is four, my dear. " * 4
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, no_color=True, highlight=False)
    stats = frames.FrameStats()
    stats.take(0.0, 0.03)
    console.print(Live(console).picture(scene, stats))
    shown = out.getvalue().splitlines()
    assert len(shown) <= height and all(len(line) <= width for line in shown)
    assert ("more" in out.getvalue()) == (characters > 4)
    assert ("of the time" in out.getvalue()) == ("no budget" in out.getvalue()) == (height >= 12)


def test_a_line_says_what_the_engine_does(npc: sotto.Engine) -> None:
    stats = npc.stats()._replace(threads=2, share=0.344, busy=0.2, waiting=0)
    assert doing(stats) == "2 threads  may use 34 % of the time  uses 20 %"
    assert doing(stats._replace(threads=1, waiting=1)).startswith("1 thread  ")
    assert doing(stats._replace(waiting=1)).endswith("  1 waits")
    assert doing(stats._replace(waiting=3)).endswith("  3 wait")


MB = 1 << 20


def in_use(engine: sotto.Engine, *mb: int, budget: int = 0) -> sotto.Stats:
    """The figures of an engine with so many megabytes of weights, kv, compute, what is parked, and others."""
    weights, kv, compute, parked, other = (count * MB for count in mb)
    return engine.stats()._replace(
        bytes_weights=weights, bytes_kv=kv, bytes_compute=compute, bytes_parked=parked,
        bytes_in_use=weights + kv + compute + parked + other, bytes_peak=100 * MB, vram_budget=budget * MB,
    )  # fmt: skip


def test_the_bar_of_memory_is_the_budget(npc: sotto.Engine) -> None:
    stats = in_use(npc, 20, 25, 5, 10, 0, budget=80)
    assert memory.bar(stats, 40, plain=True).plain == "weights###kv==========+++~~~~~.........."
    assert memory.bar(stats, 16, plain=True).plain == "####kv===+~~...."
    assert memory.bar(stats, 40).plain == "weights███kv▓▓▓▓▓▓▓▓▓▓▒▒▒░░░░░··········"
    assert memory.said(stats) == "  60.0 of 80 MB"
    assert memory.said(stats._replace(models_evicted=2)) == "  60.0 of 80 MB  2 asleep"


def test_without_a_budget_the_bar_is_what_is_used(npc: sotto.Engine) -> None:
    stats = in_use(npc, 40, 20, 10, 0, 10)
    shown = memory.bar(stats, 20, plain=True).plain
    assert shown == "weights#kv==++%%...." and memory.said(stats) == "  80.0 MB, no budget"
    nothing = memory.bar(in_use(npc, 0, 0, 0, 0, 0)._replace(bytes_peak=0), 10, plain=True)
    assert nothing.plain == "." * 10


def test_more_than_the_budget_is_red_and_fills_the_bar(npc: sotto.Engine) -> None:
    stats = in_use(npc, 60, 20, 0, 0, 0, budget=40)
    row = memory.row(stats, 60, 25, plain=True)
    assert "." not in row.plain[:35] and row.plain.endswith("  80.0 of 40 MB")
    assert any("red" in str(span.style) for span in row.spans)
    fits = memory.row(stats._replace(vram_budget=80 * MB), 60, 25, plain=True)
    assert not any("red" in str(span.style) for span in fits.spans)


def test_text_cannot_steer_the_terminal(npc: sotto.Engine) -> None:
    scene = Scene(npc, "npc", 1)
    scene.characters[0].speaking = "\x1b[2Jgone"
    out = io.StringIO()
    console = Console(file=out, width=80, height=24, no_color=True, highlight=False)
    console.print(Live(console).picture(scene, frames.FrameStats()))
    assert "\x1b" not in out.getvalue() and "gone" in out.getvalue()


@pytest.mark.parametrize("count", [0, 1, 30])
def test_a_run_of_any_length_is_drawn(count: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from sotto.demo.drawing import draw

    record = Record()
    alone, together = frames.FrameStats(), frames.FrameStats()
    alone.take(5.0, 5.008)
    for n in range(count):
        due = 6.0 + n / 60
        together.take(due, due + (0.5 if n == 7 else 0.009))
        begin = int(due * 1e9)
        kind = (*perfetto.TRACKS, "kind 9")[n % 6]
        figures = {"predicted_ms": 290.0 * (n % 2), "limit_ms": 300.0, "share": 1 / (1 + n)}
        slice_ = sotto.Slice(kind, begin, begin + 300_000_000, n % 4, 0, 1, 1, "balance", **figures)
        record.slices.append(slice_)
    record.keep(alone, together)
    report = {
        "characters": [{}] * 4, "frames": count, "missed": together.missed, "tps_total": 40.0,
        "missed_pct": together.missed_pct, "frame_ms": together.percentiles(),
        "baseline": {"missed_pct": 0.0, "frame_ms": alone.percentiles()},
    }  # fmt: skip
    for name in ("run.png", "run.svg", "run.pdf"):
        draw(str(tmp_path / name), record, report)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "run.svg").read_text()
    assert f"{together.missed} of {count} frames missed" in drawn and "4 characters speak" in drawn
    assert ("as predicted" in drawn) == ("waits for the game" in drawn) == (count > 1)
