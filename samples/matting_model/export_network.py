"""Exports the averaged weights of a run to ONNX, opset 17, with the preprocessing in the file's metadata."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import numpy as np
import onnx
import torch

from composing import held_pictures
from network import MEAN, SIZE, STD, MattingNetwork, normalised
from scoring import MODEL, Matting

INPUT, OUTPUT, OPSET = "image", "alpha", 17
MAX_BYTES, MAX_ERROR = 5_000_000, 1e-4


def exported(network: MattingNetwork) -> onnx.ModelProto:
    """Returns the network as an ONNX model: input (1, 3, SIZE, SIZE), output (1, 1, SIZE, SIZE)."""
    file = io.BytesIO()
    torch.onnx.export(
        network,
        (torch.zeros(1, 3, SIZE, SIZE),),
        file,
        input_names=[INPUT],
        output_names=[OUTPUT],
        opset_version=OPSET,
        dynamo=False,
    )
    model = onnx.load_from_string(file.getvalue())
    values = {"mean": ",".join(map(str, MEAN)), "std": ",".join(map(str, STD))}
    values |= {
        "size": str(SIZE),
        "output": OUTPUT,
        "normalise": "none",
        "license": "MIT",
        "name": "sotto/matting",
    }
    onnx.helper.set_model_props(model, {f"sotto.{key}": value for key, value in values.items()})
    onnx.checker.check_model(model, full_check=True)
    return model


def largest_difference(network: MattingNetwork, file: Path, count: int = 10) -> float:
    """Returns the largest difference of alpha between PyTorch and ONNX Runtime on some test pictures."""
    model, found = Matting(file), 0.0
    for picture in held_pictures(count, SIZE):
        pixels = normalised(torch.tensor(picture.rgb)[None]).contiguous()
        with torch.no_grad():
            mine = network(pixels).numpy()
        found = max(found, float(np.abs(mine - model.run(pixels.numpy())).max()))
    return found


def main() -> None:
    """Runs from the command line.

    Raises:
        ValueError: The file is too large, or its output differs from PyTorch's.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of checkpoint.pt")
    parser.add_argument("--file", type=Path, default=MODEL)
    args = parser.parse_args()
    network = MattingNetwork()
    network.load_state_dict(torch.load(args.run / "checkpoint.pt", weights_only=True)["averaged"])
    network.eval()
    args.file.write_bytes(exported(network).SerializeToString())
    size, difference = args.file.stat().st_size, largest_difference(network, args.file)
    print(f"{args.file}: {size:,} bytes, largest difference from PyTorch {difference:.1e}")
    if size > MAX_BYTES:
        raise ValueError(f"invalid file size {size}: expected at most {MAX_BYTES}; make the network smaller")
    if difference > MAX_ERROR:
        raise ValueError(
            f"invalid output: it differs from PyTorch by {difference}, expected at most {MAX_ERROR}"
        )


if __name__ == "__main__":
    main()
