"""Converts the folder of a PEFT LoRA adapter to GGUF, for models of the Llama architecture.

llama.cpp keeps the rows of the query and key weights in another order than PEFT: it interleaves the two
halves of each head, which rotary position embeddings pair. The B matrix of an adapter adds to these rows, so
its rows are put in the same order; A stays as it is.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .errors import ModelLoadError, Status

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
ARCHITECTURE = "llama"
_ALIGNMENT = 32
_UINT32, _FLOAT32, _STRING = 4, 6, 8
_TYPES = {"F32": (0, 4), "F16": (1, 2), "BF16": (30, 2)}  # ggml's number, bytes per element
_MODULES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_NAME = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.([\w.]+)\.lora_([AB])(?:\.\w+)?\.weight")
_OUTPUT = re.compile(r"base_model\.model\.lm_head\.lora_([AB])(?:\.\w+)?\.weight")
# Settings under which B times A is not all that the adapter adds.
_UNSUPPORTED: dict[str, tuple[Any, Any]] = {
    "use_dora": (False, None),
    "bias": ("none", None),
    "lora_bias": (False, None),
    "modules_to_save": (None, []),
    "alpha_pattern": ({}, None),
    "fan_in_fan_out": (False, None),
}


class _Tensor(NamedTuple):
    """One matrix: `data` has its rows one after another."""

    name: str
    dtype: str
    rows: int
    columns: int
    data: bytes


def convert(folder: str, made: str, base: Mapping[str, Any]) -> None:
    """Writes the adapter in `folder` to the GGUF file `made`. `base`: the `details` of the model.

    Raises:
        ModelLoadError: Something is missing, damaged or not supported; the text names it.
    """
    where = Path(folder)
    for file, way_out in (
        (CONFIG, "pass the folder that PEFT's save_pretrained() has written"),
        (WEIGHTS, "save the adapter with safe_serialization=True"),
    ):
        if not (where / file).is_file():
            _refuse(folder, f"expected a folder with {file}; {way_out}", Status.NOT_FOUND)
    if (found := base.get("architecture")) != ARCHITECTURE:
        _refuse(
            folder,
            f"expected an adapter of a model of architecture '{ARCHITECTURE}', and the model's is '{found}'; "
            "convert the adapter with convert_lora_to_gguf.py of llama.cpp",
            Status.UNSUPPORTED,
        )
    alpha = _alpha_of(folder, where / CONFIG)
    heads = {"attn_q": base["heads"], "attn_k": base["kv_heads"]}
    tensors = [_named(folder, one, heads) for one in _read(folder, where / WEIGHTS)]
    if not tensors:
        _refuse(folder, f"expected {WEIGHTS} to hold at least one pair lora_A and lora_B; train it again")
    _write(made, alpha, tensors)


def _refuse(folder: str, expected: str, status: Status = Status.MODEL) -> NoReturn:
    raise ModelLoadError(f"invalid adapter_path '{folder}': {expected}", status)


def _alpha_of(folder: str, path: Path) -> float:
    """Returns what the product of B and A is multiplied by, times the rank, as GGUF has it."""
    try:
        config = json.loads(path.read_bytes())
    except ValueError as error:
        _refuse(folder, f"expected JSON in {CONFIG}: {error}; copy the file again")
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        told = config.get("peft_type") if isinstance(config, dict) else config
        _refuse(folder, f"expected peft_type 'LORA' in {CONFIG}, not '{told}'; train a LoRA adapter")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        _refuse(folder, f"expected r of at least 1 in {CONFIG}, not '{rank}'; train with a rank above 0")
    if not isinstance(alpha, (int, float)) or isinstance(alpha, bool) or not math.isfinite(alpha):
        _refuse(folder, f"expected a finite lora_alpha in {CONFIG}, not '{alpha}'; train the adapter again")
    for key, allowed in _UNSUPPORTED.items():
        if key in config and config[key] not in allowed and config[key]:
            _refuse(
                folder,
                f"expected {key} '{allowed[0]}' in {CONFIG}, not '{config[key]}'; train without it",
                Status.UNSUPPORTED,
            )
    if config.get("use_rslora") and config.get("rank_pattern"):
        _refuse(folder, "expected use_rslora without rank_pattern; train without it", Status.UNSUPPORTED)
    return float(alpha * math.sqrt(rank) if config.get("use_rslora") else alpha)


def _read(folder: str, path: Path) -> Iterator[_Tensor]:
    """Yields the matrices of a safetensors file: a size, a JSON header, then the data."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > len(content) - 8:
        _refuse(folder, f"expected {WEIGHTS} of more than {len(content)} bytes; copy the file again")
    try:
        header = json.loads(content[8 : 8 + size])
    except ValueError as error:
        _refuse(folder, f"expected a JSON header in {WEIGHTS}: {error}; copy the file again")
    data = memoryview(content)[8 + size :]
    for name, told in header.items():
        if name == "__metadata__":
            continue
        try:
            dtype, (rows, columns), (begin, end) = told["dtype"], told["shape"], told["data_offsets"]
        except (TypeError, KeyError, ValueError):
            _refuse(folder, f"expected tensor '{name}' of {WEIGHTS} with dtype, 2 dimensions and offsets")
        if dtype not in _TYPES:
            _refuse(folder, f"expected tensor '{name}' of type {', '.join(_TYPES)}, not '{dtype}'")
        if not (rows > 0 and columns > 0 and end - begin == rows * columns * _TYPES[dtype][1]):
            _refuse(folder, f"expected {rows} x {columns} numbers in tensor '{name}'; save the adapter again")
        if begin < 0 or end > len(data):
            _refuse(
                folder, f"expected tensor '{name}' within {WEIGHTS}, which is cut short; copy the file again"
            )
        yield _Tensor(name, dtype, rows, columns, bytes(data[begin:end]))


def _named(folder: str, tensor: _Tensor, heads: Mapping[str, int]) -> _Tensor:
    """Returns the tensor with llama.cpp's name, and its rows in llama.cpp's order."""
    if found := _OUTPUT.fullmatch(tensor.name):
        return tensor._replace(name=f"output.weight.lora_{found[1].lower()}")
    found = _NAME.fullmatch(tensor.name)
    if not found or found[2] not in _MODULES:
        _refuse(
            folder,
            f"unexpected tensor '{tensor.name}': expected lora_A and lora_B of {', '.join(_MODULES)} or "
            "lm_head; train the adapter with these target_modules only",
            Status.UNSUPPORTED,
        )
    module = _MODULES[found[2]]
    made = tensor._replace(name=f"blk.{found[1]}.{module}.weight.lora_{found[3].lower()}")
    if found[3] == "B" and module in heads:
        count = heads[module]
        if tensor.rows % (2 * count):
            _refuse(
                folder,
                f"expected a multiple of {2 * count} rows in tensor '{tensor.name}', not {tensor.rows}; "
                "pass an adapter that was trained for this model",
            )
        made = made._replace(data=_interleaved(tensor, count))
    return made


def _interleaved(tensor: _Tensor, heads: int) -> bytes:
    """Returns the rows of each head in the order 0, h/2, 1, h/2 + 1, ..."""
    width = len(tensor.data) // tensor.rows
    size = tensor.rows // heads
    order = (
        head * size + half * (size // 2) + at
        for head in range(heads)
        for at in range(size // 2)
        for half in range(2)
    )
    return b"".join(tensor.data[row * width : (row + 1) * width] for row in order)


def _write(path: str, alpha: float, tensors: list[_Tensor]) -> None:
    values = [
        _text("general.type") + struct.pack("<I", _STRING) + _text("adapter"),
        _text("adapter.type") + struct.pack("<I", _STRING) + _text("lora"),
        _text("general.architecture") + struct.pack("<I", _STRING) + _text(ARCHITECTURE),
        _text("adapter.lora.alpha") + struct.pack("<If", _FLOAT32, alpha),
        _text("general.alignment") + struct.pack("<II", _UINT32, _ALIGNMENT),
    ]
    infos, offset = [], 0
    for one in tensors:
        extents = struct.pack("<IQQ", 2, one.columns, one.rows)
        infos.append(_text(one.name) + extents + struct.pack("<IQ", _TYPES[one.dtype][0], offset))
        offset += len(one.data) + -len(one.data) % _ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values + infos)
    with open(path, "wb") as file:
        for block in (head, *(one.data for one in tensors)):
            file.write(block + bytes(-len(block) % _ALIGNMENT))


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw
