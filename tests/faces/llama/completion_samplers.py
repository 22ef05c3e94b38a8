"""Narrows sampling until one token is left: each sampler then is greedy."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
common = {"max_tokens": 12, "temperature": 0.9, "repeat_penalty": 1.0, "seed": 3}
prompt = "The king of the hill"
result = {
    "top_k": llm(prompt, top_k=1, **common)["choices"],
    "top_p": llm(prompt, top_p=0.0001, min_p=0.0, **common)["choices"],
    "min_p": llm(prompt, min_p=1.0, top_p=1.0, **common)["choices"],
}
