"""Models in safetensors behind `sotto.runner`: converted and quantized into a cache, with adapters."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conversion import HOUSE

from sotto._gguf import read_values
from sotto.runner import (
    Architecture,
    ChatCompletionRequest,
    CompletionRequest,
    EmbeddingRequest,
    ModelDType,
    Runner,
    RunnerError,
    Which,
)

sys.path.append(str(HOUSE.parents[1] / "tests" / "data"))

from make_adapter import Base, write_peft  # needs the path above

BASE = Base(256, 4, 2, 256, 2)  # of the tiny model
TYPES = {"F32": 0, "F16": 1, "Q8_0": 7, "Q4_K_M": 15}  # general.file_type


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of converted models."""
    monkeypatch.setenv("SOTTO_MODEL_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def text(runner: Runner, **fields: Any) -> str:
    request = CompletionRequest("The innkeeper counts", "default", max_tokens=8, **fields)
    return runner.send_completion_request(request).choices[0].text


def types(cache: Path) -> list[int]:
    """The types of the files in the cache."""
    return sorted(
        int(read_values(one, ("general.file_type",))["general.file_type"]) for one in cache.glob("*.gguf")
    )


def test_a_model_is_converted_once(tiny_source: Path, cache: Path) -> None:
    with Runner(
        Which.Plain(str(tiny_source), Architecture.Llama, dtype=ModelDType.F32), max_seqs=2
    ) as runner:
        plain = text(runner)
        assert runner.max_sequence_length() == 128
        request = ChatCompletionRequest([{"role": "user", "content": "Ale"}], "default", max_tokens=4)
        with pytest.raises(RunnerError, match="chat template"):
            runner.send_chat_completion_request(request)
    (made,) = cache.iterdir()
    assert types(cache) == [TYPES["F32"]]
    before = made.stat().st_mtime_ns
    with Runner(Which.Plain(str(tiny_source), dtype=ModelDType.F32), max_seqs=2) as runner:
        assert text(runner) == plain and made.stat().st_mtime_ns == before


def test_a_model_is_quantized_in_situ_and_again(tiny_source: Path, cache: Path) -> None:
    with Runner(Which.Plain(str(tiny_source)), max_seqs=2, in_situ_quant="Q8_0", alias="one") as runner:
        assert types(cache) == [TYPES["Q8_0"]] and text(runner)
        runner.send_re_isq("Q4K")
        assert types(cache) == [TYPES["Q8_0"], TYPES["Q4_K_M"]]
        details = runner._loader.engine.model_info("one")["details"]
        assert "Q4_K" in details["quantization"] and text(runner)
        runner.unload_model("one")
        assert text(runner) and runner.get_model_status("one") == "loaded"
        with pytest.raises(ValueError, match="invalid dtype 'zz'"):
            runner.send_re_isq("zz", "one")


def test_adapters_of_a_converted_model(tiny_source: Path, tmp_path: Path) -> None:
    folders = [str(write_peft(tmp_path / f"a{seed}", seed, base=BASE, spread=0.1)) for seed in (1, 2)]
    which = Which.Lora(folders, model_id=str(tiny_source), dtype=ModelDType.F32)
    with Runner(which, max_seqs=2) as runner:
        texts = [text(runner), text(runner, adapter="a1"), text(runner, adapter="a2")]
        assert len(set(texts)) == 3
    with pytest.raises(RunnerError, match="invalid adapter"):
        Runner(Which.Lora([str(tmp_path / "none")], model_id=str(tiny_source)))


def test_a_model_that_embeds(tiny_source: Path) -> None:
    with Runner(Which.Embedding(str(tiny_source)), max_seqs=2) as runner:
        one, two = runner.send_embedding_request(EmbeddingRequest(["ale", "stew"]))
        assert len(one) == len(two) == 256 and one != two
        assert abs(sum(value * value for value in one) - 1) < 1e-3


def test_what_cannot_be_converted(tiny_source: Path, tmp_path: Path, cache: Path) -> None:
    with pytest.raises(RunnerError, match=r"invalid arch 'Qwen3': .*'llama'"):
        Runner(Which.Plain(str(tiny_source), Architecture.Qwen3))
    with pytest.raises(RunnerError, match="invalid model_id"):
        Runner(Which.Plain(str(tmp_path / "none")))
    with pytest.raises(RunnerError, match="imatrix with calibration_file"):
        Runner(Which.Plain(str(tiny_source), imatrix="a", calibration_file="b"))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text(json.dumps({"model_type": "llama"}))
    for files in ({}, {"model.safetensors": b"\0" * 99}, {"config.json": b"{"}):
        for name, data in files.items():
            (broken / name).write_bytes(data)
        with pytest.raises(RunnerError):
            Runner(Which.Plain(str(broken)))
    assert not cache.exists() or list(cache.glob("*.gguf")) == []
