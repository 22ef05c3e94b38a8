"""Ends a completion by a function of its tokens."""

import sys

from llama_cpp import Llama, StoppingCriteriaList

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
criteria = StoppingCriteriaList([lambda tokens, logits: len(tokens) >= 12])
result = llm(
    "One two three four", max_tokens=32, temperature=0, repeat_penalty=1.0, stopping_criteria=criteria
)["choices"]
