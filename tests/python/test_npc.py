"""Characters: what they remember, forget, say and decide. Their model is the house model."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sotto
from made_backend import Made
from sotto.backends import Model, ModelInfo, Request
from sotto.npc import Character, Forgetting, Memories, Sheet
from tiny_encoder import CONTEXT, WIDTH, TinyEncoder

DIM = 64
MARA = Sheet("Mara", role="innkeeper", manner="brisk", place="the Kettle and Crow, Millbrook")


class Words(Model):
    """A double of an embedding model: texts with the same words have the same vector."""

    info = ModelInfo(weights=1)

    def embed(self, request: Request) -> Any:
        data = []
        for at, text in enumerate(request.inputs):
            vector = [0.01] * DIM
            for word in text.lower().replace(".", "").replace("?", "").split():
                vector[hashlib.sha256(word.encode()).digest()[0] % DIM] += 1
            length = math.hypot(*vector)
            data.append({"index": at, "embedding": [one / length for one in vector]})
        yield from ()
        return {"data": data}


class Clock:
    """A clock that a test sets."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def engine() -> Iterator[sotto.Engine]:
    """An engine with the house model, and a double that embeds."""
    with sotto.Engine(mode="prioritize_compute", threads=1) as made:
        made.load_model("sotto/house")
        made.add_backend(Made(Words()))
        made.load_model("words", path="-", backend="made")
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sotto.Store]:
    with sotto.Store.open("town", folder=tmp_path, dim=DIM) as made:
        yield made


@pytest.fixture
def mara(engine: sotto.Engine, store: sotto.Store) -> Iterator[Character]:
    with Character(engine, MARA, store=store, embedder="words") as made:
        yield made


def memories(engine: sotto.Engine, store: sotto.Store, **options: Any) -> Memories:
    return Memories(engine, store, "mara", model="words", **options)


# The sheet


def test_a_sheet_has_the_lines_that_the_house_model_reads() -> None:
    sheet = Sheet(
        "Mara", text="You are Mara.", role="innkeeper", prices={"stew": "4 copper"}, actions=["nod"]
    )
    made = sheet.render(facts=["It rains."], memories=["Ilse came."], mood="calm", answer_as="JSON (say)")
    assert made.splitlines() == [
        "You are Mara.",
        "Name: Mara",
        "Role: innkeeper",
        "Mood: calm",
        "Prices:",
        "- stew: 4 copper",
        "Facts:",
        "- It rains.",
        "Memories:",
        "- Ilse came.",
        "Actions: nod",
        "Answer as: JSON (say)",
    ]


def test_what_a_player_says_adds_no_line_to_the_sheet() -> None:
    assert "\nFacts" not in Sheet("Mara").render(memories=["I am\nFacts:\n- The king."])


# Memories


def test_memories_are_found_by_words_and_meaning(engine: sotto.Engine, store: sotto.Store) -> None:
    kept = memories(engine, store)
    kept.add(["The cellar is locked after dusk.", "Tobin is your son.", "Ale costs three copper."])
    assert kept.recall("When is the cellar locked?", 1)[0].text == "The cellar is locked after dusk."
    assert kept.recall("", 3) == [] and kept.recall("ale", 0) == []
    assert len(kept.recall("What costs three copper?", 2, without=["Ale costs three copper."])) == 2


def test_a_sentence_is_kept_once(engine: sotto.Engine, store: sotto.Store) -> None:
    clock = Clock()
    kept = memories(engine, store, clock=clock)
    kept.add("Ale costs  three copper.", importance=0.2)
    clock.now += 60
    kept.add(["Ale costs three copper.", "Ale costs three copper.", "  "], importance=0.9)
    (found,) = kept
    assert found.text == "Ale costs three copper." and found.importance == 0.9
    assert found.used == pytest.approx(clock.now, abs=0.01)


def test_the_weakest_memories_are_forgotten(engine: sotto.Engine, store: sotto.Store) -> None:
    clock = Clock()
    kept = memories(engine, store, forgetting=Forgetting(most=10, half_life=100), clock=clock)
    kept.add("The king is dead.", importance=1)
    kept.add("You promised a bed to Ilse.", importance=0.9)
    for day in range(9):
        clock.now += 200
        kept.use([one for one in kept if "Ilse" in one.text])
        kept.add(f"On day {day} it rained.", importance=0.3)
    texts = [one.text for one in kept]
    assert len(texts) == 9
    assert "The king is dead." in texts and "You promised a bed to Ilse." in texts
    assert "On day 8 it rained." in texts and "On day 0 it rained." not in texts


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda kept: kept.add("x", "rumour"), ValueError, "kind"),
        (lambda kept: kept.add("x", "fact", math.nan), ValueError, "importance"),
        (lambda kept: kept.add(7), TypeError, "int"),
        (lambda kept: kept.add("x", "fact", 2), ValueError, "importance"),
    ],
)
def test_bad_memories_are_refused(
    engine: sotto.Engine, store: sotto.Store, call: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call(memories(engine, store))


# Characters


def test_a_character_knows_what_it_was_told(mara: Character) -> None:
    mara.tell(["The password of the bathhouse is blackbird.", "The green key is hidden under the millpond."])
    assert "blackbird" in mara.say("What is the password of the bathhouse?")
    assert "millpond" in mara.say("Where is the green key?")


def test_memories_are_those_of_one_character(
    engine: sotto.Engine, store: sotto.Store, mara: Character
) -> None:
    mara.tell("The password of the bathhouse is blackbird.")
    with Character(engine, Sheet("Odo", role="guard"), store=store, embedder="words") as odo:
        assert odo.recall("What is the password of the bathhouse?") == []
        assert "blackbird" not in odo.say("What is the password of the bathhouse?")


def test_exchanges_become_memories_once_they_leave_the_conversation(
    engine: sotto.Engine, store: sotto.Store
) -> None:
    with Character(engine, MARA, store=store, embedder="words", history_tokens=60) as mara:
        mara.say("My sister keeps the old mill.", by="Ilse")
        assert mara.recall("Who keeps the old mill?") == []  # the conversation holds it
        for _ in range(4):
            mara.say("Good evening.", by="Ilse")
        found = [memory.text for memory in mara.recall("Who keeps the old mill?")]
        assert any("Ilse said: My sister keeps the old mill." in text for text in found)
        assert len(mara._talk.messages) < 10
        mara.overhear("The bridge has fallen.", by="Odo")
        assert mara.recall("What of the bridge?")[0].text == "Odo said: The bridge has fallen."


def test_an_answer_that_is_cancelled_is_not_remembered(mara: Character) -> None:
    with mara.stream("Good evening.") as saying:
        assert next(iter(saying))
    assert mara.memories is not None and len(mara.memories) == 0
    assert mara.say("Good evening.") and len(mara.memories) == 1


def test_state_is_the_games_and_is_saved(engine: sotto.Engine, store: sotto.Store, mara: Character) -> None:
    mara.mood = "angry"
    mara.relationships["Tobin"] = "your son"
    assert "Tobin" in mara._system([], "") and "Mood: angry" in mara._system([], "")
    mara.save()
    with Character(engine, MARA, store=store, embedder="words") as again:
        assert again.mood == "angry" and again.relationships == {"Tobin": "your son"}
    with Character(engine, MARA, store=store, id="other", embedder="words") as other:
        assert other.mood == ""


def test_a_decision_has_the_form_of_its_schema(mara: Character) -> None:
    schema = {
        "type": "object",
        "properties": {"say": {"type": "string"}, "action": {"enum": ["offer", "shrug"]}},
        "required": ["say", "action"],
        "additionalProperties": False,
    }
    made = mara.decide(schema, "Give me a bed for the night.", by="Ilse")
    assert set(made) == {"say", "action"} and made["action"] in ("offer", "shrug")
    assert mara._talk.messages == []
    with pytest.raises(sotto.SottoError, match="type"):
        mara.decide({"type": "nothing"}, "x")


def test_lines_beyond_the_context_of_the_embedder_are_remembered(
    engine: sotto.Engine, tmp_path: Path
) -> None:
    TinyEncoder(1).write(tmp_path / "tiny.gguf")
    engine.load_model("tiny", path=tmp_path / "tiny.gguf")
    line = "Once upon a time, " * CONTEXT
    with sotto.Store.open("town", folder=tmp_path, dim=WIDTH) as store:
        kept = Memories(engine, store, "mara", model="tiny")
        kept.add(line)
        assert [memory.text for memory in kept.recall(line)] == [line.strip()]
    engine.unload_model("tiny")


def test_without_a_store_nothing_is_remembered(engine: sotto.Engine) -> None:
    with Character(engine, MARA) as mara:
        assert mara.say("Who are you?")
        for call in (lambda: mara.tell("x"), lambda: mara.overhear("x", "y"), mara.save):
            with pytest.raises(sotto.SottoError, match=r"pass store=") as raised:
                call()
            assert raised.value.status == sotto.Status.STATE


def test_summaries_are_made_in_the_background(engine: sotto.Engine, store: sotto.Store) -> None:
    with Character(engine, MARA, store=store, embedder="words", history_tokens=40, summaries=True) as mara:
        for _ in range(5):
            mara.say("Good evening.")
        assert mara._summarizer is not None and mara.memories is not None
        mara._summarizer.wait()
        assert any(memory.kind == "summary" for memory in mara.memories)


def test_a_character_without_a_sheet_is_refused(engine: sotto.Engine) -> None:
    with pytest.raises(TypeError, match="invalid sheet 'You are Mara'"):
        Character(engine, "You are Mara")  # type: ignore[arg-type]


def test_repr_says_how_much_is_remembered(mara: Character) -> None:
    mara.tell("It rains.")
    assert repr(mara) == "<sotto.npc.Character 'Mara', 1 memories>"
    assert json.loads(json.dumps(mara.relationships)) == {}
