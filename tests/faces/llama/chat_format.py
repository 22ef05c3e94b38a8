"""Answers with a chat format by name."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, chat_format="chatml", flash_attn=False, verbose=False)
result = llm.create_chat_completion(
    messages=[
        {"role": "system", "content": "You are Tobin, a ferryman."},
        {"role": "user", "content": "Where is the inn?"},
    ],
    max_tokens=16,
    temperature=0,
    repeat_penalty=1.0,
)
