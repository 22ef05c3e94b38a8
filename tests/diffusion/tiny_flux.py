"""A model in the form of FLUX.1 dev with random weights: 5 MB, and 70 MB of its text encoder, CLIP."""

from __future__ import annotations

from pathlib import Path

from random_weights import Weights
from sd1_shape import CONTEXT, clip
from tiny_diffusion import HIDDEN, LATENTS, WIDTH, Parts, autoencoder, query_and_key

from gguf_file import Q4_0

T5_WIDTH = 4096  # of the texts that a T5 would encode: without one they are 0


def flux(folder: Path, seed: int = 0) -> Parts:
    """Writes a model that is distilled for its guidance, without the larger of its text encoders."""
    folder.mkdir(parents=True, exist_ok=True)
    diffusion = transformer(seed).safetensors(folder / "flux.safetensors")
    encoder = Weights(seed + 1, Q4_0)
    clip(encoder, "text_model.")
    taesd = autoencoder(seed).safetensors(folder / "taesd.safetensors")
    options = {"clip_l": encoder.gguf(folder / "clip_l.gguf"), "taesd": taesd, "diffusion_model": diffusion}
    return Parts(diffusion, {name: str(path) for name, path in options.items()})


def transformer(seed: int = 0) -> Weights:
    """The part that takes the denoise steps."""
    weights = Weights(seed)
    weights.linear("img_in", 4 * LATENTS, WIDTH)
    weights.linear("txt_in", T5_WIDTH, WIDTH)
    for name, inputs in (("time_in", 256), ("guidance_in", 256), ("vector_in", CONTEXT)):
        weights.linear(f"{name}.in_layer", inputs, WIDTH)
        weights.linear(f"{name}.out_layer", WIDTH, WIDTH)
    for part in ("img", "txt"):
        _stream(weights, f"double_blocks.0.{part}")
    weights.linear("single_blocks.0.modulation.lin", WIDTH, 3 * WIDTH, gain=2)
    weights.linear("single_blocks.0.linear1", WIDTH, 3 * WIDTH + HIDDEN)
    weights.linear("single_blocks.0.linear2", WIDTH + HIDDEN, WIDTH)
    query_and_key(weights, "single_blocks.0.norm")
    weights.linear("final_layer.linear", WIDTH, 4 * LATENTS)
    weights.linear("final_layer.adaLN_modulation.1", WIDTH, 2 * WIDTH)
    return weights


def _stream(weights: Weights, name: str) -> None:
    weights.linear(f"{name}_mod.lin", WIDTH, 6 * WIDTH, gain=2)
    weights.linear(f"{name}_attn.qkv", WIDTH, 3 * WIDTH)
    query_and_key(weights, f"{name}_attn.norm")
    weights.linear(f"{name}_attn.proj", WIDTH, WIDTH, gain=2)
    weights.linear(f"{name}_mlp.0", WIDTH, HIDDEN)
    weights.linear(f"{name}_mlp.2", HIDDEN, WIDTH)
