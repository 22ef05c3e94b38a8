"""Writes the model of a GGUF file as a Hugging Face folder."""

from __future__ import annotations

import os
import shutil
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

_TOKENS = {"bos": "bos_token", "eos": "eos_token", "padding": "pad_token", "unknown": "unk_token"}


def as_folder(file: Path, folder: Path) -> None:
    """Writes config.json, model.safetensors in float32 and the tokenizer's files into `folder`.

    Reads no other file beside `file`. Raises any exception of the libraries if the file is
    damaged or of an unsupported architecture.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    alone = folder.with_name("gguf")  # transformers reads tokenizer files that lie beside a GGUF file
    link = _linked(file, alone)
    tokenizer = AutoTokenizer.from_pretrained(
        alone, gguf_file=link.name, local_files_only=True, trust_remote_code=False
    )
    _complete(tokenizer, link)
    tokenizer.save_pretrained(folder)
    with redirect_stderr(StringIO()):  # a progress bar that has no switch
        model = AutoModelForCausalLM.from_pretrained(
            alone,
            gguf_file=link.name,
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            quantization_config=GgufConfig(dequantize=True),
        )
    model.save_pretrained(folder)


def _linked(file: Path, folder: Path) -> Path:
    """Returns a link to `file` in `folder`, a new folder; a copy where links are not allowed."""
    folder.mkdir()
    link = folder / "model.gguf"
    try:
        link.symlink_to(file.resolve())
    except OSError:  # on Windows, without the right to create links
        try:
            os.link(file, link)
        except OSError:
            shutil.copyfile(file, link)
    return link


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
