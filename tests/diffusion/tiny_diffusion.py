"""A diffusion model of 17 MB with random weights, in the form of Ovis-Image.

It is the smallest form that stable-diffusion.cpp loads: a transformer of one double and one single block of
width 128, a Qwen3 of one layer of width 32 as text encoder, and a TAESD of 16 latent channels.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from random_weights import Weights

WIDTH = 128  # width of a token in the transformer: one head
HIDDEN = 4 * WIDTH
TEXT = 32  # width of a token in the text encoder
VOCABULARY = 151_936
HEADS, KEY_HEADS, HEAD = 32, 8, 128  # of Qwen3: stable-diffusion.cpp takes no others
LATENTS = 16
DIFFUSION = "model.diffusion_model."
LLM = "text_encoders.llm."


class Parts(NamedTuple):
    """Files of a model."""

    diffusion: Path
    options: dict[str, str]  # load options that name the other files


def tiny(folder: Path, seed: int = 0, *, gguf: bool = False) -> Parts:
    """Writes a model in three files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"diffusion": transformer(seed), "llm": text_encoder(seed), "taesd": autoencoder(seed)}
    written = {}
    for name, weights in files.items():
        path = folder / f"{name}.{'gguf' if gguf else 'safetensors'}"
        written[name] = weights.gguf(path) if gguf else weights.safetensors(path)
    names = {"diffusion_model": "diffusion", "llm": "llm", "taesd": "taesd"}
    return Parts(written["diffusion"], {option: str(written[name]) for option, name in names.items()})


def whole(folder: Path, seed: int = 0) -> Parts:
    """Writes the transformer and the text encoder as one file, and the autoencoder as another."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = transformer(seed, DIFFUSION)
    weights.tensors |= text_encoder(seed, LLM).tensors
    taesd = autoencoder(seed).safetensors(folder / "taesd.safetensors")
    return Parts(weights.safetensors(folder / "whole.safetensors"), {"taesd": str(taesd)})


def lora(path: Path, seed: int = 0, *, rank: int = 4, gain: float = 1.0) -> Path:
    """Writes a LoRA adapter of the transformer's attention."""
    weights = Weights(seed + 3)
    for part in ("img_attn", "txt_attn"):
        name = f"diffusion_model.double_blocks.0.{part}.qkv"
        weights.linear(f"{name}.lora_A", WIDTH, rank, gain=gain, bias=False)
        weights.linear(f"{name}.lora_B", rank, 3 * WIDTH, gain=gain, bias=False)
    return weights.safetensors(path)


def transformer(seed: int = 0, prefix: str = "") -> Weights:
    """The part that takes the denoise steps."""
    weights = Weights(seed)
    weights.linear(f"{prefix}img_in", 4 * LATENTS, WIDTH)
    weights.linear(f"{prefix}txt_in", TEXT, WIDTH)
    weights.full(f"{prefix}txt_norm.scale", TEXT, value=1.0)
    weights.linear(f"{prefix}time_in.in_layer", 256, WIDTH)
    weights.linear(f"{prefix}time_in.out_layer", WIDTH, WIDTH)
    for part in ("img", "txt"):
        _stream(weights, f"{prefix}double_blocks.0.{part}")
    _single(weights, f"{prefix}single_blocks.0")
    weights.linear(f"{prefix}final_layer.linear", WIDTH, 4 * LATENTS)
    weights.linear(f"{prefix}final_layer.adaLN_modulation.1", WIDTH, 2 * WIDTH)
    return weights


def _stream(weights: Weights, name: str) -> None:
    weights.linear(f"{name}_mod.lin", WIDTH, 6 * WIDTH, gain=2)
    weights.linear(f"{name}_attn.qkv", WIDTH, 3 * WIDTH)
    query_and_key(weights, f"{name}_attn.norm")
    weights.linear(f"{name}_attn.proj", WIDTH, WIDTH, gain=6)
    weights.linear(f"{name}_mlp.gate_proj", WIDTH, HIDDEN)
    weights.linear(f"{name}_mlp.up_proj", WIDTH, HIDDEN)
    weights.linear(f"{name}_mlp.down_proj", HIDDEN, WIDTH)


def _single(weights: Weights, name: str) -> None:
    weights.linear(f"{name}.modulation.lin", WIDTH, 3 * WIDTH, gain=2)
    weights.linear(f"{name}.linear1", WIDTH, 3 * WIDTH + 2 * HIDDEN)
    weights.linear(f"{name}.linear2", WIDTH + HIDDEN, WIDTH)
    query_and_key(weights, f"{name}.norm")


def query_and_key(weights: Weights, name: str) -> None:
    """Adds the norms of queries and keys."""
    for part in ("query_norm", "key_norm"):
        weights.full(f"{name}.{part}.scale", WIDTH, value=2.0)  # a prompt's tokens stand out


def text_encoder(seed: int = 0, prefix: str = "") -> Weights:
    """A language model in the form of Qwen3."""
    weights = Weights(seed + 1)
    weights.normal(f"{prefix}model.embed_tokens.weight", VOCABULARY, TEXT, spread=1.0)
    weights.norm(f"{prefix}model.norm", TEXT, bias=False)
    layer = f"{prefix}model.layers.0"
    for name in ("input_layernorm", "post_attention_layernorm"):
        weights.norm(f"{layer}.{name}", TEXT, bias=False)
    for name, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
        weights.linear(f"{layer}.self_attn.{name}_proj", TEXT, heads * HEAD, bias=False)
    weights.linear(f"{layer}.self_attn.o_proj", HEADS * HEAD, TEXT, bias=False)
    for name in ("q_norm", "k_norm"):
        weights.norm(f"{layer}.self_attn.{name}", HEAD, bias=False)
    for name in ("gate_proj", "up_proj"):
        weights.linear(f"{layer}.mlp.{name}", TEXT, 2 * TEXT, bias=False)
    weights.linear(f"{layer}.mlp.down_proj", 2 * TEXT, TEXT, bias=False)
    return weights


def autoencoder(seed: int = 0, latents: int = LATENTS) -> Weights:
    """TAESD, which makes pixels of latents and latents of pixels."""
    weights = Weights(seed + 2)
    _stack(
        weights, "encoder.layers", (3, latents), resized=(2, 6, 10), blocks=(1, 3, 4, 5, 7, 8, 9, 11, 12, 13)
    )
    _stack(
        weights,
        "decoder.layers",
        (latents, 3),
        resized=(6, 11, 16),
        blocks=(2, 3, 4, 7, 8, 9, 12, 13, 14, 17),
    )
    weights.full("decoder.layers.18.bias", 3, value=0.5)  # grey
    return weights


def _stack(
    weights: Weights, name: str, ends: tuple[int, int], *, resized: tuple[int, ...], blocks: tuple[int, ...]
) -> None:
    width = 64
    weights.conv(f"{name}.0", ends[0], width)
    for at in resized:
        weights.conv(f"{name}.{at}", width, width, bias=False)
    for at in blocks:
        for part, gain in ((0, 1.4), (2, 1.4), (4, 0.5)):
            weights.conv(f"{name}.{at}.conv.{part}", width, width, gain=gain)
    weights.conv(f"{name}.{blocks[-1] + 1}", width, ends[1], gain=0.4)
