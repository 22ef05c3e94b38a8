"""Ends the answer of a chat at a text."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
messages = [{"role": "user", "content": "Tell me of the war."}]
greedy = {"max_tokens": 32, "temperature": 0, "repeat_penalty": 1.0}
text = llm.create_chat_completion(messages, **greedy)["choices"][0]["message"]["content"]
stop = text[len(text) // 2 : len(text) // 2 + 2]
result = [
    llm.create_chat_completion(messages, stop=stop, **greedy)["choices"],
    llm.create_chat_completion(messages, stop=[stop, "never"], **greedy)["choices"],
]
