"""Streams a completion and joins its parts."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
stream = llm.create_completion(
    "The smith said", max_tokens=24, temperature=0, repeat_penalty=1.0, stream=True
)
chunks = list(stream)
result = {
    "text": "".join(chunk["choices"][0]["text"] for chunk in chunks),
    "objects": sorted({chunk["object"] for chunk in chunks}),
    "last": chunks[-1],
    "fields": sorted({name for chunk in chunks for name in chunk}),
    "parts": len(chunks),
}
