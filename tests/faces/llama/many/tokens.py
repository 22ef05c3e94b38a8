"""Tokenizes 200 texts, and turns the tokens back into text."""

import random
import sys

from llama_cpp import Llama

WORDS = (
    "the |Gate| of| EASTFORD|'s| don't|1234| 5,000.75|\n|\n\n|\t|   |.|...|?!|\"|(x)|a_b-c/d|http://x.y|<b>"
)
SPECIAL = "<|im_start|>", "</s>", "{}", "\u00a0", "\u200b", "e\u0301", "\U0001f469\u200d\U0001f680"
OTHER = "\u00e9 \u00fc \u00df \u65e5\u672c\u8a9e \u0440\u0443\u0441 \u05d0 \u0e01\u0e33 \U0001f600"
PARTS = (*WORDS.split("|"), *SPECIAL, *OTHER.split())

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
chance = random.Random(1)
texts = ["".join(chance.choices(PARTS, k=chance.randint(1, 24))) for _ in range(200)]
tokens = [
    llm.tokenize(text.encode(), add_bos=at % 2 == 0, special=at % 3 == 0) for at, text in enumerate(texts)
]
result = {
    "tokens": tokens,
    "text": [llm.detokenize(one, special=at % 2 == 0).decode() for at, one in enumerate(tokens)],
}
