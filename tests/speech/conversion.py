"""Runs `sotto convert`, and writes a small Llama model to convert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from sotto import cli

HOUSE = Path(__file__).parents[2] / "samples" / "house_model"
TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
LLAMA = {
    **{"vocab_size": 40, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128},
    **{
        "bos_token_id": 1,
        "eos_token_id": 2,
        "rope_parameters": {"rope_theta": 500_000.0, "rope_type": "default"},
    },
}


def converted(source: Path, folder: Path, *more: str) -> int:
    """Runs `sotto convert`, and returns its exit status."""
    return cli.main(["convert", str(source), "--to", "ctranslate2", str(folder), *more])


def tiny_llama(folder: Path) -> Path:
    """Writes a Llama model of random weights as Hugging Face has it."""
    names = ["<unk>", "<s>", "</s>", *(f"w{at}" for at in range(37))]
    words = Tokenizer(models.WordLevel({name: at for at, name in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)).save_pretrained(folder)
    return folder


def refused(source: Path, tmp_path: Path, capsys: Any) -> str:
    """Converts what cannot be converted, and returns the reason. Nothing may be left."""
    assert converted(source, tmp_path / "made") in (1, 2)
    assert not (tmp_path / "made").exists() and not list(tmp_path.glob(".made*"))
    return str(capsys.readouterr().err)
