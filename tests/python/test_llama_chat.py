"""`sotto.llama`: chats, JSON, tools and templates of `Llama`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sotto
from sotto.llama import ChunkStream, GenerationError, Llama, LlamaGrammar, SamplingParams, ValidationError
from sotto.llama.formats import TEMPLATES

HELLO = [{"role": "user", "content": "Hello"}]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get weather",
            "parameters": {
                "type": "object",
                "properties": {"location": {"enum": ["Tokyo"]}},
                "required": ["location"],
            },
        },
    }
]
GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)


@pytest.fixture(scope="module")
def house() -> Iterator[Llama]:
    with Llama("sotto/house", n_threads=1, sampling=GREEDY) as llm:
        yield llm


def ask(llm: Llama, messages: Any = HELLO, **fields: Any) -> dict[str, Any]:
    answer = llm.create_chat_completion(messages, **fields)
    assert isinstance(answer, dict)
    return answer


def content(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


def turns(llm: Llama) -> str:
    """What sequence 0 of a model holds, special tokens included."""
    return llm.detokenize(llm._sequences[0].ids, remove_special=False, unparse_special=True)


@pytest.mark.real
@pytest.mark.row("C-032", "C-034", "C-042", "C-043")
def test_a_chat_has_openai_s_shape(house: Llama) -> None:
    answer = ask(house, max_tokens=40)
    assert answer["object"] == "chat.completion" and answer["id"].startswith("chatcmpl-")
    assert answer["model"] == "house" and isinstance(answer["created"], int)
    (choice,) = answer["choices"]
    assert choice["message"]["role"] == "assistant" and choice["message"]["content"]
    assert choice["finish_reason"] == "stop" and choice["index"] == 0
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 10
    short = ask(house, max_tokens=3, temperature=0, model="npc")
    assert short["choices"][0]["finish_reason"] == "length" and short["model"] == "npc"
    assert short["usage"]["completion_tokens"] == 3
    assert content(ask(house, max_tokens=None)) == content(answer)
    seeds = {content(ask(house, max_tokens=8, temperature=2, top_p=1, seed=seed)) for seed in range(4)}
    assert len(seeds) > 1
    told = ask(house, max_tokens=2, logprobs=True, top_logprobs=2)["choices"][0]["logprobs"]["content"]
    assert [len(one["top_logprobs"]) for one in told] == [2, 2]


@pytest.mark.real
@pytest.mark.row("C-035")
def test_a_chat_is_streamed(house: Llama) -> None:
    stream = house.create_chat_completion(HELLO, 12, stream=True)
    assert isinstance(stream, ChunkStream)
    chunks = list(stream)
    assert {one["object"] for one in chunks} == {"chat.completion.chunk"} and len(chunks) > 4
    said = [one["choices"][0]["delta"].get("content", "") for one in chunks]
    whole = ask(house, max_tokens=12)
    assert "".join(said) == content(whole)
    reasons = [one["choices"][0]["finish_reason"] for one in chunks]
    assert reasons[-1] == whole["choices"][0]["finish_reason"] and set(reasons[:-1]) == {None}


@pytest.mark.real
@pytest.mark.row("C-036")
def test_stops_end_a_chat(house: Llama) -> None:
    whole = content(ask(house, max_tokens=12))
    word = whole.split(" ")[2]
    assert content(ask(house, stop=word)) == whole[: whole.index(word)]
    token = house.tokenize(f" {word}")[0]
    cut = ask(house, stop=[token])
    assert content(cut) == whole[: whole.index(f" {word}")] and cut["choices"][0]["finish_reason"] == "stop"
    assert cut["usage"]["prompt_tokens"] == ask(house, max_tokens=1)["usage"]["prompt_tokens"]
    chunks: Any = house.create_chat_completion(HELLO, stop=[token], stream=True)
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in chunks) == content(cut)


@pytest.mark.real
@pytest.mark.row("C-033")
def test_messages_are_rendered_by_the_template(house: Llama) -> None:
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    system = {"role": "system", "content": "You are Mara."}
    ask(house, [system, {"role": "user", "content": parts}], max_tokens=1)
    assert turns(house).startswith(
        "<|im_start|>system\nYou are Mara.<|im_end|>\n"
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )
    for wrong in ([], "Hello", ["Hello"], None, [{"role": "robot", "content": "a"}]):
        with pytest.raises(ValidationError, match="invalid messages"):
            ask(house, wrong)
    with pytest.raises(GenerationError, match="context holds 2048"):
        ask(house, [{"role": "user", "content": "a " * 3000}])


@pytest.mark.real
@pytest.mark.row("C-037", "C-045", "C-046")
def test_json_is_an_object_and_matches_its_schema(house: Llama, tiny_file: Path) -> None:
    said = [{"role": "user", "content": "Return JSON"}]
    with Llama(tiny_file, n_threads=1) as tiny:
        whole = 0
        for seed in range(50):
            llm = tiny if seed % 2 else house
            form = {"type": "json_object"}
            answer = ask(llm, said, max_tokens=400, response_format=form, seed=seed, temperature=1.0)
            if answer["choices"][0]["finish_reason"] == "stop":
                assert isinstance(json.loads(content(answer)), dict)
                whole += 1
        assert whole > 35
    for given in ({"type": "json_object", "schema": SCHEMA},):
        answer = ask(house, said, response_format=given)
        jsonschema.validate(json.loads(content(answer)), SCHEMA)
    grammar = LlamaGrammar.from_json_schema(SCHEMA)
    assert content(ask(house, said, grammar=grammar)) == content(answer)


@pytest.mark.real
@pytest.mark.row("C-149")
@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["red", "green"]},
        {"const": 3},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 3},
        {"oneOf": [{"const": "a"}, {"type": "integer", "minimum": 5, "maximum": 7}]},
        {"type": "string", "pattern": "^[a-c]{2,4}$"},
        {
            "$defs": {"leaf": {"type": "null"}},
            "type": "array",
            "items": {"$ref": "#/$defs/leaf"},
            "maxItems": 2,
        },
        {"type": "object", "properties": {"a": SCHEMA}, "required": ["a"], "additionalProperties": False},
    ],
)
def test_answers_match_their_schemas(house: Llama, schema: Any) -> None:
    if schema.get("type") == "object":
        schema = {**schema, "properties": {"a": {**SCHEMA, "properties": {"name": {"enum": ["x", "y"]}}}}}
    for seed in range(5):
        answer = ask(house, grammar=LlamaGrammar.from_json_schema(schema), seed=seed, temperature=1.5)
        jsonschema.validate(json.loads(content(answer)), schema)


@pytest.mark.real
@pytest.mark.row("C-149")
def test_what_a_schema_cannot_say_is_refused(house: Llama) -> None:
    for schema in ({"type": "string", "pattern": "(?<x"}, {"type": "nothing"}):
        with pytest.raises(ValidationError, match="invalid "):
            ask(house, grammar=LlamaGrammar.from_json_schema(schema))


@pytest.mark.real
@pytest.mark.row("C-038", "C-150")
def test_a_grammar_serves_two_models(house: Llama, tiny_file: Path) -> None:
    grammar = LlamaGrammar.from_string('root ::= "yes" | "no"')
    with Llama(tiny_file, n_threads=1) as tiny:
        assert {content(ask(one, grammar=grammar)) for one in (house, tiny)} <= {"yes", "no"}
    assert content(ask(house, grammar='root ::= "so"')) == "so"
    with pytest.raises(ValidationError, match="invalid grammar"):
        ask(house, grammar=3)


@pytest.mark.real
@pytest.mark.row("C-039", "C-040", "C-047")
def test_tools_are_called(house: Llama) -> None:
    said = [{"role": "user", "content": "Weather in Tokyo?"}]
    named = {"type": "function", "function": {"name": "get_weather"}}
    for choice in ("required", named):
        answer = ask(house, said, tools=TOOLS, tool_choice=choice)["choices"][0]
        assert answer["finish_reason"] == "tool_calls" and answer["message"]["content"] is None
        (call,) = answer["message"]["tool_calls"]
        assert call["function"]["name"] == "get_weather" and call["type"] == "function"
        assert json.loads(call["function"]["arguments"]) == {"location": "Tokyo"}
    assert "tool_calls" not in ask(house, said, tools=TOOLS, tool_choice="none")["choices"][0]["message"]
    assert ask(house, said, tools=TOOLS, tool_choice="auto")["choices"][0]["finish_reason"]
    streamed: Any = list(house.create_chat_completion(said, tools=TOOLS, tool_choice="required", stream=True))
    assert streamed[-1]["choices"][0]["finish_reason"] == "tool_calls"
    reply = house._conversation[-1]  # type: ignore[index]
    assert json.loads(reply["tool_calls"][0]["function"]["arguments"]) == {"location": "Tokyo"}
    with pytest.raises(ValidationError):
        ask(house, said, tools=TOOLS, tool_choice="perhaps")


@pytest.mark.real
@pytest.mark.row("C-041")
def test_a_chat_continues(house: Llama) -> None:
    more = [{"role": "user", "content": "Who are you?"}]
    first = ask(house, max_tokens=20)
    reply = first["choices"][0]["message"]
    house.perf_reset()
    second = ask(house, more, max_tokens=20, reset_kv_cache=False)
    assert house.perf()["n_p_eval"] < second["usage"]["prompt_tokens"] / 2
    told = ask(house, [*HELLO, reply, *more], max_tokens=20)
    assert content(told) == content(second) and told["usage"] == second["usage"]
    ask(house, max_tokens=20)
    again = ask(house, [*HELLO, reply, *more], max_tokens=20, reset_kv_cache=False)  # the history, repeated
    assert content(again) == content(second) and again["usage"] == second["usage"]


@pytest.mark.real
@pytest.mark.row("C-041", "C-085")
def test_a_chat_fills_sequence_0(house: Llama) -> None:
    answer = ask(house, max_tokens=20)
    assert turns(house) == f"<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n{content(answer)}"
    assert house.kv_cache_seq_pos_max() == answer["usage"]["total_tokens"] - 1
    house.perf_reset()
    house.generate(" And", 2, reset_kv_cache=False)
    assert house.perf()["n_p_eval"] <= 2
    with pytest.raises(ValidationError, match="sequence 0 holds a text"):
        ask(house, reset_kv_cache=False)


def test_unknown_keywords_are_refused(npc: sotto.Engine) -> None:
    with Llama("npc", engine=npc) as llm:
        assert content(ask(llm)) == "Hello"
        for wrong in ({"logits_processor": 1}, {"max_token": 1}, {"temperature": -1}, {"model": 3}):
            with pytest.raises(ValidationError, match="invalid "):
                ask(llm, **wrong)
        assert content(ask(llm, priority="foreground", target_tps=1000, tool_choice=None)) == "Hello"
    assert npc.model_is_loaded("npc")  # it is the host's


RENDERED = {
    "chatml": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
    "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
    "command-r": "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>S<|END_OF_TURN_TOKEN|>"
    "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>U<|END_OF_TURN_TOKEN|>"
    "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>A<|END_OF_TURN_TOKEN|>"
    "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>V<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "gemma": "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
    "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n",
    "glm4": "[gMASK]<sop><|system|>\nS<|user|>\nU<|assistant|>\nA<|user|>\nV<|assistant|>\n",
    "gpt-oss": "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
    "Knowledge cutoff: 2024-06\n\nReasoning: medium\n\n# Valid channels: analysis, commentary, final. "
    "Channel must be included for every message.<|end|><|start|>developer<|messa"
    "ge|># Instructions\n\nS<|end|>"
    "<|start|>user<|message|>U<|end|><|start|>assistant<|channel|>final<|message|>A<|end|>"
    "<|start|>user<|message|>V<|end|><|start|>assistant",
    "granite": "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n"
    "<|start_of_role|>user<|end_of_role|>U<|end_of_text|>\n"
    "<|start_of_role|>assistant<|end_of_role|>A<|end_of_text|>\n"
    "<|start_of_role|>user<|end_of_role|>V<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
    "llama-2": "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]",
    "llama-3": "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "mistral": "[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A</s>[INST]V[/INST]",
    "phi4": "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>U<|im_end|>"
    "<|im_start|>assistant<|im_sep|>A<|im_end|><|im_start|>user<|im_sep|>V<|im_end|>"
    "<|im_start|>assistant<|im_sep|>",
}


@pytest.mark.real
@pytest.mark.row("C-125", *(f"C-{row}" for row in range(179, 188)))
@pytest.mark.parametrize("name", list(TEMPLATES))
def test_templates_by_name_render_as_their_makers_do(tiny_file: Path, name: str) -> None:
    roles = (("system", "S"), ("user", "U"), ("assistant", "A"), ("user", "V"))
    said = [{"role": role, "content": text} for role, text in roles]
    with Llama(tiny_file, chat_format=name) as llm:
        body = {"model": llm.config.model_path, "messages": said}
        assert json.loads(llm._engine().apply_template(body))["prompt"] == RENDERED[name]
