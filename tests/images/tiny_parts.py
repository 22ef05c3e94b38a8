"""Parts of tiny pipelines: tokenizers, text encoders and autoencoders with random weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from diffusers import AutoencoderKL
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, T5Config, T5EncoderModel, T5Tokenizer

_LINES = (
    "a portrait of an old innkeeper",
    "the red fox beside a lantern",
    "a map of the tavern",
    "a sword on a sign",
    "quick brown wolves jump over lazy dogs, vexing a zebra",
)
BLOCKS = (32, 32)
SIDE = 32  # pixels of an image's side, where a request does not say it


def t5_encoder(tokenizer: T5Tokenizer) -> T5EncoderModel:
    """The text encoder of PixArt, FLUX and Stable Diffusion 3, two layers of it."""
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    return T5EncoderModel(T5Config(vocab_size=len(tokenizer), **sizes))


def clip(tokenizer: CLIPTokenizer, kind: Any = CLIPTextModel) -> Any:
    """The text encoder of Stable Diffusion, two layers of it."""
    return kind(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            projection_dim=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=77,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )


def autoencoder(channels: Sequence[int] = BLOCKS, side: int = SIDE, latents: int = 4) -> AutoencoderKL:
    """An autoencoder; each of `channels` after the first halves the sides of an image."""
    return AutoencoderKL(
        block_out_channels=tuple(channels),
        down_block_types=("DownEncoderBlock2D",) * len(channels),
        up_block_types=("UpDecoderBlock2D",) * len(channels),
        latent_channels=latents,
        norm_num_groups=8,
        sample_size=side,
    )


def lively(network: torch.nn.Module) -> torch.nn.Module:
    """Gives weights that are initialised as 0 random values, so that the prompt has an effect."""
    with torch.no_grad():
        for weight in network.parameters():
            if not weight.any():
                weight.normal_(0, 0.05)
    return network


def t5_tokenizer(folder: Path) -> T5Tokenizer:
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


def clip_tokenizer() -> CLIPTokenizer:
    """A tokenizer of single bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    model = models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=[])
    assert Tokenizer(model).get_vocab_size() == len(tokens)
    return CLIPTokenizer(vocab={token: at for at, token in enumerate(tokens)}, merges=[], model_max_length=77)
