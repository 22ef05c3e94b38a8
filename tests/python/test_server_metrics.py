"""`/metrics`: names and figures of llama-server, of inference gateways, and of Sotto."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("prometheus_client", reason="needs the extra 'server'")
pytest.importorskip("uvicorn", reason="needs the extra 'server'")

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

import serving
import sotto
from asking_app import ask
from conftest import SCRIPTED
from sotto import aio
from sotto.server import Settings, app, figures
from sotto.server.outcomes import Outcome

SAID = {"messages": [{"role": "user", "content": 'say "usage":{"prompt_tokens":7} "model":"x"'}]}


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    with serving.served() as running:
        yield running


def scrape(server: serving.Served) -> dict[str, float]:
    """Values by name, with labels where a metric has them. The parser ends names of counters with _total."""
    status, headers, text = server.ask("/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4")
    assert int(headers["process-start-time-unix"]) > 0
    return values(text_string_to_metric_families(text))


def values(families: Iterator[Metric]) -> dict[str, float]:
    return {
        sample.name + "".join(f",{value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_figures_of_llama_server_match_the_answers(server: serving.Served) -> None:
    before, timings = scrape(server), []
    for stream in (False, True):
        asked = {**SAID, "max_tokens": 9, "ignore_eos": True}
        if stream:
            timings.append(json.loads(server.events("/v1/chat/completions", asked)[-2])["timings"])
        else:
            timings.append(server.ask("/v1/chat/completions", asked)[2]["timings"])
    after = scrape(server)

    def rise(name: str) -> float:
        return after[f"llamacpp:{name}"] - before[f"llamacpp:{name}"]

    for name, member in (
        ("prompt_tokens_total", "prompt_n"),
        ("prompt_tokens_cached_total", "cache_n"),
        ("tokens_predicted_total", "predicted_n"),
    ):
        assert rise(name) == sum(told[member] for told in timings), name
    for name, member in (
        ("prompt_seconds_total", "prompt_ms"),
        ("tokens_predicted_seconds_total", "predicted_ms"),
    ):
        assert rise(name) == pytest.approx(sum(told[member] for told in timings) / 1000, rel=0.01), name
    assert rise("n_decode_total") >= 9
    assert after["llamacpp:n_tokens_max_total"] >= timings[0]["prompt_n"] + timings[0]["predicted_n"]
    decoding = sum(told["predicted_ms"] for told in timings) / 1000
    assert after["llamacpp:predicted_tokens_seconds"] == pytest.approx(16 / decoding, rel=0.01)
    assert after["llamacpp:prompt_tokens_seconds"] > 0
    again = scrape(server)
    assert again["llamacpp:predicted_tokens_seconds"] == 0 == again["llamacpp:prompt_tokens_seconds"]
    assert again["llamacpp:requests_processing"] == 0 == again["llamacpp:requests_deferred"]


def test_names_and_types_are_those_of_llama_server(server: serving.Served) -> None:
    text = server.ask("/metrics")[2]
    assert "# TYPE llamacpp:n_tokens_max counter\n" in text
    assert "# TYPE llamacpp:prompt_tokens_total counter\n" in text
    assert "# TYPE llamacpp:requests_processing gauge\n" in text


def test_figures_of_ours(server: serving.Served) -> None:
    before = scrape(server)
    assert server.ask("/v1/chat/completions", {**SAID, "max_tokens": 3})[0] == 200
    assert server.ask("/v1/chat/completions", {"messages": 1})[0] == 400
    assert server.ask("/nowhere/" + "x" * 500)[0] == 404
    after = scrape(server)
    first = "sotto_time_to_first_token_seconds_count,sotto/house"
    assert after[first] == before.get(first, 0) + 1
    chat = "sotto_http_requests_total,POST,/v1/chat/completions,"
    assert after[chat + "200"] == before.get(chat + "200", 0) + 1
    assert after[chat + "400"] == before.get(chat + "400", 0) + 1
    assert after["sotto_http_requests_total,GET,none,404"] == 1
    assert after["sotto_http_requests_total,GET,/metrics,200"] >= 1
    assert after["sotto_bytes,weights"] > 1e6 and after["sotto_budget_bytes"] == 0
    assert after["sotto_frames_total"] == 0 == after["sotto_frames_missed_total"]
    assert after["sotto_mode,prioritize_compute"] == 1


def test_what_inference_gateways_read(open_engine: Callable[..., sotto.Engine]) -> None:
    engine = open_engine()
    script = {"tokens": [" on"], "loop": True, "streams": 2, "adapters": True, "token_ms": 5}
    engine.load_model("npc", options=script)
    engine.lora_load("npc", "a.gguf", name="pirate")
    engine.lora_load("npc", "b.gguf", name="angry")
    asked = {"model": "npc", "messages": [{"role": "user", "content": "go"}], "max_tokens": 100_000}
    streams = [engine.llm_chat_completion_stream(asked) for _ in range(3)]
    for stream in streams[:2]:
        next(stream)
    models = json.loads(engine.model_list())
    told = values(figures.gateway(engine.stats(), engine.memory(), models))
    assert told["vllm:num_requests_running"] == 2 and told["vllm:num_requests_waiting"] == 1
    assert told["vllm:kv_cache_usage_perc"] == 1 == told["vllm:gpu_cache_usage_perc"]
    assert told["vllm:lora_requests_info,2,angry,pirate,"] > 1.6e9  # labels by name, and the time in seconds
    for stream in streams:
        stream.close()


def test_no_text_of_an_answer_is_read_as_a_figure() -> None:
    evil = json.dumps('{"finish_reason":"stop","usage":{"prompt_tokens":1},"timings":{"prompt_n":1}}')
    outcome = Outcome("chat")
    outcome.read(
        f'{{"model":"real","choices":[{{"message":{{"content":{evil}}},"finish_reason":"length"}}]}}'
    )
    assert (outcome.model, outcome.finishes) == ("real", ("length",))
    assert outcome.prompt_tokens is None and outcome.prefill_s is None


def test_the_name_of_an_adapter_stands_for_its_model() -> None:
    async def test() -> None:
        async with aio.Engine(module_dir=SCRIPTED) as engine:
            await engine.load_model("npc", options={"adapters": True})
            await engine.lora_load("npc", "a.gguf", name="pirate")
            served = app(engine, Settings(hosts=("*",)))
            for model, named in (("pirate", "a.gguf"), ("npc", "hello"), ("other", "hello")):
                asked = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
                status, told = await ask(served, "/v1/chat/completions", asked)
                assert status == 200 and named in json.loads(told)["choices"][0]["message"]["content"]
                assert ("a.gguf" in told) is (model == "pirate")
                assert json.loads(told)["model"] == "npc"

    asyncio.run(test())


def test_a_server_without_metrics_says_so() -> None:
    async def status() -> int:
        async with aio.Engine(module_dir=SCRIPTED) as engine:
            return (await ask(app(engine, Settings(hosts=("*",), metrics=False)), "/metrics"))[0]

    assert asyncio.run(status()) == 501
