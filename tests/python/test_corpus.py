"""The written corpus of the house model keeps its rules, and its slots fill from any sheet."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from conftest import ROOT

FOLDER = ROOT / "samples" / "house_model"
sys.path.insert(0, str(FOLDER))

from exchanges import CORPUS, check, exchanges  # noqa: E402
from filling import fill, fits, slots_of  # noqa: E402
from forms import DIALOGUES, FORMS, check_folder  # noqa: E402
from lines import again, check_lines, intents, put, told  # noqa: E402
from manners import MANNERS  # noqa: E402
from own import check as check_own  # noqa: E402
from own import own_lines  # noqa: E402
from sheet import a_character, prose, sheet  # noqa: E402
from wares import plural, twice, ware  # noqa: E402


def test_every_file_keeps_the_rules() -> None:
    assert check(sorted(CORPUS.glob("*.yaml"))) == []


@pytest.mark.parametrize("folder", [DIALOGUES, FORMS], ids=lambda folder: folder.name)
def test_dialogues_and_forms_keep_the_rules(folder: Path) -> None:
    assert len(list(folder.glob("*.yaml"))) >= 4
    assert check_folder(folder) == []


def test_lines_and_what_is_told_keep_the_rules() -> None:
    assert check_lines() == []
    assert len(intents()) >= 30
    assert all(len(one.lines) >= 100 for one in intents().values())
    assert all(len(again(name)) >= 90 for name in ("repeat", "echo", "work", "task", "done", "reward"))


def test_what_is_told_can_be_asked_back() -> None:
    rng = Random(2)
    for one in told():
        value = one.value(rng)
        for text in (*one.tells, *one.heard, *one.answers):
            assert not re.search(r"[{}]", put(text, value)), text
        assert one.asks
    assert put("an {x}", "ladder") == "a ladder"
    assert put("A {x}?", "axe") == "An axe?"


def test_the_corpus_has_breadth() -> None:
    written = exchanges()
    assert len(written) >= 6000
    assert len({one.intent for one in written}) >= 60
    manners = Counter(one.manner for one in written)
    assert set(manners) == set(MANNERS)
    assert min(manners.values()) > 0.7 * max(manners.values())


def test_slots_fill_from_sheets() -> None:
    rng, written = Random(3), exchanges()
    said: set[tuple[str, str]] = set()
    for at in range(700):
        who = a_character(rng, 1.0)
        text = prose(who, rng) if at % 10 == 0 else sheet(who, rng)
        slots = slots_of(who, rng)
        able = [one for one in written if fits(one, who, slots)]
        for one in rng.sample(able, min(150, len(able))):
            made = fill(one, who, slots, "Ann")
            said.add((one.visitor, one.reply))
            assert made.turns[-1][1] == made.reply.say
            for turn in made.turns:
                for part in turn:
                    assert not re.search(r"[{}]", part), part
            names = set(re.findall(r"{(name|place|price|person|task|reward|rumour|fact)}", one.reply))
            assert all(slots[name] in text or slots[name][1:] in text for name in names), (one, text)
    assert len(said) > 0.9 * len(written)


def test_articles_and_capitals_follow_the_slot() -> None:
    from filling import filled

    slots = {"role": "innkeeper", "place": "the Gilded Otter", "good": "ale"}
    assert filled("I'm a {role}. {place} is mine.", slots) == "I'm an innkeeper. The Gilded Otter is mine."
    assert filled("A {role} of {place}, with {good}?", slots) == "An innkeeper of the Gilded Otter, with ale?"


def test_wares_have_their_forms() -> None:
    assert (ware("a bed for the night").many, ware("ale").one, ware("bread").many) == (
        "beds for the night",
        "an ale",
        "loaves of bread",
    )
    assert (plural("bone tooth"), plural("brass brooch"), plural("berry")) == (
        "bone teeth",
        "brass brooches",
        "berries",
    )
    assert (twice("3 copper"), twice("five marks"), twice("twelve gold")) == (
        "6 copper",
        "ten marks",
        "24 gold",
    )


PIRATE = re.compile(
    r"(?i)\b(arr|aye|ahoy|avast|belay|matey|ye|yer|savvy|landlubber|doubloons?|grog|rum|nay|be|me own)\b|o'"
)


def test_the_lines_of_a_pirate_keep_the_rules_and_fill_from_any_sheet() -> None:
    own = own_lines(FOLDER / "pirate.yaml")
    assert check_own(own) == []
    rng, told, manner = Random(4), 0, []
    for _ in range(150):
        made = own.conversation(rng)["messages"]
        assert [message["role"] for message in made] == ["system", *("user", "assistant") * (len(made) // 2)]
        for message in made[2::2]:
            assert not re.search(r"[{}]", message["content"]), message
            key = message.get("key", "").lower()
            assert key in message["content"].lower(), message
            told += bool(key)
            manner.append(PIRATE.search(message["content"]) is not None)
    assert told > 200
    assert sum(manner) > 0.9 * len(manner)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("turns: x", "expected a list of conversations"),
        ("- turns: [[Hello.]]", "entry 1: expected `system`, a text, and `turns`"),
        ("- {system: Nib, turns: []}", "entry 1: expected `system`, a text, and `turns`"),
        ("- {intent: mutiny, answers: [Aye.]}", "entry 1: invalid intent 'mutiny'"),
        ("- {intent: threat}", "entry 1: invalid intent 'threat'"),
        ("- {turns: [[Hi., Aye.]], quest: lost}", "entry 1: invalid quest 'lost'"),
        ("- turns: [[Hi., 'Ahoy, {captain}.']]", "entry 1: unknown slots captain"),
        ("- tells: [Aye.]", "entry 1: invalid text 'Aye.': expected one {x}"),
        ("- {turns: [[Hi., Aye.]], manner: gruff}", "entry 1: expected `system` with `turns`"),
        ('- turns: [["Hi.", "Aye."]', "put texts between quotes"),
    ],
)
def test_own_lines_of_another_form_are_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(fault)):
        own_lines(path)
