"""Answers that are held to a JSON schema, on a tiny model whose random weights know nothing of JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sotto
from conftest import ROOT
from schemas import Maker

pytestmark = pytest.mark.real

SCHEMAS = 500
FORMATS = jsonschema.FormatChecker(["date", "uuid"])


@FORMATS.checks("time")
def is_time(text: object) -> bool:
    """Whether it is a time of RFC 3339; jsonschema's own check needs a package more."""
    hour, minute = "([01][0-9]|2[0-3])", "[0-5][0-9]"
    time = rf"{hour}:{minute}:{minute}(\.[0-9]+)?(Z|[+-]{hour}:{minute})"
    return not isinstance(text, str) or re.fullmatch(time, text) is not None


@FORMATS.checks("date-time")
def is_date_time(text: object) -> bool:
    """Whether it is a date, a T and a time."""
    if not isinstance(text, str):
        return True
    date, _, time = text.partition("T")
    return FORMATS.conforms(date, "date") and is_time(time)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sotto.Engine]:
    """An engine with the model `tiny`, which says any byte."""
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, str(ROOT / "tests" / "data" / "make_tiny.py"), str(folder)], check=True)
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        engine.load_model("tiny", path=Path(folder) / "tiny.gguf", options={"parallel": 4})
        yield engine


def ask(schema: Any, **fields: Any) -> str:
    """A request for an answer that keeps to a schema."""
    format_ = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    messages = [{"role": "user", "content": "who guards the gate"}]
    return json.dumps({"model": "tiny", "messages": messages, "response_format": format_, **fields})


@pytest.mark.parametrize(
    "regex",
    [r"\d{3}-[a-f]{2}", r"(yes|no), (my lord|traveller)[.!]", r"[^a-z]{4,8}", r"^\w+$", r"(ab?|c){2}\."],
)
def test_answers_match_a_regular_expression(tiny: sotto.Engine, regex: str) -> None:
    for seed in range(20):
        fields = {
            "grammar": regex,
            "grammar_type": "regex",
            "max_tokens": 64,
            "seed": seed,
            "temperature": 1.5,
        }
        answer = tiny.complete("who guards the gate", model="tiny", **fields)
        if answer.finish_reason == "stop":
            assert re.fullmatch(regex, answer.text, re.ASCII)
        else:
            assert re.fullmatch(r"\w+", answer.text, re.ASCII)  # only the endless one


def test_answers_match_a_grammar_in_the_syntax_of_lark(tiny: sotto.Engine) -> None:
    lark = """
        // an order
        start: verb AMOUNT ("ale"i | "stew" ["s"])
        verb: "bring" | "sell"
        AMOUNT: DIGIT~1..2
        %import common (DIGIT, WS_INLINE)
        %ignore WS_INLINE
    """
    for seed in range(20):
        fields = {"grammar": lark, "grammar_type": "lark", "max_tokens": 64, "seed": seed}
        answer = tiny.complete("who guards the gate", model="tiny", temperature=1.5, **fields)
        words = r"[ \t]*(bring|sell)[ \t]*\d{1,2}[ \t]*([aA][lL][eE]|stew[ \t]*s?)[ \t]*"
        if answer.finish_reason == "stop":
            assert re.fullmatch(words, answer.text)
        else:
            assert answer.text.endswith((" ", "\t"))  # spaces may go on
    with pytest.raises(sotto.SottoError, match="invalid grammar: line 2, column 4: undefined rule 'b'"):
        tiny.complete("hello", model="tiny", grammar="start: a\na: b", grammar_type="lark")


def test_regular_expressions_that_are_refused(tiny: sotto.Engine) -> None:
    for regex, what in (
        ("(a", r"invalid grammar '\(a': expected a regular expression without an unclosed"),
        ("a(?!b)", r"invalid grammar 'a\(\?!b\)': expected a pattern without"),
        ("a)(b", "an unopened"),
    ):
        with pytest.raises(sotto.SottoError, match=what):
            tiny.complete("hello", model="tiny", grammar=regex, grammar_type="regex")
    with pytest.raises(
        sotto.ArgumentError, match='invalid grammar_type \'ebnf\': expected one of "gbnf", "regex", "lark"'
    ):
        tiny.complete("hello", model="tiny", grammar="a", grammar_type="ebnf")


def test_answers_keep_to_their_schema(tiny: sotto.Engine) -> None:
    cut = 0
    for number in range(SCHEMAS):
        schema = Maker(number).document()
        jsonschema.Draft202012Validator.check_schema(schema)
        (choice,) = json.loads(
            tiny.llm_chat_completion(ask(schema, temperature=1, seed=number, max_tokens=400))
        )["choices"]
        if choice["finish_reason"] == "length":
            cut += 1
            continue
        said = choice["message"]["content"]
        try:
            jsonschema.Draft202012Validator(schema, format_checker=FORMATS).validate(json.loads(said))
        except (ValueError, jsonschema.ValidationError) as error:
            pytest.fail(f"schema {number}, {json.dumps(schema)}, has the answer {said!r}: {error}")
    assert cut < SCHEMAS / 20, f"{cut} of {SCHEMAS} answers were cut short"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "text"}, "schema.type 'text': expected"),
        (
            {"properties": {"age": {"minimum": "x"}}},
            "schema.properties.age.minimum 'x': expected a number",
        ),
        ({"enum": []}, "schema.enum '[]': expected an array of at least one value"),
        ({"$ref": "#/$defs/none"}, "schema.$ref '#/$defs/none': expected an existing path in this schema"),
        (False, "schema: no value matches this schema"),
    ],
)
def test_a_wrong_schema_is_named_by_its_place(tiny: sotto.Engine, schema: Any, why: str) -> None:
    with pytest.raises(sotto.ArgumentError) as caught:
        tiny.llm_chat_completion(ask(schema))
    assert "invalid response_format.json_schema." + why in str(caught.value)


def test_a_schema_beyond_grammars_is_refused_with_a_way_out(tiny: sotto.Engine) -> None:
    with pytest.raises(
        (sotto.ArgumentError, sotto.InferenceError), match="uniqueItems: not supported; remove the field"
    ):
        tiny.llm_chat_completion(ask({"type": "array", "uniqueItems": True}))


@pytest.mark.parametrize(
    ("grammar", "why"),
    [
        ("root ::= root", "left-recursive"),
        ("root ::= " + '"a"? ' * 200, "too ambiguous"),
        ('root ::= "a"{1,1000000}', "a repetition of more than 2000 times"),
        ("root ::= missing", 'undefined rule "missing"'),
        ('start ::= "a"', "missing rule"),
    ],
)
def test_an_impossible_grammar_is_refused(tiny: sotto.Engine, grammar: str, why: str) -> None:
    request = {"model": "tiny", "messages": [{"role": "user", "content": "a"}], "grammar": grammar}
    with pytest.raises(sotto.ArgumentError, match=why):
        tiny.llm_chat_completion(json.dumps(request))
