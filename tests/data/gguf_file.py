"""Writes GGUF files: metadata, then tensors, whose data is made as it is written."""

import random
import struct
from array import array
from collections.abc import Callable
from pathlib import Path

ALIGNMENT = 32

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
F32, F16, Q4_0, Q8_0, Q6_K = 0, 1, 2, 8, 14
BLOCKS = {
    F32: (1, 4),
    F16: (1, 2),
    Q4_0: (32, 18),
    Q8_0: (32, 34),
    Q6_K: (256, 210),
}  # kind -> numbers a block, bytes a block

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6  # kinds of tokens


class Gguf:
    """Collects metadata and tensors, then writes them as one file."""

    def __init__(self, architecture: str, seed: int, name: str = "") -> None:
        self.architecture = architecture
        self.values: list[bytes] = []
        self.tensors: list[tuple[str, tuple[int, ...], int, Callable[[], bytes]]] = []
        self.random = random.Random(seed)
        self.value("general.architecture", STRING, architecture)
        self.value("general.name", STRING, name or f"tiny {architecture}")

    def value(self, key: str, kind: int, value: object) -> None:
        """Adds one number, text or truth."""
        self.values.append(text(key) + struct.pack("<I", kind) + packed(kind, value))

    def values_of(self, kind: int, **values: object) -> None:
        """Adds values under the architecture's name; two underscores stand for a dot."""
        for key, value in values.items():
            self.value(f"{self.architecture}.{key.replace('__', '.')}", kind, value)

    def array(self, key: str, kind: int, values: list) -> None:
        """Adds a list."""
        head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
        self.values.append(head + b"".join(packed(kind, value) for value in values))

    def tensor(self, name: str, shape: tuple[int, ...], kind: int, make: Callable[[], bytes]) -> None:
        """Adds a tensor; its first extent is a row's length."""
        self.tensors.append((name, shape, kind, make))

    def weight(
        self, name: str, *shape: int, scale: float = 0.0, around: float = 0.0, kind: int = F32
    ) -> None:
        """Adds a tensor of normal deviates."""
        spread = scale or shape[0] ** -0.5
        numbers = [self.random.gauss(around, spread) for _ in range(elements(shape))]
        data = quantised(numbers) if kind == Q4_0 else array("f", numbers).tobytes()
        self.tensor(name, shape, kind, lambda: data)

    def write(self, path: Path) -> None:
        """Writes the file."""
        infos, offset = b"", 0
        for name, shape, kind, _ in self.tensors:
            extents = struct.pack(f"<{len(shape)}Q", *shape)
            infos += text(name) + struct.pack("<I", len(shape)) + extents + struct.pack("<IQ", kind, offset)
            offset += aligned(bytes_of(shape, kind))
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.values))
        with path.open("wb") as file:
            file.write(padded(head + b"".join(self.values) + infos))
            for name, shape, kind, make in self.tensors:
                data = make()
                if len(data) != bytes_of(shape, kind):
                    raise ValueError(f"{name} has {len(data)} bytes, not {bytes_of(shape, kind)}")
                file.write(data)
                file.write(bytes(-len(data) % ALIGNMENT))


def elements(shape: tuple[int, ...]) -> int:
    """How many numbers a tensor has."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def bytes_of(shape: tuple[int, ...], kind: int) -> int:
    """How many bytes a tensor takes."""
    numbers, size = BLOCKS[kind]
    return elements(shape) // numbers * size


def text(value: str) -> bytes:
    """A GGUF string."""
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def packed(kind: int, value: object) -> bytes:
    """One value of a kind."""
    if kind == STRING:
        return text(str(value))
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def aligned(size: int) -> int:
    """The next aligned place."""
    return size + -size % ALIGNMENT


def padded(data: bytes) -> bytes:
    """The bytes up to the next aligned place."""
    return data + bytes(-len(data) % ALIGNMENT)


def quantised(numbers: list[float]) -> bytes:
    """Blocks of 32 numbers as ggml's Q4_0: a half-precision scale, then two numbers a byte."""
    blocks = []
    for start in range(0, len(numbers), 32):
        block = numbers[start : start + 32]
        scale = max(block, key=abs) / -8 or 1.0
        steps = [min(15, int(number / scale + 8.5)) for number in block]
        pairs = bytes(low | high << 4 for low, high in zip(steps[:16], steps[16:], strict=True))
        blocks.append(struct.pack("<e", scale) + pairs)
    return b"".join(blocks)
