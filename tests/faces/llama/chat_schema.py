"""Asks for JSON that a schema describes."""

import json
import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
schema = {
    "type": "object",
    "properties": {
        "mood": {"type": "string", "enum": ["glad", "sad", "angry"]},
        "open": {"type": "boolean"},
    },
    "required": ["mood", "open"],
}
answer = llm.create_chat_completion(
    messages=[{"role": "user", "content": "How are you, and is the shop open?"}],
    response_format={"type": "json_object", "schema": schema},
    max_tokens=64,
    temperature=0,
    repeat_penalty=1.0,
)
result = json.loads(answer["choices"][0]["message"]["content"])
