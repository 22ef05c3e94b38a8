"""Writes seeded LoRA adapters of the tiny llama: as GGUF, and as the folder of a PEFT adapter."""

import json
import struct
from array import array
from pathlib import Path

from gguf_file import F32, FLOAT32, STRING, Gguf
from make_tiny import HEAD, HEADS, HIDDEN, KV_HEADS, LAYERS, WIDTH

ALPHA = 16.0
# llama.cpp's name, PEFT's, columns of the weight, rows of the weight, heads whose halves are interleaved
MODULES = (
    ("attn_q", "self_attn.q_proj", WIDTH, HEADS * HEAD, HEADS),
    ("attn_k", "self_attn.k_proj", WIDTH, KV_HEADS * HEAD, KV_HEADS),
    ("attn_v", "self_attn.v_proj", WIDTH, KV_HEADS * HEAD, 0),
    ("attn_output", "self_attn.o_proj", HEADS * HEAD, WIDTH, 0),
    ("ffn_gate", "mlp.gate_proj", WIDTH, HIDDEN, 0),
    ("ffn_up", "mlp.up_proj", WIDTH, HIDDEN, 0),
    ("ffn_down", "mlp.down_proj", HIDDEN, WIDTH, 0),
)
Pair = tuple[list[float], list[float]]  # A (rank rows) and B (a row for each of the weight's), row by row


def pairs(seed: int, rank: int, spread: float) -> dict[tuple[int, str], Pair]:
    """A and B by layer and llama.cpp's name, in llama.cpp's order."""
    source = Gguf("llama", seed).random

    def numbers(count: int) -> list[float]:
        return array("f", [source.gauss(0, spread) for _ in range(count)]).tolist()

    return {
        (layer, name): (numbers(rank * columns), numbers(rows * rank))
        for layer in range(LAYERS)
        for name, _, columns, rows, _ in MODULES
    }


def write_gguf(
    path: Path, seed: int, *, rank: int = 4, spread: float = 0.3, architecture: str = "llama"
) -> Path:
    """Writes an adapter as llama.cpp reads it."""
    file = Gguf(architecture, seed)
    file.value("general.type", STRING, "adapter")
    file.value("adapter.type", STRING, "lora")
    file.value("adapter.lora.alpha", FLOAT32, ALPHA)
    shapes = {name: (columns, rows) for name, _, columns, rows, _ in MODULES}
    for (layer, name), (a, b) in pairs(seed, rank, spread).items():
        columns, rows = shapes[name]
        for end, shape, values in (("a", (columns, rank), a), ("b", (rank, rows), b)):
            data = array("f", values).tobytes()
            file.tensor(f"blk.{layer}.{name}.weight.lora_{end}", shape, F32, lambda data=data: data)
    file.write(path)
    return path


def write_peft(folder: Path, seed: int, *, rank: int = 4, spread: float = 0.3, **config: object) -> Path:
    """Writes the same adapter as PEFT's `save_pretrained()` does."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": ALPHA, "bias": "none", **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    tensors: dict[str, tuple[tuple[int, int], list[float]]] = {}
    found = pairs(seed, rank, spread)
    for layer in range(LAYERS):
        for name, theirs, columns, rows, heads in MODULES:
            a, b = found[layer, name]
            stem = f"base_model.model.model.layers.{layer}.{theirs}"
            tensors[f"{stem}.lora_A.weight"] = ((rank, columns), a)
            tensors[f"{stem}.lora_B.weight"] = ((rows, rank), halves(b, rows, rank, heads) if heads else b)
    write_safetensors(folder / "adapter_model.safetensors", tensors)
    return folder


def halves(matrix: list[float], rows: int, columns: int, heads: int) -> list[float]:
    """The rows of each head as PEFT has them: first the even ones, then the odd ones."""
    size = rows // heads
    order = [head * size + 2 * at + odd for head in range(heads) for odd in (0, 1) for at in range(size // 2)]
    return [number for row in order for number in matrix[row * columns : (row + 1) * columns]]


def write_safetensors(path: Path, tensors: dict[str, tuple[tuple[int, int], list[float]]]) -> None:
    """Writes float32 matrices."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (shape, values) in tensors.items():
        raw = array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
