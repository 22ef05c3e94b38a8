"""Continues a prompt of tokens."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
tokens = llm.tokenize(b"The old bridge", add_bos=False)
result = llm.create_completion(tokens, max_tokens=10, temperature=0, repeat_penalty=1.0)
