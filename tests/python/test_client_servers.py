"""`sotto.client` on llama-server and on `sotto serve --as llama-server`: health, chats, completions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from client_servers import HOUSE, PIRATE, SERVERS, running
from sotto.client import ApiError, LlamaCppClient, StopType

pytestmark = pytest.mark.real
HELLO = [{"role": "user", "content": "Who are you?"}]
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": "An act.", "parameters": NAME},
    }
    for name in ("greet", "leave")
]
SAMPLING = {  # values that are no defaults
    "temperature": 0.4,
    "top_k": 10,
    "top_p": 0.8,
    "min_p": 0.1,
    "repeat_penalty": 1.2,
    "repeat_last_n": 16,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "mirostat": 2,
    "mirostat_tau": 3.0,
    "mirostat_eta": 0.2,
    "dry_multiplier": 0.8,
    "dry_base": 2.0,
    "dry_allowed_length": 3,
    "dry_penalty_last_n": 32,
    "xtc_probability": 0.5,
    "xtc_threshold": 0.2,
    "dynatemp_range": 0.3,
    "dynatemp_exponent": 1.5,
    "typical_p": 0.9,
}


@pytest.fixture(scope="module", params=SERVERS)
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaCppClient]:
    """A client of a server with the house model, three slots and every optional endpoint."""
    folder = tmp_path_factory.mktemp("server")
    options = ["-c", 6144, "-np", 3, "--metrics", "--props", "--slots", "--slot-save-path", folder, "--jinja"]
    options += ["--lora", PIRATE, "--lora-init-without-apply"]
    with running(request.param, HOUSE, *options, log=folder / "log") as one:
        yield one


def chat(client: LlamaCppClient, **fields: Any) -> Any:
    """Returns the answer of a chat that is the same every time."""
    return client.chat.completions.create(
        **{"messages": HELLO, "temperature": 0.0, "max_tokens": 12, **fields}
    )


def complete(client: LlamaCppClient, prompt: Any = "The innkeeper said", **fields: Any) -> Any:
    """Returns a completion that is the same every time."""
    return client.complete(prompt, **{"n_predict": 8, "temperature": 0.0, "seed": 1, **fields})


@pytest.mark.row("B-019", "B-020", "B-021", "B-022", "B-208", "B-209", "B-210")
def test_health(client: LlamaCppClient) -> None:
    state = client.health()
    assert state.status == "ok"
    if state.slots_idle is not None:
        assert state.slots_idle + (state.slots_processing or 0) == client.props()["total_slots"]
    assert client.is_ready() and client.wait_until_ready(5)


@pytest.mark.row("B-025", "B-026", "B-027", "B-028", "B-029", "B-030", "B-031")
def test_props(client: LlamaCppClient) -> None:
    props = client.props()
    assert isinstance(props["default_generation_settings"], dict)
    assert props["total_slots"] == len(client.slots.list()) == 3
    assert props["model_path"].endswith("house.gguf")
    assert "<|im_start|>" in props["chat_template"]
    assert props["modalities"]["vision"] is False
    assert props["is_sleeping"] is False
    assert isinstance(client.set_props(), dict)


@pytest.mark.row("B-033", "B-034")
def test_metrics(client: LlamaCppClient) -> None:
    def read() -> dict[str, float]:
        lines = [line for line in client.metrics().splitlines() if line and not line.startswith("#")]
        return {line.split()[0]: float(line.split()[1]) for line in lines}

    before = read()
    complete(client, "A new prompt for the counters", n_predict=5, ignore_eos=True)
    after = read()
    for name in ("prompt_tokens_total", "tokens_predicted_total", "requests_processing", "requests_deferred"):
        assert f"llamacpp:{name}" in after
        assert f"# TYPE llamacpp:{name}" in client.metrics()
    grown = after["llamacpp:tokens_predicted_total"] - before["llamacpp:tokens_predicted_total"]
    assert grown == 5
    assert after["llamacpp:prompt_tokens_total"] > before["llamacpp:prompt_tokens_total"]


@pytest.mark.row("B-040", "B-041", "B-156", "B-157", "B-158", "B-159", "B-161", "B-162", "B-163", "B-168")
@pytest.mark.row("B-170", "B-171", "B-175", "B-176", "B-177")
def test_a_chat(client: LlamaCppClient) -> None:
    answer = chat(client)
    assert answer.id and answer.object == "chat.completion" and abs(answer.created - time.time()) < 5
    assert isinstance(answer.model, str) and isinstance(answer.system_fingerprint, str)
    choice = answer.choices[0]
    assert (choice.index, choice.message.role) == (0, "assistant") and choice.message.content
    assert choice.finish_reason in ("stop", "length")
    usage = answer.usage
    assert usage.prompt_tokens > 0 and 0 < usage.completion_tokens <= 12
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    short = chat(client, max_tokens=1)
    assert (short.choices[0].finish_reason, short.usage.completion_tokens) == ("length", 1)


@pytest.mark.row("B-162", "B-178", "B-179", "B-180", "B-181", "B-182", "B-183", "B-184", "B-185", "B-186")
@pytest.mark.row("B-187", "B-086")
def test_timings(client: LlamaCppClient) -> None:
    prompt = "Once, long before the mill was built, the river ran dry, and"
    first = complete(client, prompt, id_slot=0)
    timings = first.timings
    assert timings.predicted_n == first.usage.completion_tokens > 0
    assert timings.prompt_n + timings.cache_n == first.usage.prompt_tokens
    for part in ("prompt", "predicted"):
        count, ms = (getattr(timings, f"{part}_{unit}") for unit in ("n", "ms"))
        each = ms / (count - (part == "predicted"))  # the first token comes from prefill
        assert getattr(timings, f"{part}_per_token_ms") == pytest.approx(each, rel=1e-2)
        assert getattr(timings, f"{part}_per_second") == pytest.approx(1e3 / each, rel=1e-2)
    again = complete(client, prompt, id_slot=0)
    assert again.timings.cache_n > 0
    assert again.choices[0].text == first.choices[0].text
    fresh = complete(client, prompt, id_slot=0, cache_prompt=False)
    assert fresh.timings.cache_n == 0
    assert fresh.choices[0].text == first.choices[0].text


@pytest.mark.row("B-039", "B-042", "B-044", "B-050", "B-054", "B-160", "B-165")
def test_chats_with_options(client: LlamaCppClient) -> None:
    assert chat(client).choices[0].message.content == chat(client, user="u").choices[0].message.content
    several = chat(client, n=3, temperature=1.0, seed=5)
    assert [one.index for one in several.choices] == [0, 1, 2]
    seeded = [chat(client, temperature=1.0, seed=7).choices[0].message.content for _ in range(2)]
    assert seeded[0] == seeded[1]
    try:
        assert chat(client, messages=[]).choices  # llama-server answers the empty prompt
    except ApiError as error:
        assert error.status == 400


@pytest.mark.row("B-046", "B-049", "B-058", "B-043", "B-047", "B-048", "B-055", "B-056", "B-057", "B-059")
@pytest.mark.row("B-060", "B-061")
def test_chats_with_limits(client: LlamaCppClient) -> None:
    whole = chat(client).choices[0].message.content
    word = whole.split()[2]
    for stop in (word, [word]):
        cut = chat(client, stop=stop)
        assert word not in cut.choices[0].message.content
        assert cut.choices[0].finish_reason == "stop"
    token = client.tokenize(" gold").tokens[0]
    forced = chat(client, logit_bias={str(token): 100.0}, max_tokens=3, repeat_penalty=1.0)
    assert forced.choices[0].message.content.count("gold") == 3
    held = chat(client, grammar='root ::= "yes" | "no"')
    assert held.choices[0].message.content in ("yes", "no")
    for name in ("top_p", "min_p", "presence_penalty", "mirostat", "mirostat_tau", "mirostat_eta", "top_k"):
        assert chat(client, **{name: SAMPLING[name]}).choices


def test_an_invalid_grammar_is_refused(client: LlamaCppClient) -> None:
    with pytest.raises(ApiError) as caught:
        chat(client, grammar="root ::= (")
    assert caught.value.status == 400 and caught.value.message


@pytest.mark.row("B-051", "B-065", "B-082")
def test_schemas(client: LlamaCppClient) -> None:
    schema = {
        "type": "object",
        "properties": {"colors": {"type": "array", "maxItems": 2, "items": {"enum": ["r"]}}},
    }
    schema["required"] = ["colors"]
    form = {"type": "json_schema", "json_schema": {"name": "colors", "schema": schema}}
    answer = chat(client, response_format=form, max_tokens=60)
    assert all(isinstance(one, str) for one in json.loads(answer.choices[0].message.content)["colors"])
    text = complete(client, json_schema=schema, n_predict=60).choices[0].text
    assert set(json.loads(text)) == {"colors"}
    assert complete(client, grammar='root ::= "yes" | "no"').choices[0].text in ("yes", "no")


@pytest.mark.row("B-052", "B-053", "B-172")
def test_tools(client: LlamaCppClient) -> None:
    forced = chat(client, tools=TOOLS, tool_choice="required", max_tokens=80)
    choice = forced.choices[0]
    assert choice.finish_reason in ("tool_calls", "length")
    call = choice.message.tool_calls[0]
    assert call["type"] == "function" and call["function"]["name"] in ("greet", "leave")
    assert isinstance(call["function"]["arguments"], str)
    free = chat(client, tools=TOOLS, tool_choice="none")
    assert free.choices[0].message.tool_calls is None


@pytest.mark.row("B-045", "B-063", "B-064", "B-066")
def test_a_stream_is_the_answer_in_parts(client: LlamaCppClient) -> None:
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    parts = [chunk.get("choices", [{}]) or [{}] for chunk in chunks]
    text = "".join(part[0].get("delta", {}).get("content") or "" for part in parts)
    assert text == chat(client).choices[0].message.content
    assert chunks[-1]["usage"]["completion_tokens"] > 0


@pytest.mark.row("B-068", "B-069", "B-101", "B-103")
def test_prompts(client: LlamaCppClient) -> None:
    text = "The king rides"
    tokens = client.tokenize(text).tokens
    answers = [complete(client, prompt) for prompt in (text, tokens)]
    assert answers[0].choices[0].text == answers[1].choices[0].text
    assert answers[0].usage.prompt_tokens == answers[1].usage.prompt_tokens == len(tokens)
    mixed = complete(client, [tokens[0], "a", tokens[1]])
    assert mixed.usage.prompt_tokens == 2 + len(client.tokenize("a").tokens)
    assert answers[0].object == "text_completion" and answers[0].choices[0].message is None
    assert complete(client, n_predict=5, ignore_eos=True).usage.completion_tokens == 5
    assert complete(client, n_predict=0).usage.completion_tokens <= 1
    assert client.simple_completion(text, n_predict=4, temperature=0.0) in answers[0].choices[0].text


@pytest.mark.row("B-083", "B-100")
def test_seeds(client: LlamaCppClient) -> None:
    texts = [complete(client, temperature=1.5, seed=seed, n_predict=16).choices[0].text for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    random = {complete(client, temperature=1.5, seed=-1, n_predict=16).choices[0].text for _ in range(4)}
    assert len(random) > 1


@pytest.mark.row("B-084", "B-102", "B-222", "B-224", "B-225", "B-226")
def test_stop_types(client: LlamaCppClient) -> None:
    limit = complete(client, ignore_eos=True).choices[0]
    assert (limit.stop_type, limit.finish_reason) == (StopType.LIMIT, "length")
    word = limit.text.split()[1]
    stopped = complete(client, stop=[word]).choices[0]
    assert (stopped.stop_type, stopped.stopping_word, stopped.finish_reason) == (StopType.WORD, word, "stop")
    assert word not in stopped.text
    ended = complete(client, grammar='root ::= "yes"').choices[0]
    assert (ended.stop_type, ended.finish_reason) == (StopType.EOS, "stop")


@pytest.mark.row("B-085", "B-099", "B-223")
def test_native_streams(client: LlamaCppClient) -> None:
    chunks = list(complete(client, stream=True, return_tokens=True))
    assert "".join(chunk["content"] for chunk in chunks) == complete(client).choices[0].text
    tokens = [token for chunk in chunks for token in chunk.get("tokens", [])]
    assert [chunk["stop"] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    whole = complete(client, return_tokens=True).choices[0]
    assert tokens == whole.tokens and client.detokenize(whole.tokens) == whole.text


@pytest.mark.row("B-087")
def test_probabilities(client: LlamaCppClient) -> None:
    found = complete(client, n_probs=3, n_predict=4, ignore_eos=True).choices[0].logprobs
    assert len(found) == 4
    for token in found:
        assert {"id", "token", "bytes", "logprob", "top_logprobs"} <= set(token)
        assert len(token["top_logprobs"]) == 3
    drawn = complete(
        client, n_probs=3, n_predict=4, post_sampling_probs=True, temperature=1.0, ignore_eos=True
    )
    for token in drawn.choices[0].logprobs:
        assert sum(one["prob"] for one in token["top_probs"]) <= 1.001


@pytest.mark.row("B-070", "B-071", "B-072", "B-073", "B-074", "B-075", "B-076", "B-077", "B-078", "B-079")
@pytest.mark.row("B-080", "B-081", "B-089", "B-090", "B-091", "B-092", "B-093", "B-094", "B-095", "B-096")
@pytest.mark.row("B-097")
@pytest.mark.parametrize("name", SAMPLING)
def test_sampling_parameters_are_accepted(client: LlamaCppClient, name: str) -> None:
    answer = complete(client, **{"temperature": 0.8, name: SAMPLING[name]})
    assert answer.choices[0].text
    settings = answer.raw["generation_settings"]
    assert settings[name] == pytest.approx(SAMPLING[name])


@pytest.mark.row("B-088")
def test_samplers_are_in_the_given_order(client: LlamaCppClient) -> None:
    answer = complete(client, samplers=["top_k", "temperature"])
    assert answer.raw["generation_settings"]["samplers"] == ["top_k", "temperature"]


@pytest.mark.row("B-098")
def test_slots_are_chosen(client: LlamaCppClient) -> None:
    for slot in (1, 0):
        assert complete(client, id_slot=slot).raw["id_slot"] == slot


@pytest.mark.row("B-011", "B-213")
def test_a_closed_stream_frees_its_slot(client: LlamaCppClient) -> None:
    chunks: Any = client.complete("Tell all.", n_predict=2000, stream=True, ignore_eos=True)
    assert next(chunks) and next(chunks)
    assert any(slot.is_processing for slot in client.slots.list())
    chunks.close()
    end = time.monotonic() + 2
    while any(slot.is_processing for slot in client.slots.list()):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.row("B-115", "B-116", "B-117", "B-118", "B-119", "B-120", "B-121", "B-122", "B-206")
def test_tokens(client: LlamaCppClient) -> None:
    for text in ("", "Hello, world!", "Grüße an den Drachen 🐉", "a\n\tb  c"):
        tokens = client.tokenize(text).tokens
        assert client.detokenize(tokens) == text
        assert all(isinstance(token, int) for token in tokens)
    assert client.tokenize("").tokens == []
    assert len(client.tokenize("<|im_end|>").tokens) == 1
    assert len(client.tokenize("<|im_end|>", parse_special=False).tokens) > 1
    pieces = client.tokenize("Hello 🐉", with_pieces=True).tokens
    assert all(set(one) == {"id", "piece"} for one in pieces)
    assert any(isinstance(one["piece"], list) for one in pieces)  # a part of a character
    assert client.tokenize("a", add_special=True).tokens  # the house model has no BOS


@pytest.mark.row("B-150", "B-153", "B-154")
def test_models_and_templates(client: LlamaCppClient) -> None:
    assert len(client.models.list()) == 1 and client.models.list()[0].object == "model"
    prompt = client.apply_template(HELLO)
    assert prompt.endswith("<|im_start|>assistant\n") and "Who are you?" in prompt
