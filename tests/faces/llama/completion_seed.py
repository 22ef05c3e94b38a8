"""Draws with a seed: the same text twice, another one with another seed."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)


def drawn(seed):
    """Returns the text that a seed draws."""
    answer = llm("Tell me of", max_tokens=24, temperature=1.2, top_p=1.0, top_k=0, min_p=0.0, seed=seed)
    return answer["choices"][0]["text"]


texts = [drawn(7), drawn(7), drawn(8)]
result = {"same": texts[0] == texts[1], "other": texts[0] != texts[2], "length": texts[0] != ""}
