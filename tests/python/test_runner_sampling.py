"""Sampling, penalties, biases, stop texts and grammars of a `Runner`, on the house model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from runner_house import HOUSE, OPTIONS, chat, said, write
from sotto.runner import (
    Runner,
    RunnerError,
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(HOUSE, options=OPTIONS) as made:
        yield made


@pytest.mark.row("E-104", "E-149")
def test_biases(runner: Runner) -> None:
    (forced,) = runner.tokenize_text("ale", False, None)[:1]
    word = runner.detokenize_text([forced], True)
    assert said(chat(runner, logit_bias={forced: 100}, max_tokens=2)) == word * 2
    assert write(runner, logit_bias={forced: 100}, max_tokens=2).choices[0].text == word * 2
    first = runner.tokenize_text(said(chat(runner, max_tokens=1)), False, None)[0]
    assert (
        runner.tokenize_text(said(chat(runner, max_tokens=1, logit_bias={first: -100})), False, None)[0]
        != first
    )


@pytest.mark.row("E-110", "E-152", "E-460", "E-499")
def test_stop_texts(runner: Runner) -> None:
    whole = said(chat(runner))
    cut = whole.split(" ")[1]
    answer = chat(runner, stop_seqs=[cut])
    assert said(answer) == whole[: whole.index(cut)] and answer.choices[0].finish_reason == "stop"
    text = write(runner).choices[0].text
    cut = text[3:6]
    assert write(runner, stop_seqs=[cut]).choices[0].text == text[: text.index(cut)]


@pytest.mark.row("E-111", "E-153", "E-022")
def test_temperature_and_seed(runner: Runner) -> None:
    greedy = said(chat(runner))
    assert greedy == said(chat(runner, temperature=0)) == said(chat(runner, temperature=1.5, top_k=1))
    texts = []
    for _ in range(2):
        with Runner(HOUSE, seed=7, options=OPTIONS) as seeded:
            texts.append([said(chat(seeded, temperature=1.5)) for _ in range(3)])
    assert texts[0] == texts[1] and len(set(texts[0])) > 1


SAMPLERS = [
    pytest.param({"top_p": 1e-6}, ("E-112", "E-154"), id="top_p"),
    pytest.param({"top_k": 1}, ("E-113", "E-156"), id="top_k"),
    pytest.param({"min_p": 1.0}, ("E-117", "E-159"), id="min_p"),
]


@pytest.mark.parametrize(
    "fields",
    [pytest.param(one.values[0], marks=pytest.mark.row(*one.values[1]), id=one.id) for one in SAMPLERS],
)  # type: ignore[misc]
def test_samplers_that_leave_one_token(runner: Runner, fields: dict[str, Any]) -> None:
    assert said(chat(runner, temperature=2, **fields)) == said(chat(runner))
    assert write(runner, temperature=2, **fields).choices[0].text == write(runner).choices[0].text
    (name,) = fields
    with pytest.raises(RunnerError, match=name):
        chat(runner, **{name: -1})


PENALTIES = {
    "presence_penalty": ({"presence_penalty": 5.0}, ("E-107", "E-146")),
    "frequency_penalty": ({"frequency_penalty": 5.0}, ("E-108", "E-147")),
    "repetition_penalty": ({"repetition_penalty": 5.0}, ("E-109", "E-148")),
    "dry_multiplier": ({"dry_multiplier": 5.0}, ("E-120", "E-162")),
    "dry_base": ({"dry_multiplier": 0.5, "dry_base": 50.0}, ("E-121", "E-163")),
    "dry_allowed_length": ({"dry_multiplier": 5.0, "dry_allowed_length": 1}, ("E-122", "E-164")),
    "dry_sequence_breakers": (
        {"dry_multiplier": 5.0, "dry_sequence_breakers": ["|"]},
        ("E-123", "E-165"),
    ),
}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(fields, marks=pytest.mark.row(*rows), id=name)
        for name, (fields, rows) in PENALTIES.items()
    ],
)
def test_penalties_change_what_repeats(runner: Runner, fields: dict[str, Any]) -> None:
    prompt = "the gate, the gate, the gate, the gate, the gate, the"
    assert " gate" in (plain := write(runner, prompt, max_tokens=12).choices[0].text)
    assert write(runner, prompt, max_tokens=12, **fields).choices[0].text != plain
    asks = [{"role": "user", "content": f"Say: {prompt}"}]
    chat(runner, asks, **fields)
    name = next(reversed(fields))
    wrong = [] if name == "dry_sequence_breakers" else -1000
    with pytest.raises(RunnerError, match=r"dry_|penalty"):
        chat(runner, asks, **{**fields, name: wrong})


@pytest.mark.row("E-115", "E-116", "E-157", "E-158")
def test_grammars(runner: Runner) -> None:
    schema = {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}, "required": ["mood"]}
    forms = {"regex": r"[0-9]{3}-[a-z]{2}", "lark": 'start: "yes" | "no"', "json_schema": json.dumps(schema)}
    for kind, grammar in forms.items():
        fields: dict[str, Any] = {
            "grammar": grammar,
            "grammar_type": kind,
            "max_tokens": 32,
            "temperature": 1,
        }
        for text in (said(chat(runner, **fields)), write(runner, **fields).choices[0].text):
            if kind == "json_schema":
                assert json.loads(text)["mood"] in ("glad", "sad")
            else:
                assert re.fullmatch(grammar if kind == "regex" else "yes|no", text)
    for wrong, words in (
        ({"grammar": "x"}, "missing grammar_type"),
        ({"grammar_type": "regex"}, "without grammar"),
        ({"grammar": "x", "grammar_type": "zzz"}, "invalid grammar_type 'zzz'"),
        ({"grammar": "[", "grammar_type": "json_schema"}, "a JSON schema"),
        ({"grammar": "(", "grammar_type": "regex"}, "grammar"),
    ):
        with pytest.raises(RunnerError, match=words):
            chat(runner, **wrong)
        with pytest.raises(RunnerError, match=words):
            write(runner, **wrong)
