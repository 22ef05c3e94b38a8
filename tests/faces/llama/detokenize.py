"""Turns tokens back into text."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
text = "The caf\u00e9 is open, my friend: 3 coins \U0001f600."
tokens = llm.tokenize(text.encode("utf-8"))
result = {
    "text": llm.detokenize(tokens).decode("utf-8"),
    "first": llm.detokenize(tokens[:3]).decode("utf-8", errors="ignore"),
    "special": llm.detokenize([llm.token_eos()], special=True).decode("utf-8"),
    "plain": llm.detokenize([llm.token_eos()]).decode("utf-8"),
    "none": llm.detokenize([]).decode("utf-8"),
}
