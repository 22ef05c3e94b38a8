"""`sotto demo --talk`: from a pipe, at a terminal, and its parts."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sotto
from conftest import ENVIRONMENT
from sotto.demo.listen import Bytes, Source
from sotto.demo.scene import Scene
from sotto.demo.talk import COMMANDS, Talk
from sotto.demo.view import View
from terminal import Terminal

WORDS = ("demo", "--talk", "--mode", "prioritize_compute")


class Heard(View):
    """Keeps what it is told to show."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.lines: list[tuple[str, str]] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def wrong(self, text: str) -> None:
        self.said.append(f"! {text}")

    def flush(self, scene: Scene) -> None:
        self.lines += [(character.called, line.answer) for character, line in scene.take_spoken()]


@pytest.fixture
def piped() -> Iterator[Callable[[str], Source]]:
    """A source of lines that come from a pipe."""
    ends = []

    def open_(text: str) -> Source:
        ours, its = os.pipe()
        ends.append(ours)
        os.write(its, text.encode())
        os.close(its)
        return Source(Bytes(ours))

    yield open_
    for end in ends:
        os.close(end)


@pytest.fixture
def talk(npc: sotto.Engine, piped: Callable[[str], Source]) -> Callable[[str], tuple[Heard, Talk]]:
    """Has some lines heard in a tavern whose people say back what they hear."""

    def run(text: str) -> tuple[Heard, Talk]:
        heard = Heard()
        scene = Scene(npc, "npc", 4, scripted=False)
        talk = Talk(scene, heard, piped(text))
        end = time.monotonic() + 20
        while talk.going:
            assert time.monotonic() < end
            talk.frame()
            scene.begin_frame()
            heard.flush(scene)
            time.sleep(0.001)
        return heard, talk

    return run


Talks = Callable[[str], tuple[Heard, Talk]]


def test_a_line_is_for_whoever_listens(talk: Talks) -> None:
    heard, _ = talk("What news?\nGarrick, and from you?\nmore")
    assert heard.lines == [("Brenna", "What news?"), ("Garrick", "And from you?"), ("Garrick", "more")]


@pytest.mark.parametrize(
    ("line", "called", "asked"),
    [
        ("Sister Amalie: where is the chapel?", "Amalie", "Where is the chapel?"),
        ("amalie,hm", "Amalie", "Hm"),
        ("@Silvane, psst", "Silvane", "Psst"),
        ("Well, what news?", "Brenna", "Well, what news?"),
        ("Gar, hello", "Brenna", "Gar, hello"),
        ("//me bows", "Brenna", "/me bows"),
    ],
)
def test_a_name_turns_to_somebody(talk: Talks, line: str, called: str, asked: str) -> None:
    assert talk(line)[0].lines == [(called, asked)]


def test_everybody_is_asked_at_once(talk: Talks) -> None:
    heard, _ = talk("everybody, speak\n")
    assert sorted(heard.lines) == [(name, "Speak") for name in ("Amalie", "Brenna", "Garrick", "Silvane")]


def test_commands(talk: Talks) -> None:
    heard, _ = talk("/to sil\n/who\n/help\n/nothing\n/to\n/to Zorro\n/who me\n/quit\nnever heard\n")
    text = "\n".join(heard.said)
    assert "(Silvane listens)" in text and "> Silvane Duskmere, pedlar, sly" in text
    assert all(f"  {name}" in text for name in COMMANDS)
    for wrong in (
        "invalid command '/nothing'",
        "missing argument of /to: expected NAME",
        "invalid character 'Zorro'",
        "invalid argument 'me' of /who: expected none",
    ):
        assert f"! {wrong}" in text
    assert heard.lines == []


def test_what_was_said_goes_with_the_next_question(talk: Talks) -> None:
    _, talked = talk("one\ntwo\n")
    brenna = talked.scene.characters[0]
    talked.scene.ask(brenna, "three")
    said = [message["content"] for message in brenna.next_request("npc")["messages"][1:]]
    assert said == ["one", "one", "two", "two", "three"]


def test_a_pipe_without_a_line_is_silent(piped: Callable[[str], Source]) -> None:
    assert piped("").silent(5.0) and piped(" \n\n").silent(5.0)
    assert not piped("x").silent(5.0)


# The command


@pytest.mark.parametrize("closed", [False, True])
def test_without_a_terminal_and_a_line_it_says_so(closed: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sotto.cli", *WORDS],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=60,
        preexec_fn=(lambda: os.close(0)) if closed else None,
    )  # fmt: skip
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "--talk has no input" in done.stderr and "| sotto demo --talk" in done.stderr


@pytest.mark.real
def test_a_pipe_is_answered_line_by_line() -> None:
    lines = "Brenna, what news?\n/who\nPip, hello\nGarrick: how much is a dagger?\n"
    done = subprocess.run(
        [sys.executable, "-m", "sotto.cli", *WORDS],
        input=lines, capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout
    places = [said.index(text) for text in (
        'Brenna Oakhollow, asked "What news?"', "> Brenna Oakhollow", 'Brenna Oakhollow, asked "Pip, hello"',
        'Garrick Stonefield, asked "How much is a dagger?"', "frames at 60 FPS",
    )]  # fmt: skip
    assert places == sorted(places)


@contextmanager
def tavern(tmp_path: Path, *words: str, **variables: str) -> Iterator[Terminal]:
    """A talk in a terminal, at its prompt."""
    with Terminal(*WORDS, *words, XDG_STATE_HOME=str(tmp_path / "state"), **variables) as terminal:
        terminal.expect("You to Brenna > ", timeout=60)
        yield terminal


@pytest.mark.real
@pytest.mark.parametrize("key", ["\x03", "\x04", "/quit\r"])
def test_it_ends_cleanly(tmp_path: Path, key: str) -> None:
    with tavern(tmp_path) as terminal:
        terminal.type(key)
        terminal.expect("frames at 60 FPS", timeout=60)
        assert terminal.leave(60) == 0
        assert "Traceback" not in terminal.raw and "\x1b[?25h" in terminal.raw  # the cursor is back


@pytest.mark.real
def test_somebody_types_while_frames_go_by(tmp_path: Path) -> None:
    with tavern(tmp_path) as terminal:
        terminal.type("garick,\x1b[D\x1b[D\x1b[D\x1b[D\x1b[Dr\x05 what happened to the forge?")
        terminal.expect(r"of \d+ missed")
        terminal.type("\r")
        terminal.expect("to Garrick: What happened to the forge\\?")
        terminal.expect(r"\d tok/s", timeout=60)
        terminal.expect("You to Garrick > ")
        terminal.type("\x1b[A\x15/who\r")
        terminal.expect("> Garrick Stonefield, smith, angry")
        terminal.type("\x04")
        assert terminal.leave(60) == 0
    history = tmp_path / "state" / "sotto" / "demo_history"
    assert "what happened to the forge?\n/who\n" in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.real
def test_a_dumb_terminal_is_read_by_lines(tmp_path: Path) -> None:
    with Terminal(*WORDS, TERM="dumb") as terminal:
        terminal.expect("/quit", timeout=60)
        terminal.type("What news?\n")
        terminal.expect('Brenna Oakhollow, asked "What news\\?": ', timeout=60)
        terminal.type("\x04")
        assert terminal.leave(60) == 0
        assert "\x1b" not in terminal.raw
