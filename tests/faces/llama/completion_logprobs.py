"""Reads the log probabilities of a completion's tokens."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, logits_all=True, flash_attn=False, verbose=False)
answer = llm.create_completion(
    "I have heard that", max_tokens=8, temperature=0, repeat_penalty=1.0, logprobs=3
)
told = answer["choices"][0]["logprobs"]
result = {
    "text": answer["choices"][0]["text"],
    "tokens": told["tokens"],
    "token_logprobs": [float(one) for one in told["token_logprobs"]],
    "text_offset": told["text_offset"],
    "likeliest": [max(one.values()) for one in told["top_logprobs"]],
    "alternatives": [sorted(one) for one in told["top_logprobs"]],
}
