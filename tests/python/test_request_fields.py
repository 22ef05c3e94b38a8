"""Misspelt request fields are refused with the right name; fields of other servers pass, with a warning."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

import sotto
from conftest import ROOT
from talk import chat

SCHEMA = json.loads((ROOT / "docs/pages/reference/schemas/requests.json").read_text())
KNOWN = [name.removeprefix("field.") for name in SCHEMA["$defs"] if name.startswith("field.")]
OF_CHATS = [name for name in SCHEMA["$defs"]["chat"]["properties"] if name not in ("model", "messages")]
# Fields whose validity also depends on others.
ALONE_INVALID = ("n", "top_logprobs", "continue_final_message", "stream", "session")
# Values at and beyond the limits of each type.
VALUES: list[Any] = [
    *(None, True, False, -11, -2, -1, 0, 1, 2, 3, 21, 129, 2**31 - 1, 2**31, 2**32, 1e30, -1e30, 0.005, 0.5),
    *(1.5, 100.5, "", "auto", "none", "wait", "truncate", "sing", "x" * 5000, [], {}, ["x"], {"x": 1}),
]
OTHERS = [
    "user",
    "store",
    "metadata",
    "service_tier",
    "best_of",
    "modalities",
    "prediction",
    "verbosity",
    "web_search_options",
    "functions",
    "function_call",
    "audio",
    "safety_identifier",
    "prompt_cache_key",
    "min_tokens",
    "top_a",
    "tfs_z",
    "typical",
    "use_beam_search",
    "length_penalty",
    "repetition_penalty",
    "stop_token_ids",
    "include_stop_str_in_output",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "truncate_prompt_tokens",
    "prompt_logprobs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "add_special_tokens",
    "documents",
    "priority",
    "image_data",
    "t_max_predict_ms",
    "n_predict",
    "num_predict",
    "num_ctx",
    "keep_alive",
    "options",
    "format",
    "raw",
    "template",
    "system",
    "context",
    "images",
    "suffixes_allowed",
    "thinking",
    "budget",
    "seeds",
    "early_stopping",
]


def misspelt(name: str) -> set[str]:
    """Returns names that are one letter from `name`: one left out, one doubled, one other, two swapped."""
    at = len(name) // 2
    made = {name[:at] + "z" + name[at + 1 :], name + name[-1]}
    if len(name) > 2:
        made |= {name[:at] + name[at + 1 :], name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :]}
    return made - set(KNOWN)


def answer(npc: sotto.Engine, **fields: object) -> str:
    """Returns why a chat with these fields failed; empty if it did not."""
    try:
        npc.llm_chat_completion({**json.loads(chat()), **fields})
    except sotto.SottoError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", OF_CHATS)
def test_the_schema_takes_what_the_engine_takes(npc: sotto.Engine, name: str) -> None:
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/chat"})
    whole = "anyOf" not in SCHEMA["$defs"][f"field.{name}"]  # else the engine checks more than the schema
    verdicts = [validator.is_valid({name: value}) for value in VALUES]
    assert verdicts[0] and not all(verdicts)
    for value, taken in zip(VALUES, verdicts, strict=True):
        refusal = answer(npc, **{name: value})
        of_type = refusal.startswith((f"invalid {name} ", f"invalid {name}[", f"missing {name}."))
        if not taken:
            assert of_type, (value, refusal)
        elif whole and name not in ALONE_INVALID:
            assert not of_type, (value, refusal)


def test_the_schema_is_valid_and_checks_messages() -> None:
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/chat"})
    validator.validate(json.loads(chat()))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError, match="king"):
        validator.validate({"messages": [{"role": "king", "content": "hi"}]})


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in ("model", "messages")])
def test_a_field_misspelt_by_one_letter_is_refused_with_its_name(npc: sotto.Engine, name: str) -> None:
    for wrong in misspelt(name):
        said = answer(npc, **{wrong: 1})
        assert f"unknown field '{wrong}': did you mean" in said and f'"{name}"' in said, said


@pytest.mark.parametrize(
    ("wrong", "meant"), [("max_token", "max_tokens"), ("temprature", "temperature"), ("topk", "top_k")]
)
def test_usual_slips(npc: sotto.Engine, wrong: str, meant: str) -> None:
    assert meant in answer(npc, **{wrong: 1})


def test_no_field_is_suggested_that_is_there(npc: sotto.Engine) -> None:
    assert answer(npc, temperature=0, temprature=1) == ""


def test_fields_of_other_servers_pass_with_one_warning_each(
    npc: sotto.Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    ours = {"system", "store", "metadata", "documents"}  # of sessions, responses and rankings, and of no chat
    assert len(OTHERS) >= 50 and set(OTHERS) & set(KNOWN) == ours
    for name in [*OTHERS, *OTHERS]:
        assert answer(npc, **{name: 1}) == "", name
    warned = re.findall(r"request field '(\w+)' has no effect in this request", capfd.readouterr().err)
    assert warned == OTHERS


def test_the_response_lists_ignored_fields(npc: sotto.Engine) -> None:
    body = {**json.loads(chat()), "keep_alive": 3, "system": "be kind", "path": "x"}
    whole = json.loads(npc.llm_chat_completion(body))
    assert sorted(whole["sotto"]["ignored_fields"]) == ["keep_alive", "path", "system"]
    last = json.loads(list(npc.llm_chat_completion_stream(body))[-1])
    assert last["sotto"] == whole["sotto"]
    assert "sotto" not in json.loads(npc.llm_chat_completion(chat()))


def test_many_unknown_fields_cost_little(npc: sotto.Engine) -> None:
    assert answer(npc, **{f"something_quite_else_{i}": i for i in range(20_000)}) == ""
