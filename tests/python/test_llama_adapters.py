"""`sotto.llama`: adapters and figures of `Llama`, and instances that share an engine."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import sotto
from adapting import RANK, SEED, SPREAD
from make_adapter import write_merged
from sotto.llama import Llama, ModelLoadError, SamplingParams, ValidationError

GREEDY = SamplingParams(temperature=0, repeat_penalty=1.0)
TEXT = "hello there, the river was a king"


def logprobs(llm: Llama, prompt: Any = TEXT) -> list[float]:
    """The log probabilities of the twenty likeliest tokens at eight places."""
    told = llm.generate(prompt, 8, logprobs=20)
    return [logprob for one in told["token_probs"] for _, logprob in one.top_logprobs]


@pytest.mark.real
@pytest.mark.row("C-087", "C-089", "C-090", "C-091", "C-092")
def test_adapters_add_up_and_are_removed(lora_files: Path, tmp_path: Path) -> None:
    def merged(name: str, parts: list[tuple[int, float]]) -> list[float]:
        write_merged(tmp_path / name, SEED, parts, rank=RANK, spread=SPREAD)
        with Llama(tmp_path / name, n_threads=1, sampling=GREEDY) as other:
            return logprobs(other)

    with Llama(lora_files / "tiny.gguf", n_threads=1, sampling=GREEDY) as llm:
        base = logprobs(llm)
        first = llm.load_lora(str(lora_files / "11.gguf"), scale=0.5)
        one = logprobs(llm)
        assert one == pytest.approx(merged("one.gguf", [(11, 0.5)]), abs=1e-3) != base
        second = llm.load_lora(lora_files / "12.gguf")
        both = merged("both.gguf", [(11, 0.5), (12, 1.0)])
        assert logprobs(llm) == pytest.approx(both, abs=1e-3)
        llm.reset()  # adapters stay
        assert logprobs(llm) == pytest.approx(both, abs=1e-3)
        llm.remove_lora(second)
        assert logprobs(llm) == pytest.approx(one, abs=1e-6)
        with pytest.raises(ValidationError, match="expected a handle"):
            llm.remove_lora(second)
        llm.load_lora(lora_files / "12.gguf", scale=0)
        assert logprobs(llm) == pytest.approx(one, abs=1e-6)
        llm.clear_lora()
        assert logprobs(llm) == pytest.approx(base, abs=1e-6)
        with pytest.raises(ValidationError, match="expected a handle"):
            llm.remove_lora(first)


@pytest.mark.real
@pytest.mark.row("C-088", "C-089")
def test_wrong_adapters_are_refused(lora_files: Path) -> None:
    with Llama(lora_files / "tiny.gguf", n_threads=1, sampling=GREEDY) as llm:
        base = logprobs(llm)
        for path in (lora_files / "none.gguf", lora_files / "gemma.gguf"):
            with pytest.raises(ModelLoadError, match=path.name):
                llm.load_lora(path)
        with pytest.raises(ValidationError, match="invalid scale 'nan'"):
            llm.load_lora(lora_files / "11.gguf", scale=float("nan"))
        assert logprobs(llm) == pytest.approx(base, abs=1e-6)


@pytest.mark.real
@pytest.mark.row("C-093", "C-094")
def test_figures_count_tokens(tiny_file: Path) -> None:
    llm = Llama(tiny_file, n_threads=1, sampling=GREEDY)
    keys = ["t_start_ms", "t_load_ms", "t_p_eval_ms", "t_eval_ms", "n_p_eval", "n_eval"]
    assert list(llm.perf()) == keys and llm.perf()["n_eval"] == 0 and llm.perf()["t_load_ms"] > 0
    llm.generate(TEXT, 5)
    told = llm.perf()
    assert told["n_eval"] == 5 and told["n_p_eval"] == len(llm.tokenize(TEXT))
    assert told["t_p_eval_ms"] > 0 and told["t_eval_ms"] > 0
    list(llm.generate_stream(TEXT, 5))
    assert llm.perf()["n_eval"] == 10
    llm.perf_reset()
    assert [llm.perf()[key] for key in keys[2:]] == [0, 0, 0, 0]
    assert llm.perf()["t_load_ms"] == told["t_load_ms"]
    llm.close()


@pytest.mark.real
@pytest.mark.row("C-007", "C-008", "C-009", "C-010", "C-207")
def test_instances_on_one_engine_share_a_model(tiny_file: Path, lora_files: Path) -> None:
    with sotto.Engine(mode="prioritize_compute", threads=1) as engine:
        first = Llama(tiny_file, engine=engine, sampling=GREEDY)
        second = Llama(tiny_file, engine=engine, sampling=GREEDY)
        other = Llama(tiny_file, engine=engine, n_ctx=64)
        ids = [one["id"] for one in engine.memory()["models"]]
        assert ids == [str(tiny_file), f"{tiny_file}#2"] and (first.n_ctx(), other.n_ctx()) == (512, 64)
        assert first.generate(TEXT, 4) == second.generate(TEXT, 4)
        second.load_lora(lora_files / "11.gguf")
        assert logprobs(first) != logprobs(second)
        second.close()
        assert engine.lora_list(tiny_file) == []
        assert first.generate(TEXT, 4)
        for one in (first, other, first):
            one.close()
        assert engine.memory()["models"] == [] and engine.memory()["used"] == 0
        with Llama(tiny_file, engine=engine, embeddings=True) as third:
            third.embed("a")
        assert engine.memory()["models"] == []
        kept, dropped = Llama(tiny_file, engine=engine), Llama(tiny_file, engine=engine)
        dropped.load_lora(lora_files / "11.gguf")
        del dropped
        gc.collect()
        assert engine.lora_list(tiny_file) == [] and kept.generate(TEXT, 1)
        del kept
        gc.collect()
        assert engine.memory()["models"] == []
