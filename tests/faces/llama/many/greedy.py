"""Continues 100 prompts greedily. Leaves out invalid UTF-8, which a model of random weights writes."""

import sys
from itertools import product

from llama_cpp import Llama

WHO = ("The old smith", "A young guard", "Brenna", "My neighbour", "The last of the kings")
DID = ("waited for", "had never seen", "asked about", "was afraid of", "sold")
WHAT = ("a horse at the gate", "the bridge of Eastford", "three silver coins and a letter", "the storm")

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
texts = [
    llm(f"{who} {did} {what}", max_tokens=24, temperature=0, repeat_penalty=1.0)["choices"][0]["text"]
    for who, did, what in product(WHO, DID, WHAT)
]
result = {"greedy": [text.replace("\ufffd", "") for text in texts]}
