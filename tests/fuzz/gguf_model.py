"""Reads a GGUF file into parts that a test can change, and writes it again."""

from __future__ import annotations

import copy
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STRING, ARRAY = 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
REALS = (6, 12)
TYPES = {  # ggml_type -> numbers of a block, bytes of a block
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
    34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18),
}  # fmt: skip


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


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def numbers(self, form: str, count: int = 1) -> tuple[Any, ...]:
        layout = struct.Struct(f"<{count}{form}")
        self.at += layout.size
        return layout.unpack_from(self.data, self.at - layout.size)

    def text(self) -> bytes:
        (size,) = self.numbers("Q")
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self) -> Value:
        (kind,) = self.numbers("I")
        if kind != ARRAY:
            return Value(kind, self.text() if kind == STRING else self.numbers(SCALARS[kind])[0])
        (kind,) = self.numbers("I")
        (count,) = self.numbers("Q")
        many = [self.text() for _ in range(count)] if kind == STRING else self.numbers(SCALARS[kind], count)
        return Value(kind, list(many), array=True)


def read(path: Path) -> Model:
    """Reads a sound file whose data is aligned to 32 bytes."""
    reader = _Reader(path.read_bytes())
    reader.at = 8
    tensors, values = reader.numbers("Q", 2)
    model = Model()
    for _ in range(values):
        key = reader.text().decode()
        model.values[key] = reader.value()
        if model.values[key].kind == STRING and not model.values[key].array:
            model.values[key].value = model.values[key].value.decode()
    offsets = {}
    for _ in range(tensors):
        name = reader.text().decode()
        shape = list(reader.numbers("Q", *reader.numbers("I")))
        (kind,) = reader.numbers("I")
        (offsets[name],) = reader.numbers("Q")
        model.tensors[name] = Tensor(shape, kind, b"")
    begin = reader.at + -reader.at % 32
    for name, tensor in model.tensors.items():
        at = begin + offsets[name]
        tensor.data = reader.data[at : at + tensor.bytes()]
    return model


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
