"""Iterates over the tokens of a continuation."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
made = []
for token in llm.generate(llm.tokenize(b"The river runs"), temp=0.0, repeat_penalty=1.0):
    made.append(token)
    if len(made) == 6:
        break
result = made
