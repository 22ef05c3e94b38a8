"""Streams the answer of a chat."""

import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
text, role, finish = "", None, None
for chunk in llm.create_chat_completion(
    [{"role": "user", "content": "What do you sell?"}],
    max_tokens=24,
    temperature=0,
    repeat_penalty=1.0,
    stream=True,
):
    delta = chunk["choices"][0]["delta"]
    role = delta.get("role", role)
    text += delta.get("content") or ""
    finish = chunk["choices"][0]["finish_reason"] or finish
    kind = chunk["object"]
result = {"text": text, "role": role, "finish_reason": finish, "object": kind}
