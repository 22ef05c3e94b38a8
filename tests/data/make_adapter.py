"""Writes seeded LoRA adapters of models with random weights: as GGUF, and as the folder of a PEFT adapter."""

import json
import random
import struct
from array import array
from dataclasses import dataclass
from pathlib import Path

import make_tiny
from gguf_file import F32, FLOAT32, STRING, Gguf

ALPHA = 16.0
Pair = tuple[list[float], list[float]]  # A (rank rows) and B (a row for each of the weight's), row by row


@dataclass(frozen=True)
class Base:
    """What an adapter fits."""

    width: int
    heads: int
    kv_heads: int
    hidden: int
    layers: int

    def modules(self) -> tuple[tuple[str, str, int, int, int], ...]:
        """llama.cpp's name, PEFT's, columns, rows, and heads whose halves llama.cpp interleaves."""
        kv_width = self.width // self.heads * self.kv_heads
        return (
            ("attn_q", "self_attn.q_proj", self.width, self.width, self.heads),
            ("attn_k", "self_attn.k_proj", self.width, kv_width, self.kv_heads),
            ("attn_v", "self_attn.v_proj", self.width, kv_width, 0),
            ("attn_output", "self_attn.o_proj", self.width, self.width, 0),
            ("ffn_gate", "mlp.gate_proj", self.width, self.hidden, 0),
            ("ffn_up", "mlp.up_proj", self.width, self.hidden, 0),
            ("ffn_down", "mlp.down_proj", self.hidden, self.width, 0),
        )


TINY = Base(make_tiny.WIDTH, make_tiny.HEADS, make_tiny.KV_HEADS, make_tiny.HIDDEN, make_tiny.LAYERS)


def pairs(base: Base, seed: int, rank: int, spread: float) -> dict[tuple[int, str], Pair]:
    """A and B by layer and llama.cpp's name, in llama.cpp's order."""
    source = random.Random(seed)

    def numbers(count: int) -> list[float]:
        return array("f", [source.gauss(0, spread) for _ in range(count)]).tolist()

    return {
        (layer, name): (numbers(rank * columns), numbers(rows * rank))
        for layer in range(base.layers)
        for name, _, columns, rows, _ in base.modules()
    }


def write_gguf(
    path: Path,
    seed: int,
    *,
    base: Base = TINY,
    rank: int = 4,
    spread: float = 0.3,
    architecture: str = "llama",
    kind: str = "adapter",
    alpha: float = ALPHA,
) -> Path:
    """Writes an adapter as llama.cpp reads it."""
    file = Gguf(architecture, seed)
    file.value("general.type", STRING, kind)
    file.value("adapter.type", STRING, "lora")
    file.value("adapter.lora.alpha", FLOAT32, alpha)
    shapes = {name: (columns, rows) for name, _, columns, rows, _ in base.modules()}
    for (layer, name), (a, b) in pairs(base, seed, rank, spread).items():
        columns, rows = shapes[name]
        for end, shape, values in (("a", (columns, rank), a), ("b", (rank, rows), b)):
            data = array("f", values).tobytes()
            file.tensor(f"blk.{layer}.{name}.weight.lora_{end}", shape, F32, lambda data=data: data)
    file.write(path)
    return path


def write_peft(
    folder: Path, seed: int, *, base: Base = TINY, rank: int = 4, spread: float = 0.3, **config: object
) -> Path:
    """Writes the same adapter as PEFT's `save_pretrained()` does; `config` replaces some of its settings."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": ALPHA, "bias": "none", **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    tensors: dict[str, tuple[tuple[int, int], list[float]]] = {}
    found = pairs(base, seed, rank, spread)
    for layer in range(base.layers):
        for name, theirs, columns, rows, heads in base.modules():
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


def write_merged(
    path: Path, seed: int, adapters: list[tuple[int, float]], *, rank: int, spread: float
) -> Path:
    """Writes the tiny llama of that seed with adapters (seed, scale) added to its weights: W + scale B A."""
    file = make_tiny.transformer("llama", seed)
    shapes = {name: (columns, rows) for name, _, columns, rows, _ in TINY.modules()}
    found = [(pairs(TINY, one, rank, spread), scale * ALPHA / rank) for one, scale in adapters]

    def merged(name: str, data: bytes) -> bytes:
        layer, module = name.split(".")[1:3]
        columns, rows = shapes[module]
        weight = array("f", data)
        for matrices, factor in found:
            a, b = matrices[int(layer), module]
            for row in range(rows):
                for at in range(rank):
                    times = factor * b[row * rank + at]
                    for column in range(columns):
                        weight[row * columns + column] += times * a[at * columns + column]
        return weight.tobytes()

    for at, (name, shape, kind, make) in enumerate(file.tensors):
        if name.startswith("blk.") and name.split(".")[2] in shapes:
            data = merged(name, make())
            file.tensors[at] = (name, shape, kind, lambda data=data: data)
    file.write(path)
    return path
