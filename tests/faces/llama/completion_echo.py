"""Puts the prompt before its continuation, whole and streamed."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
greedy = {"max_tokens": 8, "temperature": 0, "repeat_penalty": 1.0, "echo": True}
result = {
    "whole": llm.create_completion("At the gate stands", **greedy)["choices"],
    "streamed": "".join(
        chunk["choices"][0]["text"]
        for chunk in llm.create_completion("At the gate stands", stream=True, **greedy)
    ),
}
