"""Ends completions at texts, which are taken from a longer one."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
greedy = {"temperature": 0, "repeat_penalty": 1.0}
text = llm("I have heard that", max_tokens=32, **greedy)["choices"][0]["text"]
middle = text[4:7]
result = {
    "one": llm("I have heard that", max_tokens=32, stop=middle, **greedy)["choices"],
    "list": llm("I have heard that", max_tokens=32, stop=["<never>", middle], **greedy)["choices"],
    "streamed": "".join(
        chunk["choices"][0]["text"]
        for chunk in llm("I have heard that", max_tokens=32, stop=[middle], stream=True, **greedy)
    ),
    "usage": llm("I have heard that", max_tokens=32, stop=["<never>"], **greedy)["usage"],
}
