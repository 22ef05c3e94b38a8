"""`sotto models convert`: its files answer as their sources do, and what its arguments do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from conversion import HOUSE
from gguf import GGUFReader, GGUFWriter, quants
from gguf_sources import TEXT, conversations, converted, splitters, tiny_folder
from tokenizers import Tokenizer

import sotto
from sotto import cli
from sotto.commands.models import convert

PROMPTS = 50
TOKENS = 16
CHUNK = 128  # tokens: the trained context of the tiny model
MATRICES = {
    **{"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj"},
    **{"attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj"},
    **{"ffn_down": "mlp.down_proj"},
}


def answers(model: Path, asked: list[list[dict[str, Any]]]) -> list[str]:
    """Greedy answers to lines of the corpus."""
    with sotto.Engine("cpu", threads=1, mode="prioritize_compute", deterministic=True) as engine:
        engine.load_model("npc", path=model)
        return [engine.chat(one, model="npc", max_tokens=TOKENS, temperature=0).text for one in asked]


def in_types_of(committed: Path, made: Path, path: Path) -> Path:
    """Writes `made` with the types of the tensors of `committed`, which no type of llama-quantize has."""
    types = {tensor.name: tensor.tensor_type for tensor in GGUFReader(committed).tensors}
    reader = GGUFReader(made)
    writer = GGUFWriter(path, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind, field.types[-1] if kind.name == "ARRAY" else None)
    for tensor in reader.tensors:
        kind = types[tensor.name]
        writer.add_tensor(tensor.name, quants.quantize(tensor.data, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_converted_house_model_answers_as_the_committed_file(house_source: Path, tmp_path: Path) -> None:
    committed, made = HOUSE / "house.gguf", tmp_path / "f32.gguf"
    assert converted(house_source, made, "--quantize", "f32") == 0
    weights = {tensor.name: tensor.data for tensor in GGUFReader(made).tensors}
    for tensor in GGUFReader(committed).tensors:
        right = quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(weights.pop(tensor.name), right)
    assert not weights
    theirs, ours = GGUFReader(committed).fields, GGUFReader(made).fields
    for key in ("tokens", "merges", "pre", "bos_token_id", "eos_token_id"):
        assert ours[f"tokenizer.ggml.{key}"].contents() == theirs[f"tokenizer.ggml.{key}"].contents()
    assert ours["tokenizer.chat_template"].contents() == theirs["tokenizer.chat_template"].contents()
    asked = conversations(PROMPTS)
    answered = [
        answers(file, asked) for file in (committed, in_types_of(committed, made, tmp_path / "q.gguf"))
    ]
    same = sum(one == other for one, other in zip(*answered, strict=True))
    print(f"\nspeech: {same} of {PROMPTS} greedy answers of the converted house model as those of the GGUF")
    assert same >= 0.98 * PROMPTS


@pytest.mark.parametrize("splitter", splitters())
def test_a_vocabulary_of_ones_own_reads_the_same_tokens(tmp_path: Path, splitter: str) -> None:
    source = tiny_folder(tmp_path / "tiny", splitter)
    assert converted(source, tmp_path / "tiny.gguf") == 0
    fields = GGUFReader(tmp_path / "tiny.gguf").fields
    assert fields["tokenizer.ggml.pre"].contents() == splitter
    assert fields["general.file_type"].contents() == 1  # F16
    right = Tokenizer.from_file(str(source / "tokenizer.json"))
    with sotto.Engine("cpu") as engine:
        engine.load_model("tiny", path=tmp_path / "tiny.gguf")
        for line in (TEXT, *TEXT.split(), "I'll pay  77 777777\n\n", "don't DON'T 'tis"):
            asked = {"model": "tiny", "content": line, "add_special": False}
            assert json.loads(engine.tokenize(asked))["tokens"] == right.encode(line).ids


def test_an_importance_matrix_is_measured_on_a_text(tiny_source: Path, tmp_path: Path, capsys: Any) -> None:
    text, short = tmp_path / "lines.txt", tmp_path / "short.txt"
    text.write_text(TEXT * 10)
    short.write_text("Good evening, traveller.\n")
    assert converted(tiny_source, tmp_path / "plain.gguf", "--quantize", "Q4_K_M") == 0
    assert converted(tiny_source, tmp_path / "made.gguf", "--quantize", "iq2_xs", "--imatrix", str(text)) == 0
    fields = GGUFReader(tmp_path / "made.gguf").fields
    assert fields["quantize.imatrix.file"].contents() == str(text)
    assert fields["quantize.imatrix.entries_count"].contents() == 14
    assert converted(tiny_source, tmp_path / "no.gguf", "--quantize", "IQ2_XS") == 2
    assert "set imatrix" in capsys.readouterr().err
    assert converted(tiny_source, tmp_path / "no.gguf", "--quantize", "Q4_K_M", "--imatrix", str(short)) == 2
    assert "a text of 128 tokens or more, not " in capsys.readouterr().err
    short.write_bytes(b"\xff\xfe" * 40)
    assert converted(tiny_source, tmp_path / "no.gguf", "--quantize", "Q4_K_M", "--imatrix", str(short)) == 2
    assert "a text in UTF-8, or a matrix in GGUF" in capsys.readouterr().err
    assert converted(tiny_source, tmp_path / "no.gguf", "--imatrix", str(text)) == 2
    assert "expected none without --quantize and a type below 16 bits" in capsys.readouterr().err
    missing = str(tmp_path / "none.txt")
    assert converted(tiny_source, tmp_path / "no.gguf", "--quantize", "Q4_K_M", "--imatrix", missing) == 1
    assert "invalid imatrix" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.glob("*.gguf")) == ["made.gguf", "plain.gguf"]
    assert not list(tmp_path.glob(".*"))


def measured(source: Path, text: str, path: Path) -> Path:
    """Writes the importance matrix of a text, as the model of transformers computes it, in a file."""
    model = transformers.LlamaForCausalLM.from_pretrained(source, local_files_only=True)
    sums: dict[str, torch.Tensor] = {}

    def hook(name: str) -> Any:
        def add(_: Any, inputs: Any) -> None:
            sums[name] = sums.get(name, 0) + inputs[0][0].square().sum(0)

        return add

    for at, layer in enumerate(model.model.layers):
        for name, part in MATRICES.items():
            layer.get_submodule(part).register_forward_pre_hook(hook(f"blk.{at}.{name}.weight"))
    ids = Tokenizer.from_file(str(source / "tokenizer.json")).encode(text).ids
    chunks = len(ids) // CHUNK
    with torch.no_grad():
        for at in range(chunks):
            model(torch.tensor([ids[at * CHUNK : (at + 1) * CHUNK]]))
    writer = GGUFWriter(path, "llama")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", ["lines.txt"])
    writer.add_uint32("imatrix.chunk_count", chunks)
    writer.add_uint32("imatrix.chunk_size", CHUNK)
    for name, squares in sums.items():
        writer.add_tensor(f"{name}.in_sum2", squares.numpy()[None])
        writer.add_tensor(f"{name}.counts", np.array([[chunks * CHUNK]], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def same_bytes(one: Path, other: Path) -> float:
    """The share of the bytes of all matrices of layers that two files have in common."""
    theirs = {tensor.name: tensor.data for tensor in GGUFReader(other).tensors}
    pairs = [
        (each.data, theirs[each.name]) for each in GGUFReader(one).tensors if each.data.dtype == np.uint8
    ]
    return float(np.mean(np.concatenate([(mine == yours).ravel() for mine, yours in pairs])))


@pytest.mark.parametrize("kind", ["Q4_K_S", "IQ2_XS"])
def test_the_matrix_that_is_measured_is_that_of_transformers(
    tiny_source: Path, tmp_path: Path, kind: str
) -> None:
    text = tmp_path / "lines.txt"
    text.write_text(TEXT * 10)
    matrix = measured(tiny_source, TEXT * 10, tmp_path / "matrix.gguf")
    other = measured(tiny_source, TEXT.upper() * 2, tmp_path / "other.gguf")
    made = {}
    for name, imatrix in (("text", text), ("matrix", matrix), ("other", other)):
        made[name] = tmp_path / f"{name}-{kind}.gguf"
        assert converted(tiny_source, made[name], "--quantize", kind, "--imatrix", str(imatrix)) == 0
    assert same_bytes(made["text"], made["matrix"]) > 0.99
    assert same_bytes(made["text"], made["other"]) < 0.97


def test_the_name_of_the_file_follows_from_the_folder(
    tiny_source: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["models", "convert", str(tiny_source), "--quantize", "Q8_0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    file = tmp_path / "tiny-Q8_0.gguf"
    assert told == {
        "path": str(file),
        "bytes": file.stat().st_size,
        "source_bytes": (tiny_source / "model.safetensors").stat().st_size,
    }
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_exists_is_kept_unless_forced(tiny_source: Path, out: Path, capsys: Any) -> None:
    file = out / "made.gguf"
    file.write_bytes(b"mine")
    assert converted(tiny_source, file) == 2
    said = capsys.readouterr().err  # the middle of a long path is left out
    assert "invalid --to '" in said and "made.gguf': expected a new file" in said
    assert file.read_bytes() == b"mine"
    assert converted(tiny_source, out) == 2
    assert "this is a folder, a link or a device" in capsys.readouterr().err
    (out / "link.gguf").symlink_to(file)
    assert converted(tiny_source, out / "link.gguf", "--force") == 2
    assert file.read_bytes() == b"mine"
    assert converted(tiny_source, file, "--force") == 0
    assert file.read_bytes()[:4] == b"GGUF"
    assert sorted(entry.name for entry in out.iterdir()) == ["link.gguf", "made.gguf"]


def test_progress_is_told_and_an_interrupt_leaves_nothing(
    folder: Path, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float]] = []
    stop_at = [""]

    class Fractions:
        def __enter__(self) -> Any:
            return self.report

        def __exit__(self, *_: object) -> None:
            pass

        def report(self, part: str, done: float) -> None:
            told.append((part, done))
            if part == stop_at[0]:
                raise KeyboardInterrupt

    monkeypatch.setattr(convert.progress, "fractions", lambda name: Fractions())
    assert converted(folder, out / "made.gguf", "--quantize", "Q4_K_M") == 0
    (out / "made.gguf").unlink()
    for part in ("convert", "quantize"):
        fractions = [done for name, done in told if name == part]
        assert fractions == sorted(fractions) and fractions[-1] > 0.8
    for part in ("convert", "quantize"):
        stop_at[0] = part
        assert converted(folder, out / "made.gguf", "--quantize", "Q4_K_M") == 130
        assert "stopped; nothing was written" in capsys.readouterr().err
        assert not list(out.iterdir())
