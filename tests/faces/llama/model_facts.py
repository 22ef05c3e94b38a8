"""Asks for the model's sizes, special tokens and metadata."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
result = {
    "n_ctx": llm.n_ctx(),
    "n_vocab": llm.n_vocab(),
    "n_embd": llm.n_embd(),
    "bos": llm.token_bos(),
    "eos": llm.token_eos(),
    "nl": llm.token_nl(),
    "metadata": {
        name: llm.metadata[name] for name in ("general.architecture", "llama.block_count", "general.name")
    },
}
