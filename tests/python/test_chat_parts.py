"""What `sotto chat` is made of: what it shows, what may be set, and what goes into files."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from sotto.commands.chat.answer import Answer
from sotto.commands.chat.conversation import Conversation
from sotto.commands.chat.settings import NAMES, Settings, check, parse
from sotto.commands.chat.talk import find_persona
from sotto.commands.chat.view import View
from sotto.commands.chat.wrap import Wrap

FITTING = {"stop": "END", "response_format": {"type": "json_object"}, "reasoning_effort": "low"}


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def _chunk(number: int, **delta: str) -> sotto.Event:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return sotto.Event("text", 1, 0, "", json.dumps(chunk), sotto.Status.OK, number, 0.0, 0, "", "")


def test_reasoning_is_dimmed_and_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    answer, screen = Answer(), _Screen()
    view = View(screen)
    for event in (_chunk(1, reasoning_content="hm"), _chunk(2, content="\n"), _chunk(3, content="yes")):
        for kind, words in answer.take(event, 1.0):
            view.hear(kind, words)
    view.ends(answer)
    assert (answer.reasoning, answer.text, answer.tokens) == ("hm", "\nyes", 3)
    assert screen.getvalue() == "\x1b[2mhm\x1b[0m\n\nyes\n"


def test_blank_lines_are_kept_but_for_the_first() -> None:
    screen = io.StringIO()
    view = View(screen)
    for words in ("\n", "\nfirst", "\n", "\n", "second", "\n"):
        view.hear("text", words)
    view.ends(Answer())
    assert screen.getvalue() == "first\n\nsecond\n"


def test_messages_that_no_longer_fit_are_told() -> None:
    answer, screen = Answer(), io.StringIO()
    chunk = {"choices": [], "timings": {"cache_n": 1, "prompt_n": 2, "dropped_messages": 4}}
    list(
        answer.take(
            sotto.Event("choice_done", 1, 0, "", json.dumps(chunk), sotto.Status.OK, 1, 0.0, 0, "stop", ""),
            1.0,
        )
    )
    View(screen).ends(answer)
    assert (answer.prompt_tokens, answer.cached_tokens) == (3, 1) and "the 4 oldest" in screen.getvalue()


def displayed(written: str, width: int) -> list[str]:
    """The lines of a terminal that was written this."""
    lines = [""]
    for move, letter in re.findall(r"\x1b\[(\d*[DK])|(.|\n)", written):
        if move.endswith("D"):
            lines[-1] = lines[-1][: -int(move[:-1])]
        elif letter == "\n":
            lines.append("")
        else:
            lines[-1] += letter
        assert len(lines[-1]) < width
    return lines


@given(st.lists(st.text("ab \n", max_size=12)), st.integers(12, 30))
def test_lines_break_between_words(pieces: list[str], width: int) -> None:
    wrap, text = Wrap(width), "".join(pieces)
    lines = displayed("".join(map(wrap.feed, pieces)), width)
    if all(len(word) < width - 1 for word in text.split()):
        assert " ".join(lines).split() == text.split()
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_lines_are_broken_where_people_would() -> None:
    said = "The red lantern belongs to Silvane Duskmere, antidisestablishmentarianism"
    assert displayed(Wrap(20).feed(said), 20) == [
        "The red lantern ", "belongs to Silvane ", "Duskmere, ", "antidisestablishmen", "tarianism",
    ]  # fmt: skip
    wide = Wrap(12)
    assert wide.feed("日本語のテキスト") == "日本語のテ\nキスト" and wide.column == 6


def test_reading_a_long_prompt_is_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = _Screen()
    view = View(screen)
    view.reading(0.5)
    view.hear("text", "yes")
    assert screen.getvalue().endswith("\r\x1b[Kyes") and "50%" in screen.getvalue()
    plain = io.StringIO()
    View(plain).reading(0.5)
    assert plain.getvalue() == ""


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_judged_by_the_engine(engine: sotto.Engine, name: str) -> None:
    settings = Settings(engine)
    with pytest.raises(sotto.ArgumentError, match=name):
        settings.set(name, {"a": "mess"})
    assert settings.values == {}
    settings.set(name, FITTING.get(name, 1))
    assert list(settings.values) == [name]
    settings.unset(name)
    assert settings.values == {}


def test_values_are_read_as_people_type_them(engine: sotto.Engine) -> None:
    assert [parse(text) for text in ("0.5", "7", '["a"]', "END")] == [0.5, 7, ["a"], "END"]
    check(engine, {})


def test_a_conversation_survives_a_file(tmp_path: Path) -> None:
    said = Conversation("Name: Brenna")
    said.say("hello")
    said.answered("good day")
    path = str(tmp_path / "talk.json")
    assert said.save(path) == 3
    again = Conversation()
    assert again.load(path) == 3 and again == said
    again.say("x")
    again.answered("")  # nothing came: the question goes with it
    assert again == said


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"role": "user"}]', '{"messages": 3}', "\udcff"])
def test_a_bad_file_changes_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    conversation = Conversation("a", [{"role": "user", "content": "b"}])
    with pytest.raises(sotto.ArgumentError, match=str(path)):
        conversation.load(str(path))
    assert conversation == Conversation("a", [{"role": "user", "content": "b"}])


def test_characters_are_found_by_any_of_their_names() -> None:
    assert find_persona("BRENNA").name == find_persona("oakh").name == "Brenna Oakhollow"
    for name in ("", "zorro"):
        with pytest.raises(sotto.ArgumentError, match="Pip"):
            find_persona(name)
