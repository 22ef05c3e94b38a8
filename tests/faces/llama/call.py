"""Continues a text by calling the model."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
result = llm("Once upon a time, there was a", max_tokens=12, temperature=0, repeat_penalty=1.0)
