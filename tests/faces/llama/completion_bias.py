"""Forbids a token and forces another one with logit_bias."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
greedy = {"max_tokens": 6, "temperature": 0, "repeat_penalty": 1.0}
first = llm.tokenize(llm("She opened the", **greedy)["choices"][0]["text"].encode(), add_bos=False)[0]
forced = llm.tokenize(b" door", add_bos=False)[-1]
result = {
    "forbidden": llm.create_completion("She opened the", logit_bias={first: -100.0}, **greedy)["choices"],
    "forced": llm.create_completion("She opened the", logit_bias={forced: 100.0}, **greedy)["choices"],
}
