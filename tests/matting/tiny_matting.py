"""Small segmentation models of random weights in the forms that are in use, made as ONNX files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def _weights(generator: np.random.Generator, name: str, *shape: int, half: bool) -> onnx.TensorProto:
    fan_in = int(np.prod(shape[1:])) or 1
    values = generator.standard_normal(shape) * np.sqrt(2 / fan_in)
    return numpy_helper.from_array(values.astype(np.float16 if half else np.float32), name)


def make_matting(
    path: Path,
    *,
    size: int = 64,
    dynamic: bool = False,
    width: int = 8,
    layers: int = 2,
    half: bool = False,
    sigmoid: bool = True,
    input_name: str = "input",
    metadata: Mapping[str, str] | None = None,
    seed: int = 1,
) -> Path:
    """Writes a model: convolutions, one of them at half the size, sigmoid.

    Args:
        path: Where to write it.
        size: Side of the input.
        dynamic: The file states no size.
        width: Channels of the hidden layers.
        layers: Number of hidden layers at full size.
        half: Weights, input and output are float16.
        sigmoid: The output is a probability; False: logits.
        input_name: Name of the input.
        metadata: Values of `metadata_props`.
        seed: Seed of the weights.

    Returns:
        `path`.
    """
    random = np.random.default_rng(seed)
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    nodes, weights = [], []
    name, channels = input_name, 3
    for layer in range(layers):
        weights.append(_weights(random, f"w{layer}", width, channels, 3, 3, half=half))
        nodes.append(helper.make_node("Conv", [name, f"w{layer}"], [f"c{layer}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"]))
        name, channels = f"r{layer}", width
    weights.append(_weights(random, "down", width, width, 3, 3, half=half))
    weights.append(_weights(random, "last", 1, width, 1, 1, half=half))
    weights.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"))
    nodes += [
        helper.make_node("Conv", [name, "down"], ["half"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Resize", ["half", "", "scales"], ["full"], mode="nearest"),
        helper.make_node("Conv", ["full", "last"], ["logits"]),
    ]
    if sigmoid:
        nodes.append(helper.make_node("Sigmoid", ["logits"], ["mask"]))
    side: list[int | str] = ["height", "width"] if dynamic else [size, size]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(input_name, kind, [1, 3, *side])],
        [helper.make_tensor_value_info("mask" if sigmoid else "logits", kind, [1, 1, *side])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, dict(metadata or {}))
    onnx.checker.check_model(model)
    onnx.save_model(model, path)
    return path


OWN = {"sotto.mean": "0.5,0.5,0.5", "sotto.std": "1,1,1", "sotto.normalise": "none"}


def make_disc(path: Path, *, size: int = 64, softness: float = 0.1) -> Path:
    """Writes a model whose mask is a disc in the middle of the image, whatever the image shows."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1) * 2 - 1
    disc = 1 / (1 + np.exp((np.hypot(x, y) - 0.6) / softness * 4))
    zero = numpy_helper.from_array(np.zeros((1, 3, 1, 1), np.float32), "zero")
    mask = numpy_helper.from_array(disc.astype(np.float32)[None, None], "disc")
    nodes = [
        helper.make_node("Conv", ["input", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "disc"], ["mask"]),
    ]
    graph = helper.make_graph(
        nodes,
        "disc",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("mask", TensorProto.FLOAT, [1, 1, size, size])],
        [zero, mask],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, OWN)
    onnx.save_model(model, path)
    return path
