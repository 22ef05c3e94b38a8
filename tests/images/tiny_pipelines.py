"""Pipelines of diffusers with random weights, made in seconds: PixArt, Stable Diffusion 1.5 to 3, FLUX."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    DPMSolverMultistepScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    HeunDiscreteScheduler,
    PixArtAlphaPipeline,
    PixArtSigmaPipeline,
    PixArtTransformer2DModel,
    PNDMScheduler,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from tiny_parts import BLOCKS, SIDE, autoencoder, clip, clip_tokenizer, lively, t5_encoder, t5_tokenizer
from transformers import CLIPTextModelWithProjection


def pixart(folder: Path, latents: int = SIDE // 2, channels: Sequence[int] = BLOCKS) -> Path:
    """Writes a pipeline like PixArt-alpha/PixArt-Sigma-XL-2-512-MS: its classes, tiny.

    Each of `channels` after the first halves the latents of an image; the original has 64 latents a side.
    """
    torch.manual_seed(0)
    spiece = folder.with_name(f"{folder.name}-tokenizer")
    tokenizer = t5_tokenizer(spiece)
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
        text_encoder=t5_encoder(tokenizer),
        vae=autoencoder(channels, latents << (len(channels) - 1)),
        transformer=lively(transformer),
        scheduler=DPMSolverMultistepScheduler(),
    )
    pipe.save_pretrained(folder)
    shutil.rmtree(folder / "tokenizer")
    spiece.rename(folder / "tokenizer")
    return folder


def pixart_alpha(folder: Path) -> Path:
    """Writes a pipeline of PixArt Alpha with the parts of `pixart()`."""
    made = PixArtSigmaPipeline.from_pretrained(pixart(folder.with_name("sigma")), local_files_only=True)
    PixArtAlphaPipeline(**made.components).save_pretrained(folder)
    return folder


def stable_diffusion(folder: Path, **parts: Any) -> Path:
    """Writes a pipeline of Stable Diffusion 1.5's classes, without its safety checker."""
    torch.manual_seed(1)
    tokenizer = clip_tokenizer()
    unet = UNet2DConditionModel(
        block_out_channels=BLOCKS,
        layers_per_block=1,
        sample_size=SIDE // 2,
        norm_num_groups=8,
        attention_head_dim=4,
        cross_attention_dim=32,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    made = {
        "vae": autoencoder(),
        "text_encoder": clip(tokenizer),
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
    words, t5 = clip_tokenizer(), t5_tokenizer(spiece)
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
    vae = AutoencoderKL(
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
        vae=vae,
        text_encoder=clip(words),
        tokenizer=words,
        text_encoder_2=t5_encoder(t5),
        tokenizer_2=t5,
        transformer=lively(transformer),
    )
    pipe.save_pretrained(folder)
    return folder


def stable_diffusion_xl(folder: Path) -> Path:
    """Writes a pipeline of Stable Diffusion XL's classes."""
    torch.manual_seed(3)
    words = clip_tokenizer()
    unet = UNet2DConditionModel(
        block_out_channels=BLOCKS,
        layers_per_block=1,
        sample_size=SIDE // 2,
        norm_num_groups=8,
        attention_head_dim=(2, 4),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 1),
        projection_class_embeddings_input_dim=80,  # 6 x 8, and 32 of the text
        cross_attention_dim=64,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    pipe = StableDiffusionXLPipeline(
        vae=autoencoder(),
        text_encoder=clip(words),
        text_encoder_2=clip(words, CLIPTextModelWithProjection),
        tokenizer=words,
        tokenizer_2=words,
        unet=unet,
        scheduler=HeunDiscreteScheduler(),  # computes the network twice in a step
    )
    pipe.save_pretrained(folder)
    return folder


def stable_diffusion_3(folder: Path) -> Path:
    """Writes a pipeline of Stable Diffusion 3's classes."""
    torch.manual_seed(4)
    words, t5 = clip_tokenizer(), t5_tokenizer(folder.with_name(f"{folder.name}-tokenizer"))
    transformer = SD3Transformer2DModel(
        sample_size=SIDE // 2,
        patch_size=2,
        in_channels=16,
        out_channels=16,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        caption_projection_dim=32,
        joint_attention_dim=32,
        pooled_projection_dim=64,
    )
    vae = autoencoder(latents=16)
    vae.register_to_config(shift_factor=0.06)
    pipe = StableDiffusion3Pipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=vae,
        text_encoder=clip(words, CLIPTextModelWithProjection),
        tokenizer=words,
        text_encoder_2=clip(words, CLIPTextModelWithProjection),
        tokenizer_2=words,
        text_encoder_3=t5_encoder(t5),
        tokenizer_3=t5,
        transformer=lively(transformer),
    )
    pipe.save_pretrained(folder)
    return folder
