"""Penalises repetition, which tells greedy texts apart."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
greedy = {"max_tokens": 24, "temperature": 0}
prompt = "and on and on and on and"
result = {
    "repeat": llm(prompt, repeat_penalty=1.3, **greedy)["choices"],
    "presence": llm(prompt, repeat_penalty=1.0, presence_penalty=1.5, **greedy)["choices"],
    "frequency": llm(prompt, repeat_penalty=1.0, frequency_penalty=1.5, **greedy)["choices"],
}
