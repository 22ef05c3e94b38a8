"""Decisions that arrive piece by piece, interruptions, and the clock of the frames."""

from __future__ import annotations

import time
from typing import Any

import meter
import pytest
from characters import CANCELLED, Character, everybody
from meter import Meter

import sotto


class CastDouble:
    """Stands in for `Cast`: notes requests and cancellations, and reads fields with the real library."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str, bool]] = []
        self.cancelled: list[int] = []

    def ask(self, number: int, text: str, *, player: bool) -> int:
        self.asked.append((number, text, player))
        return 100 + len(self.asked)

    def cancel(self, request: int) -> None:
        self.cancelled.append(request)

    def field(self, decision: str, name: str) -> sotto.JsonField:
        return sotto.json_field(decision, name)


def event(kind: Any, request: int, text: str = "", status: int = 0, tokens: int = 0) -> sotto.Event:
    return sotto.Event(kind, request, 0, text, "", sotto.Status(status), tokens, 0.0, 0, "", "why")


@pytest.fixture
def brenna() -> Character:
    return everybody()[0]


def begin(brenna: Character, cast: Any, text: str, *, player: bool, now: float = 1.0) -> int:
    brenna.ask(cast, text, player=player)
    speech = brenna.start(cast, now)
    assert speech is not None
    return speech.request


def test_words_come_before_the_mood(brenna: Character) -> None:
    cast: Any = CastDouble()
    request = begin(brenna, cast, "How much is stew?", player=True)
    mood = brenna.mood
    pieces = ('{"say', '": "4 cop', "per, \\u00e9", '!", "emo', 'tion": "afr', 'aid"}')
    shown = []
    for number, piece in enumerate(pieces):
        assert brenna.hear(cast, event("text", request, piece, tokens=number + 1), 2 + number / 4) is None
        assert brenna.speech is not None and brenna.mood == mood
        shown.append(brenna.speech.line.answer)
    assert shown == ["", "4 cop", "4 copper, é", "4 copper, é!", "4 copper, é!", "4 copper, é!"]
    line = brenna.hear(cast, event("request_done", request, tokens=6), 4.0)
    assert line is not None and (line.answer, line.mood, line.error) == ("4 copper, é!", "afraid", "")
    assert brenna.mood == "afraid" and brenna.speech is None and line.tps == 4.0 and line.first_ms == 1000


def test_the_player_interrupts_and_late_events_of_the_old_answer_are_ignored(brenna: Character) -> None:
    cast: Any = CastDouble()
    first = begin(brenna, cast, "What news?", player=False)
    brenna.hear(cast, event("text", first, '{"say": "I heard'), 1.1)
    brenna.ask(cast, "How much is ale?", player=True)
    assert cast.cancelled == [first] and brenna.start(cast, 1.2) is None  # one answer at a time
    line = brenna.hear(cast, event("request_done", first, status=sotto.Status.CANCELLED), 1.3)
    assert line is not None and line.error == CANCELLED and line.answer == "I heard"
    speech = brenna.start(cast, 1.4)
    assert speech is not None and cast.asked[-1] == (0, "How much is ale?", True)
    assert brenna.hear(cast, event("text", first, "stale"), 1.5) is None and speech.decision == ""


@pytest.mark.parametrize("decision", ["", "no JSON", '{"say": 4', '{"say": "x", "emotion": "hungry"}', "[1]"])
def test_a_bad_decision_keeps_the_mood(brenna: Character, decision: str) -> None:
    cast: Any = CastDouble()
    request = begin(brenna, cast, "?", player=False)
    mood = brenna.mood
    if decision:
        brenna.hear(cast, event("text", request, decision), 1.1)
    line = brenna.hear(cast, event("request_done", request, status=sotto.Status.INFERENCE), 1.2)
    assert line is not None and line.error == "why" and brenna.mood == mood


def test_calls_are_charged_to_sotto_and_late_frames_are_missed() -> None:
    clock = Meter()
    clock.start()
    for number in range(6):
        clock.wait()
        spin(0.002)
        with clock.calls:
            spin(0.004)
        if number == 3:
            time.sleep(meter.PERIOD * 1.6)
        clock.end()
        assert clock.late or number != 3
    report = clock.report()
    assert report["frames"] == 6 and 1 <= report["missed"] <= 6
    assert clock.work_ms[3] > 26
    assert min(clock.own_ms) >= 1.9 and min(clock.sotto_ms) >= 3.9  # processor time, which sleep does not use
    assert report["own_cpu_ms"] < report["sotto_cpu_ms"]


def spin(seconds: float) -> None:
    """Uses processor time."""
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass
