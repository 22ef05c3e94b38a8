"""Asks with prompts that are longer than the context."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)


def kind(ask):
    """Returns whether it fails as llama-cpp-python's users expect, and works afterwards."""
    try:
        ask()
    except ValueError:
        return "ValueError"
    return "none"


long = "word " * 400
result = {
    "completion": kind(lambda: llm(long, max_tokens=4)),
    "chat": kind(lambda: llm.create_chat_completion([{"role": "user", "content": long}], max_tokens=4)),
    "after": llm("Here we are", max_tokens=4, temperature=0, repeat_penalty=1.0)["choices"][0]["text"],
}
