"""Checkpoints in the form of Stable Diffusion 1.5, with random weights, for measurements.

`sd1()` has the sizes of the real one: 860 million parameters of the UNet, 123 of the text encoder, 84 of the
autoencoder. `small` leaves out the middle and one of the four levels of the UNet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from random_weights import Weights

from gguf_file import Q8_0

WIDTH = 320
TIME = 4 * WIDTH
CONTEXT = 768
LATENTS = 4
UNET = "model.diffusion_model."
CLIP = "cond_stage_model.transformer.text_model."
VAE = "first_stage_model."


class Layer(NamedTuple):
    """A layer of the UNet: its place, what it is, and its channels."""

    place: str
    kind: str  # "residual", "attention", "halve" or "double"
    inputs: int
    outputs: int


def sd1(path: Path, seed: int = 0, *, kind: int = Q8_0, small: bool = False) -> Path:
    """Writes a checkpoint as GGUF: linear layers in `kind`, convolutions in float16."""
    weights = Weights(seed, kind)
    unet(weights, small=small)
    clip(weights)
    autoencoder(weights)
    return weights.gguf(path)


def unet(weights: Weights, *, small: bool) -> None:
    """Adds the part that takes the denoise steps."""
    weights.linear(f"{UNET}time_embed.0", WIDTH, TIME)
    weights.linear(f"{UNET}time_embed.2", TIME, TIME)
    weights.conv(f"{UNET}input_blocks.0.0", LATENTS, WIDTH)
    for layer in layers(small):
        name = UNET + layer.place
        if layer.kind == "residual":
            _residual(weights, name, layer.inputs, layer.outputs)
        elif layer.kind == "attention":
            _attention(weights, name, layer.inputs)
        else:
            part = "op" if layer.kind == "halve" else "conv"
            weights.conv(f"{name}.{part}", layer.inputs, layer.outputs)
    weights.norm(f"{UNET}out.0", WIDTH)
    weights.conv(f"{UNET}out.2", WIDTH, LATENTS)


def layers(small: bool) -> Iterator[Layer]:
    """The layers between the first and the last convolution."""
    channels = (WIDTH, 2 * WIDTH, 4 * WIDTH, 4 * WIDTH)[: 3 if small else 4]
    kept = [WIDTH]
    yield from _down(channels, small, kept)
    deepest = channels[-1]
    if not small:
        yield Layer("middle_block.0", "residual", deepest, deepest)
        yield Layer("middle_block.1", "attention", deepest, deepest)
        yield Layer("middle_block.2", "residual", deepest, deepest)
    yield from _up(channels, small, kept)


def _down(channels: tuple[int, ...], small: bool, kept: list[int]) -> Iterator[Layer]:
    at, width = 0, WIDTH
    for level, outputs in enumerate(channels):
        for _ in range(1 if small else 2):
            at += 1
            yield Layer(f"input_blocks.{at}.0", "residual", width, outputs)
            width = outputs
            if level < 3:
                yield Layer(f"input_blocks.{at}.1", "attention", width, width)
            kept.append(width)
            at += small
        if level < len(channels) - 1:
            at += 1
            yield Layer(f"input_blocks.{at}.0", "halve", width, width)
            kept.append(width)


def _up(channels: tuple[int, ...], small: bool, kept: list[int]) -> Iterator[Layer]:
    at, width = 0, channels[-1]
    for level in reversed(range(len(channels))):
        last = 1 if small else 2
        for turn in range(last + 1):
            place = f"output_blocks.{at}"
            yield Layer(f"{place}.0", "residual", width + kept.pop(), channels[level])
            width = channels[level]
            if level < 3:
                yield Layer(f"{place}.1", "attention", width, width)
            if level and turn == last:
                at += small
                after = 1 if level == 3 or (small and at == 2) else 2
                yield Layer(f"output_blocks.{at}.{after}", "double", width, width)
            at += 1


def _residual(weights: Weights, name: str, inputs: int, outputs: int) -> None:
    weights.norm(f"{name}.in_layers.0", inputs)
    weights.conv(f"{name}.in_layers.2", inputs, outputs)
    weights.linear(f"{name}.emb_layers.1", TIME, outputs)
    weights.norm(f"{name}.out_layers.0", outputs)
    weights.conv(f"{name}.out_layers.3", outputs, outputs, gain=0.5)
    if inputs != outputs:
        weights.conv(f"{name}.skip_connection", inputs, outputs, 1)


def _attention(weights: Weights, name: str, width: int) -> None:
    weights.norm(f"{name}.norm", width)
    weights.conv(f"{name}.proj_in", width, width, 1)
    block = f"{name}.transformer_blocks.0"
    for part, context in (("attn1", width), ("attn2", CONTEXT)):
        weights.linear(f"{block}.{part}.to_q", width, width, bias=False)
        weights.linear(f"{block}.{part}.to_k", context, width, bias=False)
        weights.linear(f"{block}.{part}.to_v", context, width, bias=False)
        weights.linear(f"{block}.{part}.to_out.0", width, width)
    weights.linear(f"{block}.ff.net.0.proj", width, 8 * width)
    weights.linear(f"{block}.ff.net.2", 4 * width, width)
    for part in ("norm1", "norm2", "norm3"):
        weights.norm(f"{block}.{part}", width)
    weights.conv(f"{name}.proj_out", width, width, 1)


def clip(weights: Weights, prefix: str = CLIP) -> None:
    """Adds the text encoder, CLIP ViT-L/14."""
    weights.normal(f"{prefix}embeddings.token_embedding.weight", 49_408, CONTEXT, spread=0.5)
    weights.normal(f"{prefix}embeddings.position_embedding.weight", 77, CONTEXT, spread=0.1)
    for at in range(12):
        layer = f"{prefix}encoder.layers.{at}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            weights.linear(f"{layer}.self_attn.{part}", CONTEXT, CONTEXT)
        weights.linear(f"{layer}.mlp.fc1", CONTEXT, 4 * CONTEXT)
        weights.linear(f"{layer}.mlp.fc2", 4 * CONTEXT, CONTEXT)
        for part in ("layer_norm1", "layer_norm2"):
            weights.norm(f"{layer}.{part}", CONTEXT)
    weights.norm(f"{prefix}final_layer_norm", CONTEXT)


def autoencoder(weights: Weights) -> None:
    """Adds the autoencoder."""
    _encoder(weights, f"{VAE}encoder")
    _decoder(weights, f"{VAE}decoder")
    weights.conv(f"{VAE}quant_conv", 2 * LATENTS, 2 * LATENTS, 1)
    weights.conv(f"{VAE}post_quant_conv", LATENTS, LATENTS, 1)


def _encoder(weights: Weights, name: str) -> None:
    weights.conv(f"{name}.conv_in", 3, 128)
    width = 128
    for level, outputs in enumerate((128, 256, 512, 512)):
        for at in range(2):
            _block(weights, f"{name}.down.{level}.block.{at}", width, outputs)
            width = outputs
        if level < 3:
            weights.conv(f"{name}.down.{level}.downsample.conv", width, width)
    _middle(weights, name)
    weights.norm(f"{name}.norm_out", width)
    weights.conv(f"{name}.conv_out", width, 2 * LATENTS)


def _decoder(weights: Weights, name: str) -> None:
    weights.conv(f"{name}.conv_in", LATENTS, 512)
    _middle(weights, name)
    width = 512
    for level, outputs in ((3, 512), (2, 512), (1, 256), (0, 128)):
        for at in range(3):
            _block(weights, f"{name}.up.{level}.block.{at}", width, outputs)
            width = outputs
        if level:
            weights.conv(f"{name}.up.{level}.upsample.conv", width, width)
    weights.norm(f"{name}.norm_out", width)
    weights.conv(f"{name}.conv_out", width, 3, gain=0.5)


def _middle(weights: Weights, name: str) -> None:
    _block(weights, f"{name}.mid.block_1", 512, 512)
    weights.norm(f"{name}.mid.attn_1.norm", 512)
    for part in ("q", "k", "v", "proj_out"):
        weights.conv(f"{name}.mid.attn_1.{part}", 512, 512, 1)
    _block(weights, f"{name}.mid.block_2", 512, 512)


def _block(weights: Weights, name: str, inputs: int, outputs: int) -> None:
    for at, width in ((1, inputs), (2, outputs)):
        weights.norm(f"{name}.norm{at}", width)
        weights.conv(f"{name}.conv{at}", width, outputs, gain=0.7)
    if inputs != outputs:
        weights.conv(f"{name}.nin_shortcut", inputs, outputs, 1)
