"""Pipelines of diffusers as a backend: images from PixArt, Stable Diffusion and others. Needs `[diffusers]`.

>>> from sotto.backends.diffusers import Diffusers
>>> engine.add_backend(Diffusers())
>>> engine.load_model("brush", path="PixArt-Sigma-XL-2-512-MS", backend="diffusers")
>>> request = engine.submit("image_generate", {"model": "brush", "prompt": "a lantern", "size": "512x512"})
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ...errors import ArgumentError
from ..base import Backend, Model, ModelInfo, Source

__all__ = ["Diffusers"]

_PACKAGES = ("diffusers", "torch", "transformers", "safetensors", "accelerate", "PIL", "numpy")
_NEEDS = "pip install 'sotto-runtime[diffusers]'"


class Diffusers(Backend):
    """Opens folders of text-to-image pipelines, with `model_index.json` and weights as safetensors.

    Nothing is downloaded. Code of a pipeline's own and pickled weights are refused. Computes on the CPU.

    Load options: `dtype` of the weights ("float32", "bfloat16" or "float16"; default "float32"); `variant` of
    the weight files, such as "fp16"; `threads` of PyTorch (1); `steps`, denoise steps where a request does
    not say it (the pipeline's own number); `tiling`: whether the autoencoder decodes large images in tiles
    (true); `max_pixels` of an image (twice the pipeline's own size), which the memory budget depends on.

    Raises:
        ArgumentError: The packages that it needs are not installed, or of another version.
    """

    name = "diffusers"

    def __init__(self) -> None:
        for package in _PACKAGES:
            if find_spec(package) is None:
                raise ArgumentError(f"sotto.backends.diffusers needs {package}: {_NEEDS}")
        found = _version()
        if not found.startswith("0.42."):
            raise ArgumentError(f"diffusers is {found}: expected 0.42; {_NEEDS}")

    def open(self, source: Source) -> Model:
        """Opens a pipeline."""
        from .painter import Painter  # imports PyTorch, for seconds

        source.progress(0)
        made = Painter(Path(source.path), source.options, source.progress)
        made.info = _placed(made.info, source.device)
        return made

    def measure(self, source: Source) -> ModelInfo | None:
        """Returns the size of the weights in their dtype, and the estimated memory of the largest image."""
        from .files import pipeline_in
        from .options import BYTES, Options
        from .shape import shape_of

        options, folder = Options.read(source.options), Path(source.path)
        found = pipeline_in(folder, options.variant)
        weights = found.bytes_as(BYTES[options.dtype])
        return _placed(ModelInfo(weights, shape_of(folder, found, options).compute), source.device)


def _version() -> str:
    try:
        return version("diffusers")
    except PackageNotFoundError:
        return "of no known version"


def _placed(info: ModelInfo, device: str) -> ModelInfo:
    """PyTorch computes on the CPU: on an engine with a device, its models take host memory alone."""
    if device == "cpu":
        return info
    return info._replace(weights=0, compute=0, host=info.weights + info.compute)
