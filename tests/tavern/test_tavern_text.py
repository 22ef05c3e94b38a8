"""Fonts, right-to-left text and line breaks; the typed line; scripts."""

from __future__ import annotations

import random
import re

import controls
import pygame
import pytest
from script import Script
from typeset import SANS, SERIF, Typeset, clean
from window import ROOT

INK = (0, 0, 0)
HEBREW, ARABIC = "שלום עולם", "مرحبا بالعالم"
SAMPLES = (
    "The forge was flooded two days ago.",
    "W" * 400,
    f"ale {HEBREW} and {ARABIC}, 4 copper",
    "🦊🍺👩‍🍳 fox, 中文字符 中文字符 中文字符",
    "a\u0301e\u0308\u200d\ufe0f\u202e\u0000tail",
    "",
)


def pixels(picture: pygame.Surface) -> set[tuple[int, int]]:
    mask = pygame.mask.from_surface(picture, 60)
    wide, tall = picture.get_size()
    return {(x, y) for x in range(wide) for y in range(tall) if mask.get_at((x, y))}


@pytest.mark.parametrize("text", SAMPLES)
def test_lines_keep_to_their_width_and_lose_no_character(text: str) -> None:
    font = Typeset(SERIF, 17)
    for width in (60, 180, 236):
        lines = font.wrap(text, width)
        assert all(font.width(line) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(clean(text).split())
        for line in lines:
            assert font.render(line, INK).get_width() <= width + 4


def test_words_are_kept_whole_where_they_fit() -> None:
    lines = Typeset(SERIF, 17).wrap("For a dagger I ask twelve silver. Mind your boots.", 150)
    assert len(lines) > 1 and " ".join(lines) == "For a dagger I ask twelve silver. Mind your boots."


def test_random_text_never_fails() -> None:
    chance, font = random.Random(4), Typeset(SANS, 13)
    for _ in range(150):
        text = "".join(
            chr(chance.choice((chance.randrange(32, 0x2FFF), chance.randrange(0x1F300, 0x1FAFF))))
            for _ in range(40)
        )
        for line in font.wrap(text, 200):
            font.render(line, INK)


def test_right_to_left_words_stand_right_to_left() -> None:
    font = Typeset(SANS, 20)
    first, second = font.render("שלום", INK), font.render("עולם", INK)
    both = font.render("שלום עולם", INK)
    right = {(x - (both.get_width() - first.get_width()), y) for x, y in pixels(both)}
    assert pixels(first) <= {one for one in right if one[0] >= 0}  # the first word is on the right
    assert pixels(second) <= pixels(both)
    mixed = font.render("ale שלום", INK)
    assert pixels(font.render("ale", INK)) <= pixels(mixed)  # in an English line, English stays on the left


def test_control_characters_are_not_drawn() -> None:
    assert clean("a\u0000b\u202e\ufe0f\nc") == "ab c"


def test_the_typed_line_is_bounded() -> None:
    line = controls.InputLine()
    for _ in range(30):
        line.type("Wyvern! 🐉 ")
    assert len(line.text) == 300
    line.type("x" * 1000)
    assert len(line.text) == controls.LONGEST
    line.erase()
    assert len(line.take()) == controls.LONGEST - 1 and line.text == ""
    line.erase()
    assert line.take() == ""


def test_a_name_and_a_comma_address_a_character() -> None:
    names = ["Brenna", "Garrick", "Pip", "Silvane"]
    assert controls.addressed("Pip, who are you?", names) == (2, "who are you?")
    assert controls.addressed("sil, what news?", names) == (3, "what news?")
    for text in ("Who is Pip, and where?", "Pip", "Pip,", "Odo, who are you?", ", hello", ""):
        assert controls.addressed(text, names) == (None, text)


def test_settings_step_and_stay_at_their_ends() -> None:
    assert [controls.step(controls.PACES, 24, by) for by in (-1, 1)] == [18, 36]
    assert controls.step(controls.PACES, 6, -1) == 6 and controls.step(controls.PACES, 0, 1) == 0
    assert controls.step(controls.BUDGETS, 0, -1) == 250 and controls.step(controls.BUDGETS, 70, 1) in (
        64,
        80,
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("now key f2", "invalid time 'now' in line 1: expected seconds"),
        ("1 jump", "invalid step 'jump' in line 1: expected type, key, click, shot, load, wait, close"),
        ("1 key f2\n2 key nokey", "unknown key name"),
        ("1 click here", "invalid place 'here' in line 1: expected x and y"),
    ],
)
def test_a_wrong_script_names_the_line(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Script(text, lambda path: None)


def test_the_pins_of_pygame_agree() -> None:
    pin = re.search(r"pygame-ce==[\d.]+", (ROOT / "tests" / "tavern" / "requirements.txt").read_text())
    assert pin is not None
    assert re.findall(r"pygame-ce==[\d.]+", (ROOT / "pyproject.toml").read_text()) == [pin[0]]
