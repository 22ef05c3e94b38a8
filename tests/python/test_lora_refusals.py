"""LoRA adapters that are damaged, made for another model, or not supported: each is refused by name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import make_tiny
import sotto
from adapting import SEED, logprobs
from make_adapter import TINY, Base, write_gguf, write_peft, write_safetensors

pytestmark = pytest.mark.real


def cut(folder: Path) -> Path:
    path = folder / "cut.gguf"
    path.write_bytes(write_gguf(folder / "whole.gguf", 11).read_bytes()[:-100])
    return path


def not_a_number(folder: Path) -> Path:
    path = write_gguf(folder / "nan.gguf", 11)
    data = path.read_bytes()
    path.write_bytes(data[:-4] + struct.pack("<f", float("nan")))
    return path


def text_file(folder: Path) -> Path:
    path = folder / "text.gguf"
    path.write_text("this is a text, not an adapter")
    return path


WIDER = Base(256, TINY.heads, TINY.kv_heads, TINY.hidden, TINY.layers)
DEEPER = Base(TINY.width, TINY.heads, TINY.kv_heads, TINY.hidden, TINY.layers + 1)
BAD_FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing": (lambda to: to / "absent.gguf", "does not exist"),
    "text": (text_file, "not a GGUF file"),
    "cut": (cut, "extends beyond the end of the file|cut short"),
    "a model": (lambda to: make_tiny_at(to), "invalid general.type '': expected 'adapter'"),
    "kind": (lambda to: write_gguf(to / "k", 1, kind="imatrix"), "invalid general.type 'imatrix'"),
    "architecture": (
        lambda to: write_gguf(to / "a", 1, architecture="gemma3"),
        "invalid general.architecture 'gemma3': expected 'llama'",
    ),
    "wider": (
        lambda to: write_gguf(to / "w", 1, base=WIDER),
        r"A of 256 x 4 and B of 4 x 128; expected 128 x",
    ),
    "deeper": (lambda to: write_gguf(to / "d", 1, base=DEEPER), r"invalid tensor 'blk\.2\.attn_k"),
    "alpha": (lambda to: write_gguf(to / "i", 1, alpha=float("inf")), "invalid adapter.lora.alpha"),
    "nan": (not_a_number, "it holds NaN or infinity"),
}


def make_tiny_at(folder: Path) -> Path:
    make_tiny.transformer("llama", SEED).write(folder / "model.gguf")
    return folder / "model.gguf"


@pytest.mark.row("A-160")
@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(adapted: sotto.Engine, tmp_path: Path, name: str) -> None:
    make, expected = BAD_FILES[name]
    base = logprobs(adapted)
    path = make(tmp_path)
    with pytest.raises(sotto.ModelLoadError, match=expected) as error:
        adapted.lora_load("tiny", path)
    assert str(path) in str(error.value)
    assert adapted.lora_list("tiny") == []
    assert logprobs(adapted) == base


def without(folder: Path, name: str) -> Path:
    (write_peft(folder, 11) / name).unlink()
    return folder


def with_config(folder: Path, content: str) -> Path:
    (write_peft(folder, 11) / "adapter_config.json").write_text(content)
    return folder


def with_weights(folder: Path, change: Callable[[bytes], bytes]) -> Path:
    path = write_peft(folder, 11) / "adapter_model.safetensors"
    path.write_bytes(change(path.read_bytes()))
    return folder


def with_tensor(folder: Path, name: str, shape: tuple[int, int]) -> Path:
    path = write_peft(folder, 11) / "adapter_model.safetensors"
    write_safetensors(path, {name: (shape, [0.5] * (shape[0] * shape[1]))})
    return folder


STEM = "base_model.model.model.layers.0"
BAD_FOLDERS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no config": (lambda to: without(to, "adapter_config.json"), "folder with adapter_config.json; pass"),
    "no weights": (lambda to: without(to, "adapter_model.safetensors"), "adapter_model.safetensors; save"),
    "no json": (lambda to: with_config(to, "{"), "expected JSON in adapter_config.json"),
    "not lora": (lambda to: write_peft(to, 1, peft_type="IA3"), "expected peft_type 'LORA'.*not 'IA3'"),
    "rank 0": (lambda to: write_peft(to, 1, r=0), "expected r of at least 1 .*not '0'"),
    "no alpha": (lambda to: write_peft(to, 1, lora_alpha=None), "expected a finite lora_alpha .*not 'None'"),
    "dora": (lambda to: write_peft(to, 1, use_dora=True), "expected use_dora 'False'"),
    "bias": (lambda to: write_peft(to, 1, bias="all"), "expected bias 'none' .*not 'all'"),
    "cut": (lambda to: with_weights(to, lambda data: data[:-10]), "which is cut short; copy the file again"),
    "cut header": (lambda to: with_weights(to, lambda data: data[:50]), "of more than 50 bytes"),
    "module": (
        lambda to: with_tensor(to, f"{STEM}.self_attn.rotary.lora_A.weight", (4, 128)),
        r"unexpected tensor .*rotary\.lora_A\.weight': expected lora_A and lora_B of self_attn\.q_proj",
    ),
    "shape": (
        lambda to: with_tensor(to, f"{STEM}.self_attn.q_proj.lora_B.weight", (100, 4)),
        "expected a multiple of 8 rows in tensor .*, not 100",
    ),
    "half a pair": (
        lambda to: with_tensor(to, f"{STEM}.self_attn.v_proj.lora_B.weight", (64, 4)),
        r"missing tensor 'blk\.0\.attn_v\.weight\.lora_a'",
    ),
    "other model": (lambda to: write_peft(to, 1, base=WIDER), "expected 128 x rank"),
    "nothing": (lambda to: with_weights(to, lambda _: struct.pack("<Q", 2) + b"{}"), "at least one pair"),
}


@pytest.mark.row("A-160")
@pytest.mark.parametrize("name", BAD_FOLDERS)
def test_bad_peft_folders_are_refused(adapted: sotto.Engine, tmp_path: Path, name: str) -> None:
    make, expected = BAD_FOLDERS[name]
    with pytest.raises(sotto.ModelLoadError, match=expected):
        adapted.lora_load("tiny", make(tmp_path / "peft"))
    assert adapted.lora_list("tiny") == []


def test_a_peft_folder_needs_a_llama(adapted: sotto.Engine, lora_files: Path, tmp_path: Path) -> None:
    adapted.load_model("gemma", path=lora_files / "gemma.gguf")
    with pytest.raises(sotto.ModelLoadError, match="architecture 'llama', and the model's is 'gemma3'"):
        adapted.lora_load("gemma", write_peft(tmp_path / "peft", 11))
    adapted.unload_model("gemma")
