"""What answers may be asked for, told in a stream and at once: the two say the same."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import jsonschema
import pytest

import sotto
from results import check
from schemas import Maker

pytestmark = pytest.mark.real

REQUESTS = 500
TOOL_REQUESTS = 100 if os.environ.get("SOTTO_FULL") == "1" else 30
WORDS = ["the king", "gold, gold!", "wer bist du?", "夜の門", "naïve ♥ 🗡️", "\n\n", "a\u0301b", "{}"]
STOPS = ["the", " g", "?", "夜", "\n", "e", "\u00e9", "🗡"]
GRAMMARS = [
    'root ::= "yes" | "no"',
    "root ::= [a-z]{3,12}",
    'root ::= ("夜" | "🗡" | "é")+ "."',
    r'root ::= "\"" [^"\\]{0,8} "\""',
]
SAMPLING: list[dict[str, Any]] = [
    {"temperature": 0},
    {"temperature": 1.2, "top_k": 0, "top_p": 1, "min_p": 0},
    {"typical_p": 0.5},
    {"repeat_penalty": 1.3, "frequency_penalty": 0.5, "presence_penalty": 0.5, "repeat_last_n": -1},
    {"dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2},
    {"xtc_probability": 0.5, "xtc_threshold": 0.05},
    {"mirostat": 1, "mirostat_tau": 4},
    {"mirostat": 2, "mirostat_eta": 0.2},
    {"dynatemp_range": 0.5, "dynatemp_exponent": 1.5},
    {"top_n_sigma": 1.5},
    {"samplers": ["top_k", "temperature"], "top_k": 5},
    {"samplers": "kt", "top_k": 3},
    {"logit_bias": {"300": 5, "301": False}},
    {"logit_bias": [[300, 5], ["the", -100]]},
    {"ignore_eos": True},
    {"logprobs": True, "top_logprobs": 3},
]


def likely(choice: dict[str, Any]) -> list[str]:
    """The tokens of a choice that log probabilities were told of; their last digits depend on the batch."""
    return [token["token"] for token in (choice.get("logprobs") or {}).get("content", [])]


def choices(chunks: Any) -> list[dict[str, Any]]:
    """What the chunks of a stream come to: text, thoughts, calls and reason, by answer."""
    found: dict[int, dict[str, Any]] = {}
    for chunk in map(json.loads, chunks):
        for choice in chunk["choices"]:
            one = found.setdefault(
                choice["index"], {"content": "", "thought": "", "calls": [], "reason": None, "logprobs": []}
            )
            delta = choice.get("delta", {"content": choice.get("text")})
            one["content"] += delta.get("content") or ""
            one["thought"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", []):
                if call["index"] == len(one["calls"]):
                    one["calls"].append({"name": call["function"]["name"], "arguments": ""})
                one["calls"][call["index"]]["arguments"] += call["function"]["arguments"]
            one["logprobs"] += likely(choice)
            one["reason"] = choice["finish_reason"] or one["reason"]
    return [found[index] for index in sorted(found)]


def whole(response: str) -> list[dict[str, Any]]:
    """The same of a response."""
    found = []
    for choice in json.loads(response)["choices"]:
        message = choice.get("message", {"content": choice.get("text")})
        found.append(
            {
                "content": message["content"] or "",
                "thought": message.get("reasoning_content", ""),
                "calls": [call["function"] for call in message.get("tool_calls", [])],
                "reason": choice["finish_reason"],
                "logprobs": likely(choice),
            }
        )
    return found


def wish(number: int) -> dict[str, Any]:
    """A random request, always the same for a number."""
    some = random.Random(number)
    request: dict[str, Any] = {
        "model": some.choice(["tiny", "twin"]),
        "messages": [{"role": "user", "content": " ".join(some.choices(WORDS, k=some.randrange(1, 6)))}],
        "seed": number,
        "max_tokens": some.randrange(1, 24),
        "cache_prompt": False,  # batches of another shape round otherwise
        **some.choice(SAMPLING),
    }
    if some.random() < 0.5:
        request["stop"] = some.sample(STOPS, some.randrange(1, 4))
    if some.random() < 0.3:
        request["grammar"] = some.choice(GRAMMARS)
    if some.random() < 0.3:
        request["n"] = some.randrange(2, 5)
    return request


def test_a_stream_says_what_a_response_says(tiny: sotto.Engine) -> None:
    for number in range(REQUESTS):
        request = json.dumps(wish(number))
        streamed = choices(tiny.llm_chat_completion_stream(request))
        assert streamed == whole(tiny.llm_chat_completion(request)), request
        assert len(streamed) == json.loads(request).get("n", 1)
        for one in streamed:
            for stop in json.loads(request).get("stop", []):
                assert stop not in one["content"]


def parameters(number: int) -> dict[str, Any]:
    """A random schema of a tool's arguments."""
    maker = Maker(number)
    names = [f"{letter}{number}" for letter in "ab"]
    return {
        "type": "object",
        "properties": {name: maker.schema(1) for name in names},
        "required": names,
        "additionalProperties": False,
    }


@pytest.mark.row("A-070")
def test_calls_have_arguments_that_validate(tiny: sotto.Engine) -> None:
    called = 0
    marks = json.loads(tiny.tokenize(json.dumps({"model": "tools", "content": "<tool_call>\n"})))["tokens"]
    for number in range(TOOL_REQUESTS):
        schema = parameters(number)
        request = {
            "model": "tools",
            "messages": [{"role": "user", "content": "who guards the gate"}],
            "tools": [
                {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
                for name in ("give_item", "open-door")
            ],
            "tool_choice": ["required", {"type": "function", "function": {"name": "open-door"}}][number % 2],
            "chat_template_kwargs": {"enable_thinking": False},
            "parallel_tool_calls": False,
            "logit_bias": dict.fromkeys(map(str, marks), 10),  # random weights would rather speak
            "max_tokens": 300,
            "temperature": 1,
            "seed": number,
            "cache_prompt": False,
        }
        response = tiny.llm_chat_completion(json.dumps(request))
        chunks = list(tiny.llm_chat_completion_stream(json.dumps(request)))
        check("chat_completion", response)
        for chunk in chunks:
            check("chat_completion_chunk", chunk)
        (said,), (streamed,) = whole(response), choices(chunks)
        for call in said["calls"]:
            called += 1
            assert call["name"] in ("give_item", "open-door")
            jsonschema.Draft202012Validator(schema).validate(json.loads(call["arguments"]))
        assert streamed["calls"][: len(said["calls"])] == said["calls"], (
            "only one that was cut off is missing"
        )
        assert len(streamed["calls"]) - len(said["calls"]) <= (said["reason"] == "length")
    assert called > TOOL_REQUESTS


def test_several_answers_differ_and_are_the_same_again(tiny: sotto.Engine) -> None:
    request = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "the king"}],
        "n": 4,
        "seed": 3,
        "max_tokens": 12,
    }
    first, again = (whole(tiny.llm_chat_completion(json.dumps(request))) for _ in range(2))
    assert first == again and len({one["content"] for one in first}) == 4
    alone = whole(tiny.llm_chat_completion(json.dumps({**request, "n": 1, "seed": 5})))
    assert alone[0]["content"] == first[2]["content"], "an answer's seed is the request's and its index"


def test_log_probabilities(tiny: sotto.Engine) -> None:
    messages = [{"role": "user", "content": "the king"}]
    request = {"model": "tiny", "messages": messages, "temperature": 0, "max_tokens": 5}
    told = {**request, "logprobs": True, "top_logprobs": 4}
    choice = json.loads(tiny.llm_chat_completion(json.dumps(told)))["choices"][0]
    said, content = choice["logprobs"]["content"], choice["message"]["content"]
    assert len(said) == 5
    for token in said:
        likeliest = [other["logprob"] for other in token["top_logprobs"]]
        assert len(likeliest) == 4 and likeliest == sorted(likeliest, reverse=True)
        assert token["logprob"] == likeliest[0] <= 0, "the likeliest was chosen"
    assert b"".join(bytes(token["bytes"]) for token in said).decode(errors="replace")[:3] == content[:3]
    text = json.loads(
        tiny.llm_text_completion(
            json.dumps({"model": "tiny", "prompt": "the", "logprobs": 2, "max_tokens": 3, "temperature": 0})
        )
    )["choices"][0]["logprobs"]
    assert len(text["tokens"]) == len(text["token_logprobs"]) == len(text["top_logprobs"]) == 3


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"logit_bias": {"99999": 1}},
            "invalid logit_bias '99999': expected a token of the model, 0 to",
        ),
        ({"logit_bias": {"the": 1}}, "invalid logit_bias 'the'"),
        ({"samplers": ["top_k", "luck"]}, "invalid samplers 'luck': expected penalties"),
        ({"grammar": "root ::= missing"}, "grammar"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, r"tools\[0\].function.name"),
        (
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "a", "parameters": {"properties": {"x": {"type": "int"}}}},
                    }
                ]
            },
            r"tools\[0\].function.parameters.properties.x.type",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
                    }
                ]
            },
            r"messages\[0\]",
        ),
    ],
)
def test_what_the_model_cannot_do_is_said(tiny: sotto.Engine, fields: dict[str, Any], why: str) -> None:
    request = {"model": "tools", "messages": [{"role": "user", "content": "hi"}], **fields}
    with pytest.raises(Exception, match=why):
        tiny.llm_chat_completion(json.dumps(request))


def test_thoughts_are_told_apart_and_limited(tiny: sotto.Engine) -> None:
    (mark,) = json.loads(tiny.tokenize(json.dumps({"model": "tools", "content": "<think>"})))["tokens"]
    request = {
        "model": "tools",
        "messages": [{"role": "user", "content": "who guards the gate"}],
        "grammar": 'root ::= "<think>" [a-z]* "</think>" [a-z]{4,9}',
        "max_tokens": 60,
        "temperature": 1,
        "seed": 2,
        "cache_prompt": False,
        "reasoning_budget_tokens": 8,
        "chat_template_kwargs": {"enable_thinking": True},
        "logit_bias": {str(mark): 50},  # the mark itself, not the letters that spell it
    }
    (said,) = whole(tiny.llm_chat_completion(json.dumps(request)))
    (streamed,) = choices(tiny.llm_chat_completion_stream(json.dumps(request)))
    assert said == streamed
    assert said["thought"] and said["content"], "a thought that is cut off is followed by the answer"
    (mixed,) = whole(tiny.llm_chat_completion(json.dumps({**request, "reasoning_format": "none"})))
    assert not mixed["thought"] and "</think>" in mixed["content"]


def test_an_answer_in_json_begins_with_the_json(tiny: sotto.Engine) -> None:
    body = {
        "model": "tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 40, "n": 8,
        "temperature": 3, "top_k": 0, "top_p": 1, "min_p": 0, "return_tokens": True,
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"const": [1]}, "name": "n"}},
    }  # fmt: skip
    for seed in range(8):
        told = json.loads(tiny.llm_chat_completion({**body, "seed": seed}))
        for choice in told["choices"]:
            tokens = {"model": "tiny", "tokens": choice["tokens"], "special": True}
            text = json.loads(tiny.detokenize(tokens))["content"]
            assert text.startswith(("[", " [")), text


def test_an_answer_may_be_begun(tiny: sotto.Engine) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "the king"}]
    request = {"model": "tiny", "messages": messages, "continue_final_message": True}
    prompt = json.loads(tiny.apply_template(json.dumps(request)))["prompt"]
    assert prompt.endswith("the king")
    (said,) = whole(tiny.llm_chat_completion(json.dumps({**request, "max_tokens": 4, "temperature": 0})))
    (text,) = whole(
        tiny.llm_text_completion(
            json.dumps({"model": "tiny", "prompt": prompt, "max_tokens": 4, "temperature": 0})
        )
    )
    assert said["content"] == text["content"]


def test_a_gap_is_filled_where_the_vocabulary_has_words_for_it(tiny: sotto.Engine) -> None:
    gap = {"input_prefix": "the ", "input_suffix": " king", "max_tokens": 6, "temperature": 0}
    filled = json.loads(tiny.llm_infill(json.dumps({"model": "tools", **gap})))
    same = {"prompt": "the ", "suffix": " king", "max_tokens": 6, "temperature": 0}
    completed = json.loads(tiny.llm_text_completion(json.dumps({"model": "tools", **same})))
    assert filled["choices"][0]["text"] == completed["choices"][0]["text"] != ""
    extra = {**gap, "input_extra": [{"filename": "a.txt", "text": "gold"}]}
    more = json.loads(tiny.llm_infill(json.dumps({"model": "tools", **extra})))
    assert more["usage"]["prompt_tokens"] > filled["usage"]["prompt_tokens"]
    with pytest.raises(sotto.SottoError, match="does not support infill"):
        tiny.llm_infill(json.dumps({"model": "tiny", **gap}))


@pytest.mark.parametrize("text", WORDS)
def test_tokens_and_back(tiny: sotto.Engine, text: str) -> None:
    tokens = json.loads(tiny.tokenize(json.dumps({"model": "tiny", "content": text})))
    back = json.loads(tiny.detokenize(json.dumps({"model": "tiny", **tokens})))["content"]
    assert back.removeprefix(" ") == text.removeprefix(" ")
    pieces = json.loads(tiny.tokenize(json.dumps({"model": "tiny", "content": text, "with_pieces": True})))
    assert [piece["id"] for piece in pieces["tokens"]] == tokens["tokens"]
    assert all(isinstance(piece["piece"], str | list) for piece in pieces["tokens"])


def test_control_tokens_are_parsed_only_where_asked(tiny: sotto.Engine) -> None:
    def tokens(**more: Any) -> list[int]:
        request = {"model": "tiny", "content": "<|im_end|>", **more}
        return list(json.loads(tiny.tokenize(json.dumps(request)))["tokens"])

    assert len(tokens()) == 1 < len(tokens(parse_special=False))
    assert tokens(add_special=True)[0] == 1, "the beginning"
    with pytest.raises(
        sotto.ArgumentError, match=r"invalid tokens\[1\] '70000': expected a token of the model, 0 to"
    ):
        tiny.detokenize(json.dumps({"model": "tiny", "tokens": [1, 70000]}))


def turns(count: int) -> list[dict[str, str]]:
    """A system's words, and a conversation that ends with a question."""
    talk = [{"role": "system", "content": "gold"}]
    for number in range(count):
        talk += [
            {"role": "user", "content": f"the king {number} " + "night " * 10},
            {"role": "assistant", "content": "moon " * 10},
        ]
    return [*talk, {"role": "user", "content": "who"}]


def test_a_long_conversation_loses_its_oldest_turns(tiny: sotto.Engine) -> None:
    request = {"model": "tiny", "messages": turns(40), "max_tokens": 8, "temperature": 0}
    response = json.loads(tiny.llm_chat_completion(json.dumps(request)))
    dropped = response["timings"]["dropped_messages"]
    assert 0 < dropped < 80 and dropped % 2 == 0
    kept = [request["messages"][0], *request["messages"][1 + dropped :]]  # type: ignore[index]
    shorter = json.loads(tiny.llm_chat_completion(json.dumps({**request, "messages": kept})))
    assert shorter["choices"][0]["message"] == response["choices"][0]["message"]
    assert "dropped_messages" not in shorter["timings"]
    with pytest.raises(
        sotto.InferenceError, match=r"the prompt has .+ tokens, but the model's context holds"
    ):
        tiny.llm_chat_completion(json.dumps({**request, "context_overflow": "error"}))


@pytest.mark.parametrize("model", ["tiny", "window", "recurrent", "hybrid"])
def test_an_answer_outgrows_its_context_where_it_may(tiny: sotto.Engine, model: str) -> None:
    """Where a memory cannot be moved, what is kept is worked through again."""
    request = {
        "model": model,
        "prompt": "the king " * 20,
        "max_tokens": 700,
        "temperature": 1,
        "seed": 4,
        "ignore_eos": True,
    }
    ended = json.loads(tiny.llm_text_completion(json.dumps(request)))
    assert ended["choices"][0]["finish_reason"] == "length" and ended["usage"]["total_tokens"] < 520
    shifted = json.loads(tiny.llm_text_completion(json.dumps({**request, "context_overflow": "shift"})))
    assert shifted["usage"]["completion_tokens"] == 700
    assert shifted["choices"][0]["text"].startswith(ended["choices"][0]["text"][:100])
