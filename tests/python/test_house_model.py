"""The house model reads who it is, and its corpus keeps what the evaluation asks about to itself."""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from random import Random

import pytest

import sotto
from conftest import ROOT

FOLDER = ROOT / "samples" / "house_model"
sys.path.insert(0, str(FOLDER))

import cases as held  # noqa: E402
import names  # noqa: E402
from corpus import ask_unknown, conversations  # noqa: E402
from evaluate import by_sotto, figures  # noqa: E402
from manners import MANNERS  # noqa: E402
from sheet import a_character  # noqa: E402


def trained(seed: int = 5, count: int = 400) -> list[dict]:
    """Some of what is trained."""
    return list(islice(conversations(seed), count))


@pytest.mark.real
def test_the_house_model_reads_its_sheet() -> None:
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        found = figures(by_sotto(engine, FOLDER / "house.gguf"), 42, 11)
    assert found["recall"] >= 0.85, found
    assert found["invented"] <= 0.08, found
    assert found["json_free"] >= 0.95, found
    assert found["json_grammar"] == 1, found
    assert found["distinct2"] >= 0.5, found
    assert found["over_cap"] <= 0.03, found


def test_a_seed_makes_the_same_corpus() -> None:
    assert trained(5, 50) == trained(5, 50)
    assert trained(5, 50) != trained(6, 50)


def test_names_of_the_evaluation_are_never_trained() -> None:
    dice = names.HeldOut(1)
    kept = {make(dice) for _ in range(1500) for make in (names.a_name, names.a_town)}
    text = json.dumps([made["messages"] for made in trained()], ensure_ascii=False)
    assert not kept & set(re.findall(r"\w+", text))


def test_the_evaluation_asks_about_kept_names() -> None:
    for made in held.cases(3, held.KINDS, 50):
        name = re.search(r"Name: (.*)", made.messages[0]["content"])
        words = [word for word in name[1].split() if word not in names.w.TITLES]
        assert words and all(names.is_held_out(word) for word in words)


def test_the_right_answer_stands_in_the_sheet_and_not_in_the_question() -> None:
    for made in held.cases(3, ("facts", "memories", "relationships", "quests"), 200):
        sheet, question = (message["content"] for message in made.messages)
        assert all(held.holds(sheet, [key]) for key in made.right), made
        assert not held.holds(question, made.right[:1]), made


def test_every_honest_answer_counts_as_one() -> None:
    dice = Random(3)
    for _ in range(500):
        reply = ask_unknown(a_character(dice, 1.0), dice)[1]
        assert held.denies(reply.say), reply.say


def test_no_answer_of_the_corpus_denies_what_the_sheet_says() -> None:
    for made in trained():
        for message in made["messages"]:
            assert not (message.get("key") and held.denies(message["content"])), message


def test_the_format_names_every_manner() -> None:
    line = next(line for line in (FOLDER / "FORMAT.md").read_text().splitlines() if "`Manner:`" in line)
    assert set(MANNERS) <= set(re.findall(r"`(\w+)`", line)) and len(MANNERS) >= 12
