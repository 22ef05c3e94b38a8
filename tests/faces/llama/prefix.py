"""Asks again and again with a common beginning, which the KV cache holds."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
beginning = "Eastford lies on the river. It has a mill, a smithy and an inn. "
result = [
    llm(beginning + question, max_tokens=10, temperature=0, repeat_penalty=1.0)["choices"][0]["text"]
    for question in ("The mill is", "The smithy is", "The inn is", "The mill is")
]
