"""Runs the matting model by ONNX Runtime, and compares its alpha with the true one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from composing import Bytes, Composed

MODEL = Path(__file__).parent / "matting.onnx"


@dataclass(frozen=True)
class Score:
    """How a predicted alpha compares with the true one.

    Attributes:
        iou: Intersection over union of the pixels whose alpha is over 0.5.
        error: Mean absolute error of alpha, in 0..1.
    """

    iou: float
    error: float


class Matting:
    """A matting model in a file, with the preprocessing that its metadata states.

    Args:
        file: ONNX file with `sotto.mean`, `sotto.std` and `sotto.size` in its metadata.
        threads: Threads of ONNX Runtime.
    """

    def __init__(self, file: Path = MODEL, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self.metadata: dict[str, str] = self.session.get_modelmeta().custom_metadata_map
        self.input = self.session.get_inputs()[0].name
        self.mean, self.std = (
            np.asarray([float(part) for part in self.metadata[key].split(",")], np.float32)
            for key in ("sotto.mean", "sotto.std")
        )
        self.size = int(self.metadata["sotto.size"])

    def alpha(self, rgb: Bytes) -> NDArray[np.float32]:
        """Returns the alpha of a picture of shape (H, W, 3): shape (H, W), in 0..1. Resizes bilinearly."""
        small = Image.fromarray(rgb).resize((self.size, self.size), Image.Resampling.BILINEAR)
        pixels = (np.asarray(small, np.float32) / 255 - self.mean) / self.std
        found = self.run(pixels.transpose(2, 0, 1)[None])[0, 0]
        large = Image.fromarray(found).resize((rgb.shape[1], rgb.shape[0]), Image.Resampling.BILINEAR)
        return np.clip(np.asarray(large), 0, 1)

    def run(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the model's output for its input, both of shape (1, C, size, size)."""
        (found,) = self.session.run([self.metadata["sotto.output"]], {self.input: pixels})
        return found


def score(found: NDArray[np.float32], alpha: Bytes) -> Score:
    """Compares a predicted alpha in 0..1 with the true one, both of shape (H, W)."""
    mine, true = found > 0.5, alpha > 127
    union = int((mine | true).sum())
    iou = float((mine & true).sum() / union) if union else 1.0
    return Score(iou, float(np.abs(found - alpha / np.float32(255)).mean()))


def scores(model: Matting, pictures: Iterable[Composed]) -> list[Score]:
    """Returns the score of every picture, in order."""
    return [score(model.alpha(one.rgb), one.alpha) for one in pictures]
