"""Saves the state, says something else, and restores it."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
greedy = {"max_tokens": 8, "temperature": 0, "repeat_penalty": 1.0}
prompt = "In the beginning there was"
first = llm(prompt, **greedy)["choices"][0]["text"]
state = llm.save_state()
llm.reset()
other = llm("Something else entirely:", **greedy)["choices"][0]["text"]
llm.load_state(state)
again = llm(prompt + first, **greedy)["choices"][0]["text"]
result = {"first": first, "other": other, "again": again}
