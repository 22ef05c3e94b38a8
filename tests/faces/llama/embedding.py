"""Embeds texts with mean pooling."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=256, embedding=True, pooling_type=1, flash_attn=False, verbose=False)
texts = ["a sword of steel", "a loaf of bread"]
answer = llm.create_embedding(texts)
vectors = [one["embedding"] for one in answer["data"]]
norms = [sum(x * x for x in one) ** 0.5 for one in vectors]
result = {
    "fields": sorted(answer),
    "objects": [answer["object"], *(one["object"] for one in answer["data"])],
    "index": [one["index"] for one in answer["data"]],
    "usage": answer["usage"],
    "size": len(vectors[0]),
    "first": [x / norms[0] for x in vectors[0][:8]],
    "cosine": sum(x * y for x, y in zip(*vectors, strict=True)) / norms[0] / norms[1],
    "alone": len(llm.embed("a sword of steel")),
}
