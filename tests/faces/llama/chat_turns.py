"""Keeps a conversation over three turns."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
messages = [{"role": "system", "content": "You are Tobin, a ferryman."}]
said = []
for line in ("Hello there.", "What is your work?", "Thank you, farewell!"):
    messages.append({"role": "user", "content": line})
    answer = llm.create_chat_completion(messages, max_tokens=16, temperature=0, repeat_penalty=1.0)
    messages.append(answer["choices"][0]["message"])
    said.append({"text": answer["choices"][0]["message"]["content"], "usage": answer["usage"]})
result = said
