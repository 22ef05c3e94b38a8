"""What a character refuses, and what it makes of guardrails, save games and closing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.aio
from made_backend import Made
from sotto.npc import Character, Forgetting, Memories, Sheet
from test_npc import DIM, MARA, Words

NUMBERS = {"type": "regex", "patterns": [r"\d{4,}"], "action": "rewrite", "mask": "#"}
COPPER = {"type": "phrases", "phrases": ["copper"]}


@pytest.fixture(scope="module")
def guarded() -> Iterator[sotto.Engine]:
    """An engine that masks numbers in requests, and blocks a word in answers."""
    rules = {"input": [NUMBERS], "output": [COPPER]}
    with sotto.Engine(mode="prioritize_compute", threads=1, guardrails=rules) as made:
        made.load_model("sotto/house")
        made.add_backend(Made(Words()))
        made.load_model("words", path="-", backend="made")
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sotto.Store]:
    with sotto.Store.open("town", folder=tmp_path, dim=DIM) as made:
        yield made


def test_what_a_guardrail_rewrote_is_remembered_rewritten(guarded: sotto.Engine, store: sotto.Store) -> None:
    with Character(guarded, MARA, store=store, embedder="words") as mara:
        mara.say("My number is 123456.")
        assert mara.memories is not None
        (kept,) = [one.text for one in mara.memories]
    assert "######" in kept and "123456" not in kept


def test_a_decision_that_a_guardrail_blocks(guarded: sotto.Engine, store: sotto.Store) -> None:
    schema = {"type": "object", "properties": {"price": {"const": "4 copper"}}, "required": ["price"]}
    with Character(guarded, MARA, store=store, embedder="words") as mara:
        with pytest.raises(sotto.InferenceError, match="a guardrail blocked the decision") as raised:
            mara.decide(schema, "How much is a bed?")
        assert raised.value.status == sotto.Status.BLOCKED
        for wrong in ("x", None, []):
            with pytest.raises(TypeError, match="invalid schema"):
                mara.decide(wrong, "now?")  # type: ignore[arg-type]


def test_a_memory_that_does_not_fit_leaves_room_for_others(guarded: sotto.Engine, store: sotto.Store) -> None:
    with Character(guarded, MARA, store=store, embedder="words", memory_tokens=40) as mara:
        mara.tell("The dragon sleeps under the hill.")
        mara.tell("dragon hill " + "where does the dragon sleep " * 60)
        recalled = [one.text for one in mara.recall("Where does the dragon sleep?")]
    assert recalled == ["The dragon sleeps under the hill."]


def test_state_goes_back_with_a_save_game(guarded: sotto.Engine, store: sotto.Store, tmp_path: Path) -> None:
    with Character(guarded, MARA, store=store, embedder="words") as mara:
        mara.mood = "calm"
        mara.save()
        guarded.save_game(tmp_path / "slot", stores=[store])
        mara.mood = "furious"
        mara.save()
        mara.tell("Ilse broke a chair.")
        guarded.restore_game(tmp_path / "slot", stores=[store])
        mara.load()
        assert mara.mood == "calm" and mara.memories is not None and len(mara.memories) == 0


def test_a_closed_character_says_so(guarded: sotto.Engine, store: sotto.Store) -> None:
    mara = Character(guarded, MARA, store=store, embedder="words")
    mara.close()
    mara.close()
    schema = {"type": "object", "properties": {"go": {"type": "boolean"}}}
    calls: list[Any] = [
        lambda: mara.say("hi"),
        lambda: mara.tell("x"),
        lambda: mara.overhear("x", "Odo"),
        lambda: mara.recall("x"),
        lambda: mara.decide(schema, "go?"),
        mara.save,
    ]
    for call in calls:
        with pytest.raises(sotto.SottoError, match="the character 'Mara' is closed"):
            call()
    assert not guarded.sessions()


def test_values_of_the_wrong_type(guarded: sotto.Engine, store: sotto.Store, tmp_path: Path) -> None:
    for wrong, said in (
        (lambda: Sheet("Z", facts="The cellar is locked."), "invalid facts"),
        (lambda: Sheet("Z", rumours=3), "invalid rumours"),
        (lambda: Sheet("Z", relationships="son"), "invalid relationships"),
        (lambda: Sheet("Z", prices=["bed"]), "invalid prices"),
        (lambda: Character("e", MARA), "invalid engine"),
        (lambda: Character(sotto.aio.Engine, MARA), "invalid engine"),
        (lambda: Character(guarded, MARA, store="m"), "invalid store"),
        (lambda: Character(guarded, MARA, store=store, forgetting={"most": 3}), "invalid forgetting"),
        (lambda: guarded.save_game(tmp_path / "s", stores=3), r"invalid stores\[0\]"),
        (lambda: guarded.save_game(tmp_path / "s", stores=["m"]), r"invalid stores\[0\]"),
        (lambda: guarded.save_game(tmp_path / "s", files=["a.txt"]), "invalid files"),
    ):
        with pytest.raises(TypeError, match=said):
            wrong()
    for most, half_life in ((0, 1.0), (1, 0.0)):
        with pytest.raises(ValueError, match="above 0"):
            Forgetting(most, half_life)
    with Character(guarded, MARA, store=store, embedder="words") as mara:
        mara.relationships = "son"  # type: ignore[assignment]
        with pytest.raises(TypeError, match="invalid relationships"):
            mara.save()


def test_a_clock_that_starts_at_zero(guarded: sotto.Engine, store: sotto.Store) -> None:
    kept = Memories(guarded, store, "mara", model="words", clock=lambda: 0.0)
    kept.add("It rains.")
    (memory,) = kept
    assert memory.used < 1
