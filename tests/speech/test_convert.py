"""`sotto convert`: what it writes computes what the source does, and what it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
import transformers
from conversion import HOUSE, LLAMA, TEMPLATE, converted, refused
from tokenizers import Tokenizer

import sotto
from sotto.commands import convert
from sotto.commands.convert import verify

SHEET = "Name: Brenna\nRole: innkeeper\nManner: gruff\nPlace: the Kettle and Crow, Millbrook"
QUESTIONS = (
    "Who are you?",
    "How much is a bed for the night?",
    "Tell me about Millbrook.",
    "Good evening! It is 12 below zero.",
)


def test_the_house_model_answers_as_in_llama_cpp(tmp_path: Path) -> None:
    assert converted(HOUSE / "house.gguf", tmp_path / "house", "--quantization", "float32") == 0
    tokenizer = Tokenizer.from_file(str(tmp_path / "house" / "tokenizer.json"))
    generator = ctranslate2.Generator(str(tmp_path / "house"), intra_threads=1)
    same = 0
    with sotto.Engine("cpu") as engine:
        engine.load_model("house", path=HOUSE / "house.gguf", backend="llama")
        for question in QUESTIONS:
            turns = {"system": SHEET, "user": question}
            messages = [{"role": role, "content": text} for role, text in turns.items()]
            right = engine.chat(messages, model="house", max_tokens=40, temperature=0).text
            prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns.items())
            tokens = tokenizer.encode(f"{prompt}<|im_start|>assistant\n", add_special_tokens=False).tokens
            made = generator.generate_batch(
                [tokens], max_length=40, sampling_topk=1, include_prompt_in_result=False
            )
            same += tokenizer.decode(made[0].sequences_ids[0]) == right
    print(f"\nspeech: {same} of {len(QUESTIONS)} greedy answers of the converted house model as in llama.cpp")
    assert same == len(QUESTIONS)
    config = json.loads((tmp_path / "house" / "tokenizer_config.json").read_text())
    assert config["chat_template"] == (HOUSE / "template.jinja").read_text().strip()
    assert (config["bos_token"], config["eos_token"]) == ("<|im_start|>", "<|im_end|>")
    assert json.loads((tmp_path / "house" / "generation_config.json").read_text())["eos_token_id"] == 2


@pytest.mark.parametrize(
    ("quantization", "most"), [("float32", 1e-4), ("bfloat16", 0.05), ("float16", 0.05), ("int8", 0.05)]
)
def test_weights_of_each_type_compute_what_the_source_does(
    tiny: Path, tmp_path: Path, quantization: str, most: float
) -> None:
    assert converted(tiny, tmp_path / "made", "--quantization", quantization) == 0
    ids = list(range(3, 40))
    with torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny, local_files_only=True)
        right = model(torch.tensor([ids])).logits[0].numpy()
    generator = ctranslate2.Generator(str(tmp_path / "made"), compute_type="float32")
    made = np.asarray(generator.forward_batch([ids]))[0]
    assert np.linalg.norm(made - right) / np.linalg.norm(right) < most


IDS = list(range(3, 40))
ROPE = {"rope_parameters": {"rope_theta": 500_000.0, "rope_type": "default"}}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0}
LLAMA3 |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8}
GEMMA2 = {**ROPE, "head_dim": 16, "query_pre_attn_scalar": 16}
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("Llama", ROPE),
        ("Mistral", {**ROPE, "sliding_window": None}),
        ("Qwen2", {**ROPE, "vocab_size": 64}),  # its tokenizer adds a token
        ("Qwen3", {**ROPE, "head_dim": 32}),
        ("Gemma2", {**GEMMA2, "sliding_window": 4096}),
        ("GPT2", GPT2),
        ("OPT", {"ffn_dim": 128, "word_embed_proj_dim": 64}),
    ],
)
def test_other_decoders_compute_what_the_source_does(
    tiny: Path, tmp_path: Path, name: str, more: dict[str, Any]
) -> None:
    right = decoder(tiny, tmp_path / "source", name, more)
    assert converted(tmp_path / "source", tmp_path / "made") == 0
    assert difference(tmp_path / "made", right) < 1e-3


def decoder(tiny: Path, source: Path, name: str, more: dict[str, Any]) -> Any:
    """Writes a decoder of random weights, and returns its logits for `IDS`."""
    shutil.copytree(tiny, source)
    torch.manual_seed(5)
    config = getattr(transformers, f"{name}Config")(**{**LLAMA, **more})
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(4 if weights.dim() > 1 else 1)  # so that attention matters
        right = model(torch.tensor([IDS])).logits[0].numpy()
    model.save_pretrained(source)
    return right


def difference(folder: Path, right: Any) -> float:
    """Returns the relative error of a converted decoder's logits for the first of `IDS`."""
    generator = ctranslate2.Generator(str(folder), compute_type="float32")
    made = np.asarray(generator.forward_batch([IDS[: len(right)]]))[0]
    return float(np.linalg.norm(made - right) / np.linalg.norm(right))


@pytest.mark.parametrize(("name", "more"), [("Mistral", ROPE), ("Gemma2", GEMMA2)])
def test_a_sliding_window_limits_the_positions(
    tiny: Path, tmp_path: Path, name: str, more: dict[str, Any]
) -> None:
    right = decoder(tiny, tmp_path / "source", name, {**more, "sliding_window": 8})
    assert converted(tmp_path / "source", tmp_path / "made") == 0
    assert json.loads((tmp_path / "made" / "config.json").read_text())["max_position_embeddings"] == 8
    assert difference(tmp_path / "made", right[:8]) < 1e-3


def test_the_rope_scaling_of_llama_3_is_refused(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    decoder(tiny, tmp_path / "source", "Llama", {"rope_parameters": LLAMA3})
    assert "other values with the rope scaling 'llama3'" in refused(tmp_path / "source", tmp_path, capsys)


@pytest.mark.parametrize(
    ("quantization", "source", "most"),
    [
        (None, "float32", 1e-3),
        ("float32", "bfloat16", 0.1),
        ("float16", "float32", 0.02),
        ("int8", "bfloat16", 0.5),
    ],
)
def test_the_greatest_error_follows_from_the_types(
    quantization: str | None, source: str, most: float
) -> None:
    assert verify.max_error(quantization, source) == most


def test_a_small_difference_in_float32_is_refused(tiny: Path, tmp_path: Path) -> None:
    right = decoder(tiny, tmp_path / "source", "Llama", ROPE)
    assert converted(tmp_path / "source", tmp_path / "made") == 0
    verify.check(tmp_path / "made", right, IDS, decoder=True, most=verify.max_error(None, "float32"))
    with pytest.raises(ValueError, match="computes other values"):
        verify.check(tmp_path / "made", 1.002 * right, IDS, decoder=True, most=1e-3)


def test_a_conversion_that_computes_another_thing_is_refused(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    source = tmp_path / "source"
    shutil.copytree(tiny, source)
    other = {"head_dim": 16, "query_pre_attn_scalar": 4096, "sliding_window": 4096}  # CTranslate2 ignores it
    config = transformers.Gemma2Config(**{**LLAMA, **ROPE, **other})
    model = transformers.Gemma2ForCausalLM(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(6 if weights.dim() > 1 else 1)
    model.save_pretrained(source)
    assert "the converted model computes other values" in refused(source, tmp_path, capsys)


def test_what_the_backend_reads_is_in_the_folder(tiny: Path, minilm: Path, tmp_path: Path) -> None:
    assert converted(tiny, tmp_path / "made") == 0
    names = {file.name for file in (tmp_path / "made").iterdir()}
    assert {"model.bin", "tokenizer.json", "tokenizer_config.json", "generation_config.json"} <= names
    config = json.loads((tmp_path / "made" / "tokenizer_config.json").read_text())
    assert config["chat_template"] == TEMPLATE  # which the source has in a file of its own
    assert json.loads((tmp_path / "made" / "config.json").read_text())["max_position_embeddings"] == 128
    assert (minilm / "modules.json").is_file() and (minilm / "sentence_bert_config.json").is_file()
    assert (minilm / "1_Pooling" / "config.json").is_file()


def test_a_tokenizer_without_a_tokenizer_json_gets_one(
    minilm_source: Path, minilm: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    shutil.copytree(minilm_source, source)
    (source / "tokenizer.json").unlink()
    right = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    vocabulary = right.get_vocab()
    (source / "vocab.txt").write_text(
        "\n".join(sorted(vocabulary, key=lambda token: vocabulary[token])) + "\n"
    )
    assert converted(source, tmp_path / "made") == 0
    made = Tokenizer.from_file(str(tmp_path / "made" / "tokenizer.json"))
    for text in ("How much is a bed?", "na\u00efve caf\u00e9 \u4f60\u597d", ""):
        assert made.encode(text).tokens == right.encode(text).tokens[: len(made.encode(text).tokens)]


def test_sources_that_are_no_model_are_refused(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    assert "there is no such file" in refused(tmp_path / "none", tmp_path, capsys)
    text, folder = tmp_path / "text.gguf", tmp_path / "folder"
    text.write_text("no model")
    assert "the file is not GGUF" in refused(text, tmp_path, capsys)
    folder.mkdir()
    assert "has no config.json" in refused(folder, tmp_path, capsys)
    shutil.copy(tiny / "config.json", folder)
    assert "has no *.safetensors" in refused(folder, tmp_path, capsys)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x02")
    said = refused(folder, tmp_path, capsys)
    assert "pytorch_model.bin may be a pickle" in said and "save_pretrained()" in said


def test_damaged_sources_are_refused(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    cut = tmp_path / "cut.gguf"
    for size in (40, 100_000, 12_000_000):
        cut.write_bytes((HOUSE / "house.gguf").read_bytes()[:size])
        assert "cut.gguf' is damaged" in refused(cut, tmp_path, capsys)
    folder = tmp_path / "folder"
    shutil.copytree(tiny, folder)
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for size in (0, 20, len(whole) // 2):
        weights.write_bytes(whole[:size])
        assert "model.safetensors' is damaged" in refused(folder, tmp_path, capsys)
    weights.write_bytes(whole)
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "model-00001-of-00002.safetensors"}}')
    assert "it lists model-00001-of-00002.safetensors, which is missing" in refused(folder, tmp_path, capsys)
    index.unlink()
    (folder / "config.json").write_text("{")
    assert "config.json' is damaged" in refused(folder, tmp_path, capsys)


@pytest.mark.parametrize("data", ["[]", "7", '{"weight_map": 3}', '{"weight_map": {"a": []}}', "[" * 100_000])
def test_odd_json_is_refused(tiny: Path, tmp_path: Path, capsys: Any, data: str) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(tiny, folder)
    (folder / "model.safetensors.index.json").write_text(data)
    assert "index.json' is damaged" in refused(folder, tmp_path, capsys)
    if not data.startswith("{"):
        (folder / "config.json").write_text(data)
        assert "/config.json' is damaged" in refused(folder, tmp_path, capsys)


def test_missing_weights_are_not_made_up(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(tiny, folder)
    (folder / "config.json").write_text(
        json.dumps({**json.loads((tiny / "config.json").read_text()), "num_hidden_layers": 3})
    )
    assert "the weights lack model.layers.2." in refused(folder, tmp_path, capsys)


def test_other_architectures_are_refused_by_name(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(tiny, folder)
    config = json.loads((tiny / "config.json").read_text())
    for kind in ("vit", "no_such_model"):
        (folder / "config.json").write_text(json.dumps({**config, "model_type": kind, "architectures": []}))
        said = refused(folder, tmp_path, capsys)
        assert f"unsupported architecture '{kind}'" in said and len(said) < 500


def test_an_unknown_quantization_is_refused(tiny: Path, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        converted(tiny, tmp_path / "made", "--quantization", "int3")
    assert "invalid choice: 'int3'" in capsys.readouterr().err


def test_a_missing_package_is_named(tiny: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(convert, "find_spec", lambda name: None if name == "torch" else object())
    assert "needs torch: pip install 'sotto-runtime[convert]'" in refused(tiny, tmp_path, capsys)


def with_own_code(source: Path, ran: Path) -> None:
    """Adds a tokenizer class to a model folder that writes `ran` when it is imported."""
    (source / "own.py").write_text(
        f"open({str(ran)!r}, 'w').close()\nfrom transformers import PreTrainedTokenizerFast as Own\n"
    )
    config = json.loads((source / "tokenizer_config.json").read_text())
    config |= {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (source / "tokenizer_config.json").write_text(json.dumps(config))


def convert_and_agree(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Runs `sotto convert` and answers "y" to every question."""
    command = [sys.executable, "-m", "sotto.cli", "convert", source, "--to", "ctranslate2", out]
    return subprocess.run(command, input="y\n" * 9, timeout=120, stderr=subprocess.PIPE, text=True)


def test_code_of_a_model_folder_never_runs(tiny: Path, tmp_path: Path) -> None:
    source, ran = tmp_path / "source", tmp_path / "ran"
    shutil.copytree(tiny, source)
    with_own_code(source, ran)
    done = convert_and_agree(source, tmp_path / "made")
    assert done.returncode == 1 and not ran.exists() and not (tmp_path / "made").exists()
    assert "needs code from its own folder, which is never run" in done.stderr


def test_a_gguf_file_is_read_without_its_neighbours(tiny: Path, house: Path, tmp_path: Path) -> None:
    source, ran = tmp_path / "source", tmp_path / "ran"
    shutil.copytree(tiny, source)
    with_own_code(source, ran)
    shutil.copy(HOUSE / "house.gguf", source)
    assert convert_and_agree(source / "house.gguf", tmp_path / "made").returncode == 0
    assert not ran.exists()
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json", "vocabulary.json"):
        assert (tmp_path / "made" / name).read_bytes() == (house / name).read_bytes()
