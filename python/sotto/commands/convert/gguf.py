"""Writes the model of a GGUF file as a Hugging Face folder."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

_TOKENS = {"bos": "bos_token", "eos": "eos_token", "padding": "pad_token", "unknown": "unk_token"}


def as_folder(file: Path, folder: Path) -> None:
    """Writes config.json, model.safetensors in float32 and the tokenizer's files into `folder`.

    Raises any exception of the libraries if the file is damaged or of an unsupported architecture.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)
    _complete(tokenizer, file)
    tokenizer.save_pretrained(folder)
    with redirect_stderr(StringIO()):  # a progress bar that has no switch
        model = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            local_files_only=True,
            dtype=torch.float32,
            quantization_config=GgufConfig(dequantize=True),
        )
    model.save_pretrained(folder)


def _complete(tokenizer: Any, file: Path) -> None:
    """Adds the special tokens and the chat template, which transformers does not read."""
    from gguf import GGUFReader

    fields = GGUFReader(file).fields
    tokens = fields["tokenizer.ggml.tokens"]
    for key, name in _TOKENS.items():
        token = fields.get(f"tokenizer.ggml.{key}_token_id")
        if token is not None:
            setattr(tokenizer, name, tokens.contents(token.contents()))
    template = fields.get("tokenizer.chat_template")
    if template is not None:
        tokenizer.chat_template = template.contents()
