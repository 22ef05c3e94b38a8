"""`sotto serve --as llama-server`: its flags, and how the server differs from `sotto serve` then."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import tomllib

import serving
from sotto.errors import ArgumentError
from sotto.server.llama import fields
from sotto.server.llama.config import Config, config
from sotto.server.llama.flags import IGNORED, REFUSED, SWITCHES, VALUES, parse
from test_server_llama import house

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = [{"role": "user", "content": "Hello"}]
CHAT = {"messages": MESSAGES, "temperature": 0}


def made(*arguments: str, **environment: str) -> Config:
    return config(parse(arguments, environment))


def test_no_flag_has_two_meanings() -> None:
    names = [name for flag in VALUES for name in flag.names.split()]
    every = [*names, *SWITCHES, *IGNORED, *REFUSED]
    assert len(every) == len(set(every))


def test_fields_are_those_of_the_engine() -> None:
    table = tomllib.loads((ROOT / "native" / "request" / "fields.toml").read_text())
    known = {field["name"] for field in table["fields"]}
    assert {*fields.SAMPLING, *fields.COMPLETION, *fields.CHAT} <= known


def test_a_context_is_divided_among_slots() -> None:
    model = made(
        "-m", "a.gguf", "-c", "4096", "-np", "4", "-b", "2", "-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0"
    )
    assert model.models[0].id == "a.gguf" and dict(model.models[0].options) == {
        "context": 1024, "parallel": 4, "batch": 16, "flash_attention": "on", "kv_type": "q8_0",
    }  # fmt: skip
    unified = made("-m", "a.gguf", "-c", "4096", "-np", "4", "--kv-unified")
    assert unified.models[0].options["context"] == 4096


@pytest.mark.parametrize(
    ("arguments", "options", "threads"),
    [
        ("--mlock --check-tensors", {"mlock": True, "check_tensors": True}, 0),
        ("--no-kv-offload", {"offload_kqv": False}, 0),
        ("-nkvo -kvo", {}, 0),
        ("--load-mode mlock", {"mmap": False, "mlock": True}, 0),
        ("--load-mode mmap+mlock", {"mlock": True}, 0),
        ("-ub 64", {"ubatch": 64}, 0),
        ("-ub 1024", {"batch": 1024, "ubatch": 1024}, 0),
        ("-b 128 -ub 512", {"batch": 128, "ubatch": 128}, 0),
        ("-ub 64 --embeddings", {}, 0),
        ("-ub 64 --mmproj p.gguf", {"projector": "p.gguf"}, 0),
        ("-t 2", {}, 2),
        ("-t 2 -tb 4", {"threads": 2, "threads_batch": 4}, 4),
        ("-t 4 -tb 2", {"threads": 4, "threads_batch": 2}, 4),
        ("-tb 3", {"threads_batch": 3}, 0),
        ("-t 3 -tb -1", {}, 3),
        ("--rope-freq-base 20000 --rope-freq-scale 0.5", {"rope_freq_base": 2e4, "rope_freq_scale": 0.5}, 0),
        ("--rope-freq-base 0 --rope-freq-scale 0", {}, 0),
        ("--rope-scale 4", {"rope_freq_scale": 0.25}, 0),
        ("-md d.gguf --draft-max 8", {"draft": "d.gguf", "draft_max": 8}, 0),
        ("-md d.gguf --spec-draft-n-max 64", {"draft": "d.gguf", "draft_max": 15}, 0),
        ("-md d.gguf --draft 0", {}, 0),
        ("--spec-type ngram-mod --draft-max 4", {"speculative": "lookup", "draft_max": 4}, 0),
        ("--draft-max 4", {}, 0),
    ],
)  # fmt: skip
def test_flags_of_tuning_become_load_options(arguments: str, options: dict[str, Any], threads: int) -> None:
    one = made("-m", "a.gguf", *arguments.split())
    assert dict(one.models[0].options) == options and one.engine["threads"] == threads


def test_flags_of_tuning_are_read_from_the_environment() -> None:
    given = {"LLAMA_ARG_UBATCH": "64", "LLAMA_ARG_KV_OFFLOAD": "0", "LLAMA_ARG_ROPE_FREQ_BASE": "20000"}
    assert dict(made("-m", "a.gguf", **given).models[0].options) == {
        "ubatch": 64, "offload_kqv": False, "rope_freq_base": 2e4,
    }  # fmt: skip


def test_flags_take_precedence_over_the_environment() -> None:
    given = {
        "LLAMA_ARG_CTX_SIZE": "1024",
        "LLAMA_ARG_PORT": "81",
        "LLAMA_ARG_METRICS": "1",
        "LLAMA_API_KEY": "k",
    }
    one = made("-m", "a.gguf", "--port", "82", "--temp=0.5", "--seed", "7", "--alias", "b,a", **given)
    assert one.addresses[0].port == 82 and one.models[0].options["context"] == 1024
    assert one.settings.metrics and one.settings.keys == ("k",)
    assert one.setup.defaults["temperature"] == 0.5 and one.setup.defaults["seed"] == 7
    assert one.models[0].id == "a" and one.setup.aliases == ("a", "b")


def test_hosts_and_adapters_are_lists() -> None:
    one = made("--host", "127.0.0.1,::1,x.sock", "--lora", "a,b", "--lora-scaled", "c:0.5")
    assert [address.text(1) for address in one.addresses][1] == "http://[::1]:1"
    assert one.addresses[2].uds == Path("x.sock") and not one.models
    assert [(adapter.path, adapter.scale) for adapter in one.adapters] == [("a", 1), ("b", 1), ("c", 0.5)]
    assert all(not one.scale for one in made("--lora", "a", "--lora-init-without-apply").adapters)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--tmp", "1"], "did you mean '--temp'"),
        (["-m"], "missing value of '-m'"),
        (["-c", "many"], "invalid -c 'many'"),
        (["--mcp-servers-json", "{}"], "no counterpart"),
        (["--model-url", "x"], "no counterpart"),
        (["model.gguf"], "unexpected argument"),
        (["--flash-attn", "maybe"], "--flash-attn"),
        (["-ctk", "q4_0"], "-ctk"),
        (["-ctk", "q8_0"], "-ctk"),
        (["-np", "65"], "--parallel"),
        (["--port", "70000"], "--port"),
        (["--gpu-layers", "most"], "--gpu-layers"),
        (["--chat-template", "llama2"], "--chat-template-file"),
        (["--chat-template-file", "/no/such"], "--chat-template-file"),
        (["--json-schema", "[]"], "--json-schema"),
        (["--lora-scaled", "x"], "--lora-scaled"),
        (["--ssl-key-file", "x"], "--ssl-cert-file"),
        (["--slot-save-path", "/no/such"], "--slot-save-path"),
        (["--media-path", "/no/such"], "--media-path"),
        (["--reasoning", "perhaps"], "--reasoning"),
        (["--reasoning-format", "x"], "--reasoning-format"),
        (["--load-mode", "tape"], "--load-mode"),
        (["--rope-freq-base", "0.5"], "--rope-freq-base"),
        (["--rope-freq-base", "nan"], "--rope-freq-base"),
        (["--rope-freq-scale", "-1"], "--rope-freq-scale"),
        (["--rope-scale", "0"], "--rope-scale"),
        (["--yarn-orig-ctx", "4096"], "--rope-freq-base"),
        (["-ub", "x"], "invalid -ub 'x'"),
    ],
)
def test_bad_flags_are_named(arguments: list[str], named: str) -> None:
    with pytest.raises(ArgumentError, match=named.replace("(", "\\(")):
        made("-m", "a.gguf", *arguments)


def test_it_answers_as_llama_server_does() -> None:
    arguments = [
        *("--as", "llama-server", "-m", house(), "-a", "tiny", "-c", "512", "-np", "2", "-n", "5"),
        *("--mlock", "--check-tensors", "-ub", "64", "-t", "2", "-tb", "1", "--no-kv-offload"),
        *("--rope-freq-base", "10000", "--rope-freq-scale", "1", "--draft-max", "4"),
        *("--port", "0", "--no-slots", "--chat-template", "chatml", "--api-key", "secret"),
        *("--sleep-idle-seconds", "1"),
    ]
    key = {"Authorization": "Bearer secret"}
    with serving.served(*arguments, model="") as server:
        models = server.ask("/models", **key)[2]
        assert [model["id"] for model in models["data"]] == ["tiny"]
        assert [model["name"] for model in models["models"]] == ["tiny"]
        assert server.ask("/models")[0] == 401 and server.ask("/health")[0] == 200
        assert server.ask("/slots", **key)[0] == 501
        status, headers, _ = server.ask("/completion", None, "OPTIONS", Origin="http://a.example")
        assert status == 200 and headers["Access-Control-Allow-Origin"] == "http://a.example"
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        seen = {"messages": [{"role": "user", "content": [image]}]}
        assert server.ask("/v1/chat/completions", seen, **key)[0] == 500

        chunks = [json.loads(one) for one in server.events("/v1/chat/completions", CHAT, **key)[:-1]]
        assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
        assert all(chunk["system_fingerprint"].startswith("b") for chunk in chunks)
        assert chunks[-1]["choices"][0]["finish_reason"] == "length" and "timings" in chunks[-1]
        wanted = {"prompt": "Hello there", "n_predict": 3, "return_progress": True, "timings_per_token": True}
        parts = [json.loads(one) for one in server.events("/completion", wanted, **key)]
        progress = [part["prompt_progress"] for part in parts if "prompt_progress" in part]
        assert [one["processed"] for one in progress] == [progress[0]["cache"], progress[0]["total"]]
        assert all(part["timings"]["predicted_n"] <= 3 for part in parts) and parts[0]["content"] == ""
        assert parts[len(progress)]["tokens_predicted"] == 1
        verbose = ask(server, "/v1/chat/completions", {**CHAT, "verbose": True}, key)
        assert verbose["usage"]["completion_tokens"] == 5  # --n-predict
        assert verbose["__verbose"]["prompt"].startswith("<|im_start|>user\nHello<|im_end|>\n")
        parts = server.events("/responses", {"input": "Hello", "max_output_tokens": 1}, **key)
        last = json.loads(parts[-1])
        assert last["type"] == "response.completed" and last["response"]["status"] == "incomplete"
        continued = {**CHAT, "messages": [*MESSAGES, {"role": "assistant", "content": "Well"}]}
        assert ask(server, "/apply-template", continued, key)["prompt"].endswith("assistant\nWell")

        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        seen = {"messages": [{"role": "user", "content": [image]}]}
        status, _, told = server.ask("/v1/chat/completions", seen, **key)
        assert status == 500 and "image input is not supported" in told["error"]["message"]

        time.sleep(1.6)
        assert server.ask("/props", **key)[2]["is_sleeping"]
        assert ask(server, "/completion", {"prompt": "Hello"}, key)["tokens_predicted"] <= 5
        assert not server.ask("/props", **key)[2]["is_sleeping"]


def ask(server: serving.Served, path: str, body: Any, key: dict[str, str]) -> Any:
    status, _, answer = server.ask(path, body, **key)
    assert status == 200, answer
    return answer


def test_vertex_ai_asks_for_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIP_MODE", "PREDICTION")
    arguments = ("--as", "llama-server", "-m", house(), "-c", "512", "-np", "2", "--port", "0")
    with serving.served(*arguments, model="") as server:
        instance = {"@requestFormat": "chatCompletions", "messages": MESSAGES, "max_tokens": 4}
        told = ask(server, "/predict", {"instances": [instance, instance]}, {})["predictions"]
        assert [one["choices"][0]["message"]["role"] for one in told] == ["assistant", "assistant"]
        for bad in ([], [{}], "x", [{**instance, "@requestFormat": "x"}]):
            assert server.ask("/predict", {"instances": bad})[0] == 400
