"""Reads the log probabilities of a chat's answer."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, logits_all=True, flash_attn=False, verbose=False)
answer = llm.create_chat_completion(
    messages=[{"role": "user", "content": "Good evening!"}],
    max_tokens=6,
    temperature=0,
    repeat_penalty=1.0,
    logprobs=True,
    top_logprobs=2,
)
told = answer["choices"][0]["logprobs"]["content"]
result = [{"token": one["token"], "logprob": float(one["logprob"])} for one in told]
