"""Reads the log probabilities of a streamed completion."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, logits_all=True, flash_attn=False, verbose=False)
tokens, probabilities = [], []
for chunk in llm.create_completion(
    "I have heard that", max_tokens=8, temperature=0, repeat_penalty=1.0, logprobs=1, stream=True
):
    told = chunk["choices"][0]["logprobs"]
    if told is not None:
        tokens += told["tokens"]
        probabilities += [float(one) for one in told["token_logprobs"]]
result = {"tokens": tokens, "token_logprobs": probabilities}
