"""Pipelines of diffusers with random weights, made in seconds: PixArt Sigma, Stable Diffusion, FLUX."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from diffusers import (
    AutoencoderKL,
    DPMSolverMultistepScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    PixArtSigmaPipeline,
    PixArtTransformer2DModel,
    PNDMScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, T5Config, T5EncoderModel, T5Tokenizer

_LINES = (
    "a portrait of an old innkeeper",
    "the red fox beside a lantern",
    "a map of the tavern",
    "a sword on a sign",
    "quick brown wolves jump over lazy dogs, vexing a zebra",
)
_BLOCKS = (32, 32)
SIDE = 32  # pixels of an image's side, where a request does not say it


def pixart(folder: Path, latents: int = SIDE // 2, channels: Sequence[int] = _BLOCKS) -> Path:
    """Writes a pipeline like PixArt-alpha/PixArt-Sigma-XL-2-512-MS: its classes, tiny.

    Each of `channels` after the first halves the latents of an image; the original has 64 latents a side.
    """
    torch.manual_seed(0)
    spiece = folder.with_name(f"{folder.name}-tokenizer")
    tokenizer = _t5_tokenizer(spiece)
    text = T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    transformer = PixArtTransformer2DModel(
        num_attention_heads=4,
        attention_head_dim=8,
        in_channels=4,
        out_channels=8,
        num_layers=3,
        cross_attention_dim=32,
        sample_size=latents,
        patch_size=2,
        caption_channels=32,
        use_additional_conditions=False,
        norm_type="ada_norm_single",
    )
    pipe = PixArtSigmaPipeline(
        tokenizer=tokenizer,
        text_encoder=T5EncoderModel(text),
        vae=_autoencoder(channels, latents << (len(channels) - 1)),
        transformer=_lively(transformer),
        scheduler=DPMSolverMultistepScheduler(),
    )
    pipe.save_pretrained(folder)
    shutil.rmtree(folder / "tokenizer")
    spiece.rename(folder / "tokenizer")
    return folder


def stable_diffusion(folder: Path, **parts: Any) -> Path:
    """Writes a pipeline of Stable Diffusion 1.5's classes, without its safety checker."""
    torch.manual_seed(1)
    tokenizer = _clip_tokenizer()
    unet = UNet2DConditionModel(
        block_out_channels=_BLOCKS,
        layers_per_block=1,
        sample_size=SIDE // 2,
        norm_num_groups=8,
        attention_head_dim=4,
        cross_attention_dim=32,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    made = {
        "vae": _autoencoder(),
        "text_encoder": _clip(tokenizer),
        "tokenizer": tokenizer,
        "unet": unet,
        "scheduler": PNDMScheduler(skip_prk_steps=True, steps_offset=1),
        "safety_checker": None,
        "feature_extractor": None,
        **parts,
    }
    StableDiffusionPipeline(**made, requires_safety_checker=False).save_pretrained(folder)
    return folder


def flux(folder: Path) -> Path:
    """Writes a pipeline of FLUX.1's classes, which packs 2 x 2 latents into a token."""
    torch.manual_seed(2)
    spiece = folder.with_name(f"{folder.name}-tokenizer")
    clip, t5 = _clip_tokenizer(), _t5_tokenizer(spiece)
    text = T5Config(vocab_size=len(t5), d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4)
    transformer = FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
    )
    autoencoder = AutoencoderKL(
        block_out_channels=(4,),
        latent_channels=1,
        norm_num_groups=1,
        use_quant_conv=False,
        use_post_quant_conv=False,
        shift_factor=0.06,
        scaling_factor=1.5,
    )
    pipe = FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder,
        text_encoder=_clip(clip),
        tokenizer=clip,
        text_encoder_2=T5EncoderModel(text),
        tokenizer_2=t5,
        transformer=_lively(transformer),
    )
    pipe.save_pretrained(folder)
    return folder


def _clip(tokenizer: CLIPTokenizer) -> CLIPTextModel:
    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=77,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )


def _autoencoder(channels: Sequence[int] = _BLOCKS, side: int = SIDE) -> AutoencoderKL:
    return AutoencoderKL(
        block_out_channels=tuple(channels),
        down_block_types=("DownEncoderBlock2D",) * len(channels),
        up_block_types=("UpDecoderBlock2D",) * len(channels),
        latent_channels=4,
        norm_num_groups=8,
        sample_size=side,
    )


def _lively(network: torch.nn.Module) -> torch.nn.Module:
    """Gives weights that are initialised as 0 random values, so that the prompt has an effect."""
    with torch.no_grad():
        for weight in network.parameters():
            if not weight.any():
                weight.normal_(0, 0.05)
    return network


def _t5_tokenizer(folder: Path) -> T5Tokenizer:
    """A tokenizer in the form of PixArt's: a model of SentencePiece, without tokenizer.json."""
    folder.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_LINES * 20),
        model_prefix=str(folder / "spiece"),
        vocab_size=80,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    )
    (folder / "spiece.vocab").unlink()
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "model_max_length": 300}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return T5Tokenizer.from_pretrained(folder)


def _clip_tokenizer() -> CLIPTokenizer:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    model = models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=[])
    assert Tokenizer(model).get_vocab_size() == len(tokens)
    return CLIPTokenizer(vocab={token: at for at, token in enumerate(tokens)}, merges=[], model_max_length=77)
