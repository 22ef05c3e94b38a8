"""What `sotto translate` protects in a line, and that no translation without it is taken."""

from __future__ import annotations

import random
import re
import time

import dressed
import pytest

from sotto.commands.dialogue.mask import FORMS, mask, unmask
from sotto.commands.dialogue.protect import Protector, without_edges
from sotto.commands.dialogue.rounds import Rounds

PROTECTOR = Protector(["Brenna", "Old Tarn", "Tarn"])


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Hello, {player}!", ["{player}"]),
        ("{0} of {1:d} and {{x}}", ["{0}", "{1:d}", "{{x}}"]),
        (
            "{n, plural, one {# coin} other {# coins {x}}} left",
            ["{n, plural, one {# coin} other {# coins {x}}}"],
        ),
        ("%s gave %1$d to %(who)s, %-5.2f%%", ["%s", "%1$d", "%(who)s", "%-5.2f", "%%"]),
        ("50% discount, 100% sure, 5 % of it", []),
        ("<b>Stop</b> <color=#ff0>now</color><br/>", ["<b>", "</b>", "<color=#ff0>", "</color>", "<br/>"]),
        ("a < b and c > d", []),
        ("[wave]Hi[/wave] [pause=0.5] [1]", ["[wave]", "[/wave]", "[pause=0.5]", "[1]"]),
        (r"one\ntwo\t\"x\" \V[1] \u00e9", [r"\n", r"\t", r"\"", r"\"", r"\V[1]", r"\u00e9"]),
        ("$gold and ${name} for $5", ["$gold", "${name}"]),
        ("%name% &amp; &#39;", ["%name%", "&amp;", "&#39;"]),
        (
            "{a, select, b {{n, plural, one {{x, c, d {e}}}}}} f",
            ["{a, select, b {{n, plural, one {{x, c, d {e}}}}}}"],
        ),
        ("{Count}|plural(one=apple,other=(keys)) left", ["{Count}|plural(one=apple,other=(keys))"]),
        ("see https://example.com/a_b?c=1, now", ["https://example.com/a_b?c=1"]),
        ("[img]res://coin.png[/img] [url]a.b/c[/url]", ["[img]res://coin.png[/img]", "[url]a.b/c[/url]"]),
        ("[url=a]the inn[/url]", ["[url=a]", "[/url]"]),
        (r"\FS[24]The king \V[\V[1]]", [r"\FS[24]", r"\V[\V[1]]"]),
        ("[items[0]] and [player]", ["[items[0]]", "[player]"]),
        ("<<player>> wins", ["<<player>>"]),
        ("a { b [ c", []),
        ("残り$goldある、Brennaは", ["$gold", "Brenna"]),
        ("Brenna, Brenna's, Brennas, Old Tarn", ["Brenna", "Brenna", "Old Tarn"]),
    ],
)
def test_pieces_of_a_line(text: str, pieces: list[str]) -> None:
    assert [one.text for one in PROTECTOR.pieces(text)] == pieces


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("Hi {a}, {b}", "{b}, hallo {a}", ""),
        ("Hi {a}", "Hallo", "'{a}' is missing"),
        ("Hi {a}", "{a} {a}", "'{a}' is there too many times"),
        ("{a} or {a}", "{a}", "'{a}' is there too few times"),
        ("Hi {a}", "{a} {b}", "'{b}' is there too many times"),
        ("%s of %d", "%d von %s", "placeholders without a number changed their order"),
        ("%1$s of %2$d", "%2$d von %1$s", ""),
        ("{} of {}x%s", "%s {} {}", "placeholders without a number changed their order"),
        ("<b>a <i>b</i></b>", "<b><i>b</i> a</b>", ""),
        ("<b>a</b> <i>b</i>", "<i>b</i> <b>a</b>", ""),
        ("<b>a</b> <i>b</i>", "<b>a <i></b> b</i>", "tags are not nested as in the source"),
        ("<b>a</b> c", "</b>a<b> c", "tags are not nested as in the source"),
        ("<b>a</b> c", "<b></b> a c", "tags are not nested as in the source"),
        ("a</b> <b>c", "x</b> <b>y", ""),
        ("a</b> <b>c", "<b>x</b> y", "tags are not nested as in the source"),
        ("a\nb", "a b", "the number of line breaks changed"),
        ("Hello", "Hallo [1]", "'[1]' is there too many times"),
        ("Hello", "Hallo <1", "the translation has '<1', which is not in the source"),
        ("Hello (]", "Hallo", "the translation lost ']'"),
        ("{b}old{/b} smith", "{/b}Schmied {b}alt", "tags are not nested as in the source"),
        ("Hello", "Hallo }", "the translation has '}', which is not in the source"),
        ("2x {a}", "2x {a}", ""),
    ],
)
def test_what_a_target_must_keep(source: str, target: str, said: str) -> None:
    assert PROTECTOR.kept(source, target, PROTECTOR.pieces(target)) == said


def test_the_edges_of_a_line_are_not_translated() -> None:
    def edges(text: str) -> tuple[str, str, str]:
        return tuple(without_edges(PROTECTOR, text))  # type: ignore[return-value]

    assert edges("[pause=1]<b>Stop!</b>\\n") == ("[pause=1]<b>", "Stop!", "</b>\\n")
    assert edges("<b>Stop</b> now") == ("", "<b>Stop</b> now", "")
    assert edges("Go home. {icon}") == ("", "Go home.", " {icon}")
    assert edges("Go to {place}") == ("", "Go to {place}", "")
    assert edges("{name} goes") == ("", "{name} goes", "")
    assert edges("He steals the key near [player]") == ("", "He steals the key near [player]", "")
    assert edges("Go near Mr. {name}") == ("", "Go near Mr. {name}", "")
    assert edges(r"The price is \V[1]") == ("", r"The price is \V[1]", "")
    assert edges("[player] finds [b]it[/b]") == ("", "[player] finds [b]it[/b]", "")


@pytest.mark.parametrize("unit", ["<br>", "\\n", "word {x} "])
def test_long_lines_take_seconds(unit: str) -> None:
    text = f"Word {unit * (1_000_000 // len(unit))} end. {{a}}"
    began = time.perf_counter()
    core = without_edges(PROTECTOR, text).core
    mask(PROTECTOR, core, FORMS[0])
    assert PROTECTOR.kept(core, core, PROTECTOR.pieces(core)) == ""
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize("text", ["%" + "0" * 1_000_000, "$" + "1" * 1_000_000, "<br>" * 250_000 + "word"])
def test_long_runs_of_one_character_take_seconds(text: str) -> None:
    began = time.perf_counter()
    without_edges(PROTECTOR, text)
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Brenna sells the key.", "{}は鍵を売る。"),
        ("You have $gold left.", "残り{}ある。"),
        ("The key of Brenna.", "{}s Schlüssel."),
    ],
)
def test_pieces_beside_letters_of_another_language_are_kept(source: str, target: str) -> None:
    def translate(texts: list[str], beams: int) -> list[str]:
        return [target.replace("{}", re.findall(r"\[1\]", text)[0]) for text in texts]

    (piece,) = PROTECTOR.pieces(source)
    (made,) = Rounds(translate, PROTECTOR).lines([source])
    assert (made.text, made.in_parts) == (target.replace("{}", piece.text), False)


def test_lines_with_numbers_in_brackets_are_translated() -> None:
    def translate(texts: list[str], beams: int) -> list[str]:
        return [text.replace("Press", "Drück") for text in texts]

    (made,) = Rounds(translate, PROTECTOR).lines(["Press [1] to talk."])
    assert made.text == "Drück [1] to talk."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[Attack the guard]", "[Attack the guard]"),
        ("Go. [Attack the guard] Now.", "[Attack the guard]"),
        ("[Laughs]", "[Laughs]"),
        ("You see {n, plural, one {# coin} other {# coins}}.", "{n, plural, one {# coin} other {# coins}}"),
        ("You see {n}|plural(one=key,other=keys).", "{n}|plural(one=key,other=keys)"),
        ("Hello [player], {name}.", ""),
        ("[pause=0.5] ...", ""),
    ],
)
def test_words_that_are_left_as_they_are_are_listed(text: str, left: str) -> None:
    (made,) = Rounds(lambda texts, beams: texts, PROTECTOR).lines([text])
    assert made.text == text and made.left == left


@pytest.mark.parametrize("form", FORMS)
def test_sentinels_come_back_as_the_pieces(form: str) -> None:
    text = "The <b>old</b>{x} smith%s,{y}!"
    masked = mask(PROTECTOR, text, form)
    assert masked is not None and [run.text for run in masked.runs] == ["<b>", "</b>{x}", "%s", "{y}"]
    assert not PROTECTOR.pieces(masked.text.replace("<", "").replace("[", ""))
    spaced = masked.text.replace(form.format(2), form.replace("{}", " 2 "))
    for target in (masked.text, spaced):
        built = unmask(masked, target)
        assert built is not None and built.text == text and built.pieces == PROTECTOR.pieces(text)
    assert unmask(masked, masked.text.replace(form.format(2), "")) is None
    assert unmask(masked, masked.text + form.format(1)) is None
    assert unmask(masked, masked.text + form.format(7)) is None
    if form != "[{}]":  # which is a piece itself
        assert mask(PROTECTOR, f"see {form.format(3)} {{x}}", form) is None


def test_no_damaged_line_is_taken_from_a_translator_that_damages_them() -> None:
    dice, asked = random.Random(4), 0

    def translate(texts: list[str], beams: int) -> list[str]:
        nonlocal asked
        asked += len(texts)
        return [worse(text) for text in texts]

    def worse(text: str) -> str:
        marks = re.findall(r"\[\d\]|<\d>|X\dX|#\d#", text) or [""]
        mark, other = dice.choice(marks), dice.choice(marks)
        kinds = [
            text.upper(),
            text.replace(mark, ""),
            f"{text} {mark}",
            text.replace(mark, other),
            text.replace(mark, mark[:-1]),
            " ".join(dice.sample(text.split(), len(text.split()))),
            f"{text} {{hero}}",
            f"%s {text}",
            "",
            " ... ",
        ]
        return dice.choice(kinds)

    given = dressed.lines(8, 500)
    made = Rounds(translate, Protector(dressed.NAMES)).lines([one.text for one in given])
    wrong = [
        (one.text, outcome.text, found)
        for one, outcome in zip(given, made, strict=True)
        if outcome.text and (found := dressed.damage(one, outcome.text))
    ]
    right = sum(1 for outcome in made if outcome.text)
    listed = [outcome for outcome in made if not outcome.text]
    print(f"\nspeech: of 500 lines, {right} kept by {asked} damaging translations, {len(listed)} listed")
    assert not wrong
    assert all(outcome.reason for outcome in listed) and right > 100
