"""llama.cpp's own routes: their shapes, and how they refuse bad requests."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import serving

PROMPT = "Hello there"
SHORT = {"prompt": PROMPT, "n_predict": 6, "temperature": 0, "cache_prompt": False}


@pytest.fixture(scope="module")
def server() -> Iterator[serving.Served]:
    options = json.dumps({"context": 256, "parallel": 2})
    with serving.served("--options", options) as running:
        yield running


def told(server: serving.Served, path: str, body: Any) -> Any:
    status, _, answer = server.ask(path, body)
    assert status == 200, answer
    return answer


def test_a_completion_has_llama_servers_members(server: serving.Served) -> None:
    answer = told(server, "/completion", {**SHORT, "return_tokens": True})
    assert {"index", "stop", "model", "generation_settings", "timings", "tokens_cached"} <= set(answer)
    assert answer["stop_type"] == "limit" and answer["stopping_word"] == "" and not answer["truncated"]
    assert answer["prompt"] == PROMPT and answer["tokens_predicted"] == len(answer["tokens"]) == 6
    text = told(server, "/detokenize", {"tokens": answer["tokens"]})["content"]
    assert text == answer["content"]
    settings = answer["generation_settings"]
    assert settings["n_predict"] == 6 and settings["top_k"] == 40 and settings["temperature"] == 0
    assert told(server, "/completion", SHORT)["tokens"] == []


def test_a_stream_ends_with_stop_and_without_done(server: serving.Served) -> None:
    whole = told(server, "/completion", SHORT)
    *parts, last = map(json.loads, server.events("/completion", SHORT))
    assert all(not part["stop"] and len(part["tokens"]) == 1 for part in parts)
    assert "".join(part["content"] for part in parts) == whole["content"]
    assert last["stop"] and last["content"] == "" and last["tokens_predicted"] == 6


def test_prompts_may_be_texts_tokens_and_both(server: serving.Served) -> None:
    tokens = told(server, "/tokenize", {"content": PROMPT, "add_special": True})["tokens"]
    text, ids, mixed, object_ = told(
        server,
        "/completions",
        {**SHORT, "prompt": [PROMPT, tokens, [tokens[0], " there"], {"prompt_string": PROMPT}]},
    )
    assert text["prompt"] == ids["prompt"] == mixed["prompt"] == object_["prompt"] == PROMPT
    assert {answer["tokens_evaluated"] for answer in (text, ids, mixed, object_)} == {len(tokens)}
    assert [answer["index"] for answer in (text, ids, mixed, object_)] == [0, 1, 2, 3]


def test_several_prompts_stream_together(server: serving.Served) -> None:
    parts = list(map(json.loads, server.events("/completion", {**SHORT, "prompt": ["Hello", "You"]})))
    assert {part["index"] for part in parts if part["stop"]} == {0, 1}


def test_no_tokens_are_asked(server: serving.Served) -> None:
    answer = told(server, "/completion", {**SHORT, "n_predict": 0})
    assert answer["content"] == "" and answer["tokens_predicted"] == 0 and answer["tokens_evaluated"] > 0


def test_members_may_be_chosen(server: serving.Served) -> None:
    names = ["content", "generation_settings/n_predict", "nothing"]
    answer = told(server, "/completion", {**SHORT, "response_fields": names})
    assert list(answer) == names[:2] and answer["generation_settings/n_predict"] == 6


def test_probabilities_have_ids_and_bytes(server: serving.Served) -> None:
    answer = told(server, "/completion", {**SHORT, "n_probs": 3})
    first = answer["completion_probabilities"][0]
    assert first["token"].encode() == bytes(first["bytes"]) and len(first["top_logprobs"]) == 3
    after = told(server, "/completion", {**SHORT, "n_probs": 3, "post_sampling_probs": True})
    assert 0 < after["completion_probabilities"][0]["prob"] <= 1


def test_a_bias_may_name_texts(server: serving.Served) -> None:
    said = told(server, "/completion", SHORT)["content"]
    for bias in ({said: -100}, [[said, False]]):
        assert told(server, "/completion", {**SHORT, "logit_bias": bias})["content"][:2] != said[:2]


def test_a_prompt_beyond_the_context_is_counted(server: serving.Served) -> None:
    status, _, answer = server.ask("/completion", {**SHORT, "prompt": "Hello there " * 200})
    assert status == 400 and answer["error"]["type"] == "exceed_context_size_error"
    assert answer["error"]["n_ctx"] == 256 < answer["error"]["n_prompt_tokens"]
    assert "exceeds the available context size" in answer["error"]["message"]


def test_pieces_come_with_their_tokens(server: serving.Served) -> None:
    pieces = told(server, "/tokenize", {"content": PROMPT, "with_pieces": True})["tokens"]
    assert "".join(one["piece"] for one in pieces) == PROMPT
    assert told(server, "/tokenize", {}) == {"tokens": []}
    assert told(server, "/detokenize", {}) == {"content": ""}


def test_templates_and_counts_agree(server: serving.Served) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    prompt = told(server, "/apply-template", body)["prompt"]
    count = len(told(server, "/tokenize", {"content": prompt, "add_special": True})["tokens"])
    assert "Hello" in prompt
    assert told(server, "/v1/chat/completions/input_tokens", body)["input_tokens"] == count
    assert told(server, "/v1/responses/input_tokens", {"input": "Hello"})["input_tokens"] == count


def test_props_describe_the_model(server: serving.Served) -> None:
    props = told(server, "/props", None)
    assert props["total_slots"] == 2 and props["default_generation_settings"]["n_ctx"] == 256
    assert props["default_generation_settings"]["params"]["temperature"] == 0.8
    assert not props["is_sleeping"] and props["model_alias"] == "sotto/house"
    assert server.ask("/props", {})[0] == 501


def test_slots_are_listed_and_kept_to_their_folder(tmp_path: Path) -> None:
    options = ("--as", "llama-server", "-m", house(), "-c", "512", "-np", "2", "--port", "0", "--slots")
    with serving.served(*options, "--slot-save-path", str(tmp_path), model="") as server:
        first = told(server, "/completion", {**SHORT, "id_slot": 1, "cache_prompt": True})
        assert first["id_slot"] == 1
        listed = told(server, "/slots", None)
        assert [slot["id"] for slot in listed] == [0, 1] and not listed[1]["is_processing"]
        saved = told(server, "/slots/1?action=save", {"filename": "one.bin"})
        assert saved["n_saved"] == first["tokens_cached"] and (tmp_path / "one.bin").stat().st_size > 0
        restored = told(server, "/slots/0?action=restore", {"filename": "one.bin"})
        assert restored["n_restored"] == saved["n_saved"]
        again = told(server, "/completion", {**SHORT, "id_slot": 0, "cache_prompt": True})
        assert again["timings"]["cache_n"] > 0
        assert told(server, "/slots/0?action=erase", {})["n_erased"] > 0
        for name in ("../x", "/etc/passwd", "a/b", "a\\b", "a\0b", "..", "", "a" * 300, 5, "absent"):
            status, _, answer = server.ask("/slots/0?action=restore", {"filename": name})
            assert status == 400 and "error" in answer, name
        for name in ("nul", "CON", "com1.bin", "aux .x"):  # devices of Windows
            assert server.ask("/slots/0?action=save", {"filename": name})[0] == 400, name
        assert server.ask("/slots/0?action=steal", {})[0] == 400
        assert server.ask("/slots/%D9%A3?action=save", {"filename": "a"})[0] == 400  # an Arabic digit
        assert server.ask("/slots/x?action=save", {"filename": "a"})[0] == 400


def test_errors_of_slot_files_have_their_cause_and_no_folder(tmp_path: Path) -> None:
    with serving.served("--slot-save-path", str(tmp_path)) as server:
        told(server, "/completion", {**SHORT, "id_slot": 0})
        told(server, "/slots/0?action=save", {"filename": "one.bin"})
        saved = (tmp_path / "one.bin").read_bytes()
        (tmp_path / "link.bin").symlink_to("/etc/passwd")
        for damaged in (b"", saved[:-1], saved + b"x", saved[:100] + b"\xff" + saved[101:], b"\0" * 4096):
            (tmp_path / "damaged.bin").write_bytes(damaged)
            status, _, answer = server.ask("/slots/0?action=restore", {"filename": "damaged.bin"})
            assert status == 400 and str(tmp_path) not in answer["error"]["message"]
        assert server.ask("/slots/0?action=restore", {"filename": "link.bin"})[0] == 400
        (tmp_path / "folder").mkdir()
        status, _, answer = server.ask("/slots/0?action=save", {"filename": "folder"})
        assert status in (400, 500) and str(tmp_path) not in answer["error"]["message"]
        if sys.platform == "linux":
            import resource

            limit = (1000, resource.RLIM_INFINITY)  # of a file's size, in place of a full disk
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limit)
            status, _, answer = server.ask("/slots/0?action=save", {"filename": "two.bin"})
            assert status == 500 and "File too large" in answer["error"]["message"]
            assert str(tmp_path) not in answer["error"]["message"] and not (tmp_path / "two.bin").exists()
        assert told(server, "/slots/0?action=restore", {"filename": "one.bin"})["n_restored"] > 0


def test_models_of_the_command_line_alone_are_loaded(server: serving.Served) -> None:
    assert server.ask("/models/load", {"model": "sotto/house"})[0] == 400
    assert told(server, "/models/unload", {"model": "sotto/house"}) == {"success": True}
    assert server.ask("/completion", SHORT)[0] == 503
    assert told(server, "/models/load", {"model": "sotto/house"}) == {"success": True}
    assert server.ask("/models/load", {"model": "/etc/passwd"})[0] == 404
    told(server, "/completion", SHORT)


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/completion", {}, "prompt"),
        ("/completion", {"prompt": []}, "prompt"),
        ("/completion", {"prompt": ["a"] * 1025}, "prompt"),
        ("/completion", {"prompt": [[1], [None]]}, "prompt"),
        ("/completion", {"prompt": {"text": "a"}}, "prompt_string"),
        ("/completion", {**SHORT, "n_predict": "x"}, "n_predict"),
        ("/completion", {**SHORT, "n_predict": -2}, "n_predict"),
        ("/completion", {**SHORT, "n_cmpl": 10_000}, "n_cmpl"),
        ("/completion", {**SHORT, "stop": ["a"] * 10_000}, "stop"),
        ("/completion", {**SHORT, "response_fields": "content"}, "response_fields"),
        ("/completion", {**SHORT, "logit_bias": "x"}, "logit_bias"),
        ("/completion", {**SHORT, "lora": [{"id": 0}]}, "lora[0].id"),
        ("/infill", {"input_prefix": "a"}, "input_suffix"),
        ("/infill", {"input_prefix": "a", "input_suffix": "b", "input_extra": [{}]}, "input_extra[0]"),
        ("/detokenize", {"tokens": "a"}, "tokens"),
        ("/embedding", {"input": []}, "input"),
        ("/embedding", {"input": {"content": [{"type": "image_url"}]}}, "image_url"),
        ("/rerank", {"query": "a", "documents": [1]}, "documents"),
        ("/rerank", {"query": "a", "texts": []}, "documents"),
        ("/rerank", {"documents": ["a"]}, "query"),
        ("/lora-adapters", {}, "array"),
        ("/lora-adapters", [{"id": "x"}], "lora[0].id"),
    ],
)
def test_bad_requests_are_named(server: serving.Served, path: str, body: Any, named: str) -> None:
    status, _, answer = server.ask(path, body)
    assert status == 400 and answer["error"]["type"] == "invalid_request_error"
    assert named in answer["error"]["message"]


def house() -> str:
    return str(Path(__file__).resolve().parents[2] / "samples" / "house_model" / "house.gguf")
