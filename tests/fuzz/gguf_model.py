"""Reads a GGUF file into parts that a test can change, and writes it again."""

from __future__ import annotations

import copy
import functools
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gguf import GGML_QUANT_SIZES, GGUFReader, GGUFValueType, ReaderField

STRING, ARRAY = int(GGUFValueType.STRING), int(GGUFValueType.ARRAY)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
REALS = (6, 12)
# ggml_type -> numbers of a block, bytes of a block. gguf 0.19 states another size of Q8_1 and lacks type 42.
TYPES = {int(kind): size for kind, size in GGML_QUANT_SIZES.items()} | {9: (32, 36), 42: (64, 18)}


@dataclass
class Value:
    """One entry of the metadata; of an array `kind` is that of its elements."""

    kind: int
    value: Any
    array: bool = False


@dataclass
class Tensor:
    """One tensor with its data."""

    shape: list[int]
    kind: int
    data: bytes

    def bytes(self) -> int:
        """Returns how many bytes its shape and type ask for."""
        block, size = TYPES[self.kind]
        count = 1
        for extent in self.shape:
            count *= extent
        return count // block * size

    def refit(self) -> None:
        """Makes the data as long as shape and type ask for."""
        wanted = self.bytes()
        once = self.data or b"\0"
        self.data = (once * (wanted // len(once) + 1))[:wanted]


@dataclass
class Model:
    """A whole file."""

    values: dict[str, Value] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def copy(self) -> Model:
        """Returns a model whose entries can be changed; the data is shared."""
        return Model(
            copy.deepcopy(self.values),
            {name: Tensor(list(one.shape), one.kind, one.data) for name, one in self.tensors.items()},
        )

    @property
    def architecture(self) -> str:
        """What the keys of the hyperparameters begin with."""
        return str(self.values["general.architecture"].value)

    def write(self, path: Path) -> None:
        """Writes the file."""
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.values))
        parts = [head, *(_text(key) + _packed(value) for key, value in self.values.items())]
        offset = 0
        for name, tensor in self.tensors.items():
            extents = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
            parts.append(_text(name) + extents + struct.pack("<IQ", tensor.kind, offset))
            offset += len(tensor.data) + -len(tensor.data) % 32
        head = b"".join(parts)
        with path.open("wb") as file:
            file.write(head + bytes(-len(head) % 32))
            for tensor in self.tensors.values():
                file.write(tensor.data + bytes(-len(tensor.data) % 32))


def read(path: Path) -> Model:
    """Reads a sound file, whose parse is cached. Texts in arrays stay bytes, as tokens need not be UTF-8."""
    return _parse(path).copy()


@functools.cache
def _parse(path: Path) -> Model:
    reader = GGUFReader(path)
    model = Model()
    for key, field_read in reader.fields.items():
        if not key.startswith("GGUF."):  # the header's own counts
            model.values[key] = _value(field_read)
    for tensor in reader.tensors:
        shape = [int(extent) for extent in tensor.shape]
        model.tensors[tensor.name] = Tensor(shape, int(tensor.tensor_type), tensor.data.tobytes())
    return model


def _value(read: ReaderField) -> Value:
    kind = int(read.types[-1])
    parts = [read.parts[index] for index in read.data]
    if read.types[0] != GGUFValueType.ARRAY:
        return Value(kind, parts[0].tobytes().decode() if kind == STRING else parts[0][0].item())
    many = [part.tobytes() if kind == STRING else part[0].item() for part in parts]
    return Value(kind, many, array=True)


def _text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def _packed(value: Value) -> bytes:
    if not value.array:
        head = struct.pack("<I", value.kind)
        return head + (_text(value.value) if value.kind == STRING else _number(value.kind, value.value))
    head = struct.pack("<IIQ", ARRAY, value.kind, len(value.value))
    if value.kind == STRING:
        return head + b"".join(map(_text, value.value))
    return head + b"".join(_number(value.kind, one) for one in value.value)


def _number(kind: int, value: float) -> bytes:
    if kind in REALS:
        return struct.pack("<" + SCALARS[kind], value)
    bits = struct.calcsize("<" + SCALARS[kind]) * 8
    return (int(value) % (1 << bits)).to_bytes(bits // 8, "little")
