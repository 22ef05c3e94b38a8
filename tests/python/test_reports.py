"""What responses of the house model report beside the answer: reasons, ids, probabilities, settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

import sotto

HOUSE = "sotto/house"


@pytest.fixture(scope="module")
def house() -> Iterator[sotto.Engine]:
    with sotto.Engine() as engine:
        engine.load_model(HOUSE)
        yield engine


def complete(engine: sotto.Engine, **fields: Any) -> dict[str, Any]:
    body = {"model": HOUSE, "prompt": "The price of a bed is", "temperature": 0, "max_tokens": 8, **fields}
    found: dict[str, Any] = json.loads(engine.llm_text_completion(body))
    return found


def streamed(engine: sotto.Engine, **fields: Any) -> list[dict[str, Any]]:
    body = {"model": HOUSE, "prompt": "The price of a bed is", "temperature": 0, "max_tokens": 8, **fields}
    return [json.loads(chunk) for chunk in engine.llm_text_completion_stream(body)]


def detokenized(engine: sotto.Engine, tokens: list[int]) -> str:
    text: str = json.loads(engine.detokenize({"model": HOUSE, "tokens": tokens}))["content"]
    return text


def test_the_ids_are_those_of_the_text(house: sotto.Engine) -> None:
    whole = complete(house, return_tokens=True, n_probs=1)
    choice = whole["choices"][0]
    assert len(choice["tokens"]) == whole["usage"]["completion_tokens"] == 8
    assert detokenized(house, choice["tokens"]).strip() == choice["text"].strip()
    assert [one["id"] for one in choice["completion_probabilities"]] == choice["tokens"]
    chunks = streamed(house, return_tokens=True)
    assert [one for chunk in chunks for one in chunk["choices"][0]["tokens"]] == choice["tokens"]


def test_the_tokens_of_a_stop_string_are_left_out(house: sotto.Engine) -> None:
    whole = complete(house)["choices"][0]["text"]
    word = whole.split()[-1]
    for choice in (
        complete(house, stop=[word], return_tokens=True)["choices"][0],
        {"tokens": [], **streamed(house, stop=[word])[-1]["choices"][0]},
    ):
        assert (choice["stop_type"], choice["stopping_word"]) == ("word", word)
        assert word not in detokenized(house, choice["tokens"])


def test_an_answer_that_ends_by_itself_or_by_its_limit_says_so(house: sotto.Engine) -> None:
    answer = house.chat("Who are you?", model=HOUSE, temperature=0, max_tokens=100)
    assert answer.raw["choices"][0]["stop_type"] == "eos"
    assert complete(house)["choices"][0]["stop_type"] == "limit"
    assert complete(house)["truncated"] is False


def test_a_full_context_truncates() -> None:
    with sotto.Engine() as engine:
        engine.load_model(HOUSE, options={"context": 64})
        whole = complete(engine, max_tokens=200, ignore_eos=True)
        assert whole["truncated"] is True and whole["choices"][0]["stop_type"] == "limit"
        cut = complete(engine, prompt="word " * 200, max_tokens=2, context_overflow="truncate")
        assert cut["truncated"] is True


def test_rates_follow_from_their_times(house: sotto.Engine) -> None:
    timings = complete(house, cache_prompt=False)["timings"]
    for name in ("prompt", "predicted"):
        count, ms = timings[f"{name}_n"], timings[f"{name}_ms"]
        count -= name == "predicted"  # the first token comes from prefill
        assert count > 0 and ms > 0
        assert timings[f"{name}_per_token_ms"] == pytest.approx(ms / count)
        assert timings[f"{name}_per_second"] == pytest.approx(1000 * count / ms)
    assert "draft_n" not in timings


def test_speculation_reports_its_drafts() -> None:
    with sotto.Engine() as engine:
        engine.load_model(HOUSE, options={"speculative": "lookup"})
        prompt = "one two three four five six " * 8
        timings = complete(engine, prompt=prompt, max_tokens=64, ignore_eos=True)["timings"]
        assert 0 < timings["draft_n_accepted"] <= timings["draft_n"]


def test_probabilities_after_sampling_add_up(house: sotto.Engine) -> None:
    wanted = {"return_tokens": True, "post_sampling_probs": True, "n_probs": 20}
    few = complete(house, **wanted, temperature=1, top_k=3, seed=1)["choices"][0]
    for entry in few["completion_probabilities"]:
        assert 1 <= len(entry["top_probs"]) <= 3
        assert sum(one["prob"] for one in entry["top_probs"]) == pytest.approx(1, abs=1e-3)
        assert entry["prob"] in [one["prob"] for one in entry["top_probs"]]
    assert few["logprobs"]["token_logprobs"][0] == pytest.approx(
        math.log(few["completion_probabilities"][0]["prob"])
    )
    greedy = complete(house, **wanted)["choices"][0]["completion_probabilities"]
    assert all(entry["prob"] == 1 and len(entry["top_probs"]) == 1 for entry in greedy)


def test_the_settings_are_the_values_in_effect(house: sotto.Engine) -> None:
    fields = {"temperature": 0.7, "top_k": 5, "seed": 42, "stop": ["."], "samplers": ["top_k", "temperature"]}
    settings = complete(house, **fields, return_settings=True)["generation_settings"]
    assert {name: settings[name] for name in fields} == fields
    assert (settings["max_tokens"], settings["top_p"], settings["repeat_last_n"]) == (8, 1, 64)
    assert isinstance(complete(house, return_settings=True)["generation_settings"]["seed"], int)
    assert "generation_settings" not in complete(house)
    last = streamed(house, return_settings=True)[-1]
    assert last["generation_settings"]["n_predict"] == 8 and last["system_fingerprint"].startswith("b")
