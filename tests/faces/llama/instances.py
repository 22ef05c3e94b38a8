"""Runs two instances in two threads."""

import sys
from concurrent.futures import ThreadPoolExecutor

from llama_cpp import Llama

prompts = ["The fox ran over", "The bear slept under"]
models = [Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False) for _ in prompts]


def continued(at):
    """Returns what a model makes of its prompt."""
    return models[at](prompts[at], max_tokens=16, temperature=0, repeat_penalty=1.0)["choices"][0]["text"]


with ThreadPoolExecutor(2) as pool:
    result = list(pool.map(continued, range(2)))
