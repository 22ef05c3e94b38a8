"""Answers a chat."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
result = llm.create_chat_completion(
    [
        {"role": "system", "content": "You are Brenna, a smith in Eastford."},
        {"role": "user", "content": "Good morning! Who are you?"},
    ],
    max_tokens=24,
    temperature=0,
    repeat_penalty=1.0,
)
