"""Completes until the model ends, or the context does."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
greedy = {"temperature": 0, "repeat_penalty": 1.0}
whole = llm.create_completion("A long story: there was", max_tokens=None, **greedy)
result = {
    "finish_reason": whole["choices"][0]["finish_reason"],
    "text": whole["choices"][0]["text"],
    "usage": whole["usage"],
    "one": llm.create_completion("A long story: there was", max_tokens=1, **greedy)["choices"],
}
