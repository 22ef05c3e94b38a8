"""docs/pages/reference/schemas/options.json and the engine agree on the options of a model."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

import sotto
from conftest import ROOT

SCHEMA = json.loads((ROOT / "docs/pages/reference/schemas/options.json").read_text())
PATHS = ("draft", "projector", "chat_template")  # a text that the schema allows may still name no file
# Values at and beyond the limits of each type; `context` ends at what the model was trained on.
VALUES: list[Any] = [
    *(None, True, False, -1, 0, 1, 15, 16, 63, 64, 65, 512, 65536, 65537, 2**32, 0.5, 1e30),
    *("", "auto", "on", "off", "f16", "q8_0", "lookup", "sing", [], {}, ["x"]),
]


@pytest.mark.real
@pytest.mark.parametrize("name", [*SCHEMA["properties"], "no_such_option"])
def test_the_schema_takes_what_the_engine_takes(real_engine: sotto.Engine, name: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    named = f"options.{name} " if name in SCHEMA["properties"] else f"option '{name}'"
    for value in VALUES:
        refusal = ""
        options = {name: value, **({} if name == "batch" else {"batch": 64})}
        try:
            real_engine.plan_model("sotto/house", options=options)
        except sotto.SottoError as error:
            refusal = str(error)
        if not validator.is_valid(options):
            assert named in refusal, (value, refusal)
        elif name not in PATHS:
            beyond = name in ("context", "min_context", "batch", "ubatch") and type(value) in (int, float)
            assert not refusal or (beyond and named in refusal), (value, refusal)


def test_the_reference_lists_the_same_options() -> None:
    page = (ROOT / "docs/pages/reference/options.md").read_text().split("## Engine options")[0]
    header = (ROOT / "include/sotto/model.h").read_text().split("#ifndef")[0]
    names = list(SCHEMA["properties"])
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.M)) == sorted(names)
    assert re.findall(r"^ \*     (\w+) {2,}\S|^ \*     (\w{15}) \S", header, re.M) == [
        (name, "") if len(name) < 15 else ("", name) for name in names
    ]
