"""Random tensors, drawn from a seed, and the files that hold them: safetensors and GGUF."""

from __future__ import annotations

import json
import math
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "data"))

from gguf_file import BLOCKS, F16, F32, Q4_0, Q8_0, Gguf  # needs the path above

SAFETENSORS = {F32: "F32", F16: "F16"}
NUMPY = {F32: np.float32, F16: np.float16}
# deviation of whole blocks of random bytes whose scale is 1
UNIFORM = {Q4_0: math.sqrt(255 / 12), Q8_0: math.sqrt(65535 / 12)}
DRAWN = 1 << 20  # numbers of which a larger tensor repeats the first ones


@dataclass
class Tensor:
    """One tensor; its last extent is a row's length."""

    shape: tuple[int, ...]
    kind: int
    data: np.ndarray

    def bytes(self) -> bytes:
        """Returns its data as a file holds it."""
        return self.data.tobytes()


class Weights:
    """Tensors by name. Each random number is drawn from the seed, in the order of the calls."""

    def __init__(self, seed: int, kind: int = F16) -> None:
        self.random = np.random.default_rng(seed)
        self.kind = kind
        self.tensors: dict[str, Tensor] = {}

    def normal(self, name: str, *shape: int, spread: float, kind: int | None = None) -> None:
        """Adds normal deviates. A quantized kind needs rows of whole blocks; others become float16."""
        kind = self.kind if kind is None else kind
        if kind not in NUMPY and shape[-1] % BLOCKS[kind][0]:
            kind = F16
        count = math.prod(shape)
        make = self._deviates if kind in NUMPY else self._blocks
        self.tensors[name] = Tensor(shape, kind, make(count, spread, kind))

    def full(self, name: str, *shape: int, value: float) -> None:
        """Adds a float32 tensor of one value."""
        self.tensors[name] = Tensor(shape, F32, np.full(shape, value, np.float32))

    def linear(self, name: str, inputs: int, outputs: int, *, gain: float = 1.0, bias: bool = True) -> None:
        """Adds a linear layer whose outputs have `gain` times the deviation of its inputs."""
        self.normal(f"{name}.weight", outputs, inputs, spread=gain / math.sqrt(inputs))
        if bias:
            self.normal(f"{name}.bias", outputs, spread=0.02, kind=F32)

    def conv(
        self, name: str, inputs: int, outputs: int, side: int = 3, *, gain: float = 1.0, bias: bool = True
    ) -> None:
        """Adds a convolution of `side` x `side`."""
        spread = gain / math.sqrt(inputs * side * side)
        self.normal(f"{name}.weight", outputs, inputs, side, side, spread=spread, kind=F16)
        if bias:
            self.normal(f"{name}.bias", outputs, spread=0.02, kind=F32)

    def norm(self, name: str, size: int, *, bias: bool = True) -> None:
        """Adds a normalization that changes nothing."""
        self.full(f"{name}.weight", size, value=1.0)
        if bias:
            self.full(f"{name}.bias", size, value=0.0)

    def safetensors(self, path: Path) -> Path:
        """Writes a safetensors file."""
        head: dict[str, object] = {}
        offset = 0
        for name, tensor in self.tensors.items():
            end = offset + tensor.data.nbytes
            kind = SAFETENSORS[tensor.kind]
            head[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [offset, end]}
            offset = end
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        with path.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in self.tensors.values():
                tensor.data.tofile(file)
        return path

    def gguf(self, path: Path, architecture: str = "diffusion") -> Path:
        """Writes a GGUF file."""
        file = Gguf(architecture, 0)
        for name, tensor in self.tensors.items():
            file.tensor(name, tensor.shape[::-1], tensor.kind, tensor.bytes)
        file.write(path)
        return path

    def _deviates(self, count: int, spread: float, kind: int) -> np.ndarray:
        drawn = self.random.standard_normal(min(count, DRAWN), np.float32) * np.float32(spread)
        return np.resize(drawn.astype(NUMPY[kind]), count)

    def _blocks(self, count: int, spread: float, kind: int) -> np.ndarray:
        numbers, size = BLOCKS[kind]
        blocks = self.random.integers(0, 256, (min(count, DRAWN) // numbers, size), np.uint8)
        scale = np.full(len(blocks), spread / UNIFORM[kind], np.float16)
        blocks[:, :2] = scale.view(np.uint8).reshape(-1, 2)
        return np.resize(blocks, (count // numbers, size))
