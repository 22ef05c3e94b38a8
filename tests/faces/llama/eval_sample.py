"""Evaluates tokens and samples one after the other."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
llm.reset()
llm.eval(llm.tokenize(b"The river runs"))
sampled = []
for _ in range(6):
    token = llm.sample(temp=0.0)
    sampled.append(token)
    llm.eval([token])
result = sampled
