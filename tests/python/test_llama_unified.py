"""`sotto.llama`: families of models, and `UnifiedLLM`."""

from __future__ import annotations

import dataclasses
import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest

import make_tiny
import sotto
from conftest import SCRIPTED
from gguf_file import STRING, Gguf
from sotto.llama import (
    LlamaError,
    ModelConfig,
    ModelFamily,
    UnifiedLLM,
    ValidationError,
    detect_model_family,
)
from sotto.llama.families import CONFIGS, family_config
from sotto.llama.formats import TEMPLATES
from sotto.llama.unified import split_thinking

NAMES = {
    "aya-expanse-8b-Q4_K_M.gguf": "AYA",
    "models/Aya-23-35B.gguf": "AYA",
    "gemma-3-4b-it-Q4_K_M.gguf": "GEMMA",
    "GEMMA-2-9b.gguf": "GEMMA",
    "google_gemma-3n-E4B-it.gguf": "GEMMA",
    "GLM-4-9B-0414-Q4_K_M.gguf": "GLM4",
    "glm4-9b-chat.gguf": "GLM4",
    "THUDM_GLM-4-32B.gguf": "GLM4",
    "granite-3.3-8b-instruct.gguf": "GRANITE",
    "ibm-granite_granite-4.0-h-tiny.gguf": "GRANITE",
    "MiniCPM4-8B.gguf": "MINICPM",
    "minicpm3-4b-q4_k_m.gguf": "MINICPM",
    "phi-4-Q4_K_M.gguf": "PHI",
    "Phi-4-mini-instruct.gguf": "PHI",
    "phi4-q8.gguf": "PHI",
    "Ministral-8B-Instruct-2410.gguf": "MISTRAL",
    "Ministral-3-8B-Reasoning.gguf": "MISTRAL",
    "Mistral-7B-Instruct-v0.3.gguf": "MISTRAL",
    "mistral-small-3.2-24b.gguf": "MISTRAL",
    "Qwen3-8B-Q6_K.gguf": "QWEN3",
    "qwen3-0.6b.gguf": "QWEN3",
    "Qwen3-30B-A3B-Instruct-2507-Q4_K_S.gguf": "QWEN3",
    "Qwen3-30B-A3B-Thinking-2507.gguf": "QWEN3",
    "Qwen3-Coder-30B.gguf": "QWEN3",
    "gpt-oss-20b-mxfp4.gguf": "GPT_OSS",
    "openai_gpt_oss_120b.gguf": "GPT_OSS",
    "models/qwen3/model.gguf": "QWEN3",
}
DEFAULTS = {  # family: format, temperature, top_p, top_k, min_p, longest context, thinks
    "AYA": ("command-r", 0.3, 0.9, 40, 0.0, 8192, False),
    "GEMMA": ("gemma", 1.0, 0.95, 64, 0.0, 131072, False),
    "GLM4": ("glm4", 0.8, 0.8, 40, 0.0, 131072, False),
    "GRANITE": ("granite", 0.0, 1.0, 0, 0.0, 131072, False),
    "MINICPM": ("chatml", 0.7, 0.7, 40, 0.0, 32768, False),
    "PHI": ("phi4", 0.8, 0.95, 50, 0.0, 16384, False),
    "MISTRAL": ("mistral", 0.15, 0.95, 40, 0.0, 32768, False),
    "QWEN3": ("chatml", 0.7, 0.8, 20, 0.0, 32768, True),
    "GPT_OSS": ("gpt-oss", 1.0, 1.0, 0, 0.0, 131072, True),
}


def without_template() -> Gguf:
    """A model of random weights whose file has no chat template."""
    file = make_tiny.transformer("llama", 1)
    key = b"tokenizer.chat_template"
    file.values = [value for value in file.values if key not in value[: len(key) + 8]]
    return file


def turns(unified: UnifiedLLM) -> str:
    """What the model was last asked, special tokens included."""
    llm = unified.llm
    return llm.detokenize(llm._sequences[0].ids, remove_special=False, unparse_special=True)


@pytest.mark.row("C-178", "C-188", *(f"C-{row}" for row in range(179, 188)))
def test_there_are_nine_families() -> None:
    names = ["AYA", "GEMMA", "GLM4", "GRANITE", "MINICPM", "PHI", "MISTRAL", "QWEN3", "GPT_OSS"]
    assert [one.name for one in ModelFamily] == names
    assert {config.family for config in CONFIGS.values()} == set(ModelFamily)
    assert [field.name for field in dataclasses.fields(ModelConfig)] == [
        "family",
        "chat_format",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "max_ctx",
        "supports_thinking",
        "stop_sequences",
    ]


@pytest.mark.row(*(f"C-{row}" for row in range(189, 198)))
@pytest.mark.parametrize("name", list(DEFAULTS))
def test_each_family_has_its_defaults(name: str) -> None:
    found = family_config(ModelFamily[name])
    assert dataclasses.astuple(found)[1:-1] == DEFAULTS[name] and found.family is ModelFamily[name]
    assert found.chat_format in TEMPLATES and isinstance(found.stop_sequences, list)
    found.stop_sequences.append("changed")
    assert "changed" not in family_config(ModelFamily[name]).stop_sequences


@pytest.mark.row("C-154", "C-162", "C-198")
@pytest.mark.parametrize("name", list(NAMES))
def test_a_file_name_tells_the_family(name: str) -> None:
    assert detect_model_family(name).family.name == NAMES[name]
    assert detect_model_family(name.upper().replace(".GGUF", ".gguf")).family.name == NAMES[name]


@pytest.mark.row("C-163", "C-200")
def test_the_reference_s_example_of_detection() -> None:
    config = detect_model_family("models/Qwen3-30B-A3B-Instruct-2507-Q4_K_S.gguf")
    assert config.family == ModelFamily.QWEN3 and config.supports_thinking is False
    assert detect_model_family("Qwen3-8B-Q6_K.gguf").supports_thinking is True
    assert detect_model_family("Qwen3-4B-Thinking-2507.gguf").supports_thinking is True


@pytest.mark.row("C-199")
def test_an_unknown_family_is_an_error() -> None:
    for wrong in ("foo.gguf", "llama-3.gguf", "qwen2.gguf"):
        with pytest.raises(ValueError, match="pass family="):
            detect_model_family(wrong)
    with pytest.raises(ValidationError, match="invalid model_path"):
        detect_model_family("")


@pytest.mark.row("C-198")
def test_metadata_tell_more_than_the_file_name(tmp_path: Path) -> None:
    def detected(architecture: str, name: str) -> ModelConfig:
        file = Gguf(architecture, 1, name)
        file.array("general.tags", STRING, ["a", "b"])
        file.write(tmp_path / "mistral.gguf")
        return detect_model_family(str(tmp_path / "mistral.gguf"))

    assert detected("qwen3moe", "Mara").family is ModelFamily.QWEN3
    assert detected("qwen3", "Qwen3 4B Instruct 2507").supports_thinking is False
    assert detected("llama", "Granite 3.1 8b").family is ModelFamily.GRANITE
    assert detected("llama", "Mara").family is ModelFamily.MISTRAL


@pytest.mark.row("C-153", "C-164", "C-170")
def test_signatures_are_those_of_the_reference() -> None:
    def defaults(function: Any) -> dict[str, Any]:
        found = inspect.signature(function).parameters.values()
        return {one.name: one.default for one in found if one.kind is one.POSITIONAL_OR_KEYWORD}

    empty = inspect.Parameter.empty
    assert defaults(UnifiedLLM) == {
        "model_path": empty,
        "n_ctx": 8192,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_gpu_layers": -1,
        "verbose": False,
        "family": None,
    }
    asked = {"prompt": empty, "system_prompt": None, "max_tokens": None}
    assert defaults(UnifiedLLM.generate) == {"self": empty, **asked, "thinking": False, "stop": None}
    assert defaults(UnifiedLLM.generate_with_thinking) == {"self": empty, **asked, "stop": None}


@pytest.mark.real
@pytest.mark.row("C-152", "C-154", "C-161", "C-162", "C-163", "C-177", "C-207")
def test_the_reference_s_example_runs(tiny_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "Qwen3-30B-A3B-Instruct-2507-Q4_K_S.gguf"
    shutil.copy(tiny_file, path)
    with UnifiedLLM(str(path)) as llm:
        assert llm.family.name == "QWEN3" and llm.supports_thinking is False
        assert isinstance(llm.generate("Hello", max_tokens=8), str)
        assert llm.generate_with_thinking("Hello", max_tokens=8)[0] == ""
        engine = llm.llm._engine()
    assert engine._handle.closed


@pytest.mark.real
@pytest.mark.row("C-155", "C-156", "C-157", "C-158", "C-159", "C-173", "C-174", "C-175", "C-176")
def test_options_and_facts(tiny_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    llm = UnifiedLLM(str(tiny_file), n_ctx=10**6, n_gpu_layers=0, family="qwen3")
    config = llm.llm.config
    assert (config.n_ctx, config.n_batch, config.n_ubatch, config.n_gpu_layers) == (32768, 2048, 512, 0)
    assert llm.n_ctx() == 512  # what the model was trained for
    assert llm.n_tokens("hello there") == llm.llm.n_tokens("hello there") > 0
    llm.generate("hello", max_tokens=2)
    assert llm.llm.kv_cache_seq_pos_max() > 0
    llm.kv_cache_clear()
    assert llm.llm.kv_cache_seq_pos_max() == -1
    for _ in range(2):
        llm.close()
    for call in (llm.n_ctx, llm.kv_cache_clear, lambda: llm.generate("a"), lambda: llm.n_tokens("a")):
        with pytest.raises(LlamaError, match="closed"):
            call()
    small = UnifiedLLM(str(tiny_file), n_ctx=64, family=ModelFamily.GEMMA)
    assert (small.llm.config.n_batch, small.llm.config.n_ubatch, small.n_ctx()) == (64, 64, 64)
    small.close()
    assert capfd.readouterr().err == ""
    sotto.llama.reset_logging()


@pytest.mark.real
@pytest.mark.row("C-160")
def test_a_family_is_given(tiny_file: Path) -> None:
    for given, family in (("qwen3", "QWEN3"), ("GPT-OSS", "GPT_OSS"), (ModelFamily.AYA, "AYA")):
        with UnifiedLLM(str(tiny_file), family=given) as llm:
            assert llm.family.name == family
    with pytest.raises(ValueError, match="invalid family 'no such'"):
        UnifiedLLM(str(tiny_file), family="no such")
    with pytest.raises(TypeError, match="invalid family '3'"):
        UnifiedLLM(str(tiny_file), family=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pass family="):
        UnifiedLLM(str(tiny_file))
    sotto.llama.reset_logging()


@pytest.mark.real
@pytest.mark.row("C-165", "C-166", "C-167", "C-168", "C-169")
def test_prompts_are_rendered_for_the_family(tiny_file: Path) -> None:
    with UnifiedLLM(str(tiny_file), n_ctx=256, family="qwen3") as llm:
        whole = llm.generate("Hi", "You are Mara.", thinking=True)
        assert turns(llm).startswith(
            "<s><|im_start|>system\nYou are Mara.<|im_end|>\n<|im_start|>user\nHi /think<|im_end|>\n"
        )
        assert llm.llm.kv_cache_seq_pos_max() <= 256 and isinstance(whole, str)
        llm.generate("Hi", max_tokens=4)
        assert turns(llm).startswith("<s><|im_start|>user\nHi /no_think<|im_end|>\n<|im_start|>assistant\n")
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="invalid max_tokens"):
                llm.generate("Hi", max_tokens=wrong)
        with pytest.raises(ValueError, match="invalid prompt"):
            llm.generate(" ")
    with UnifiedLLM(str(tiny_file), n_ctx=256, family="granite") as llm:  # greedy
        whole = llm.generate("Hi", max_tokens=24)
        middle = next(char for char in whole[len(whole) // 2 :] if char.isascii() and char.isalpha())
        assert llm.generate("Hi", max_tokens=24, stop=[middle]) == whole[: whole.index(middle)].strip()
        llm.model_config.stop_sequences.append(middle)
        assert llm.generate("Hi", max_tokens=24) == whole[: whole.index(middle)].strip()
    sotto.llama.reset_logging()


@pytest.mark.real
@pytest.mark.row("C-125", "C-171", "C-190")
def test_a_file_without_a_template_takes_the_family_s(tmp_path: Path) -> None:
    path = tmp_path / "gpt-oss.gguf"
    without_template().write(path)
    with UnifiedLLM(str(path)) as llm:
        llm.generate("Hi", "Be brief.", max_tokens=2)
        assert "Reasoning: medium" in turns(llm)
        assert "# Instructions\n\nBe brief.<|end|>" in turns(llm)
        llm.set_reasoning_level("high")
        llm.generate("Hi", max_tokens=2)
        assert "Reasoning: high" in turns(llm)
        for wrong in ("extreme", "", None):
            with pytest.raises(ValueError, match="invalid level"):
                llm.set_reasoning_level(wrong)  # type: ignore[arg-type]
    sotto.llama.reset_logging()


@pytest.mark.row("C-164", "C-170", "C-171", "C-201")
def test_thoughts_are_split_from_answers() -> None:
    with sotto.Engine(module_dir=SCRIPTED, mode="prioritize_compute") as engine:
        engine.load_model("npc", options={"tokens": ["<think>", "a", "</think>", "b"]})
        with UnifiedLLM("npc", family="qwen3", engine=engine) as llm:
            assert llm.generate_with_thinking("Hi") == ("a", "b")
            assert llm.generate("Hi") == llm.generate("Hi", thinking=True) == "b"
            llm.set_reasoning_level("low")  # has no effect on this family
        engine.load_model("plain", options={"tokens": ["just", " text"]})
        with UnifiedLLM("plain", family="gemma", engine=engine) as llm:
            with pytest.raises(LlamaError, match="does not report the vocabulary"):
                llm.llm.n_vocab()
            assert llm.llm.get_chat_template() == ""
            assert llm.generate_with_thinking("Hi") == ("", "just text")
        sotto.llama.reset_logging()


@pytest.mark.row("C-172")
@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("<think>a</think>b", "a", "b"),
        ("<thinking>\na\n</thinking>\n\nb", "a", "b"),
        ("[THINK]a[/THINK] b", "a", "b"),
        ("<think>a", "a", ""),
        ("b <think>a", "a", "b"),
        ("just text", "", "just text"),
        ("<think>a</think>b<think>c</think>d", "a\nc", "bd"),
        ("", "", ""),
    ],
)
def test_thinking_is_stripped(text: str, thoughts: str, answer: str) -> None:
    assert split_thinking(text) == (thoughts, answer)
    assert split_thinking(answer) == ("", answer)


@pytest.mark.real
@pytest.mark.row("C-172")
def test_an_instance_strips_thoughts(tiny_file: Path) -> None:
    with UnifiedLLM(str(tiny_file), family="qwen3") as llm:
        assert llm.strip_thinking("<think>a</think>b") == "b" == llm.strip_thinking("b")
    sotto.llama.reset_logging()
