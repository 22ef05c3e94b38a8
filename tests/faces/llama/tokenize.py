"""Tokenizes texts in each of the four ways."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
texts = ["", " ", "Hello, world!", "  two  spaces", "\n\n\ttab", "caf\u00e9 \U0001f600", "</s><|im_end|>x"]
result = [
    llm.tokenize(text.encode("utf-8"), add_bos=add_bos, special=special)
    for text in texts
    for add_bos in (True, False)
    for special in (True, False)
]
