"""Names the model in responses, and counts tokens."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
prompt = "Bread, cheese and"
answer = llm(prompt, max_tokens=4, temperature=0, repeat_penalty=1.0, model="npc")
result = {
    "model": answer["model"],
    "usage": answer["usage"],
    "prompt": len(llm.tokenize(prompt.encode())),
    "fields": sorted(answer),
}
