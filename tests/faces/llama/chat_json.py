"""Asks for a JSON object."""

import json
import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
answer = llm.create_chat_completion(
    messages=[{"role": "user", "content": "Answer as JSON: how are you?"}],
    response_format={"type": "json_object"},
    max_tokens=200,
    temperature=0,
    repeat_penalty=1.1,
)
text = answer["choices"][0]["message"]["content"]
finish = answer["choices"][0]["finish_reason"]
result = {
    "is_object": isinstance(json.loads(text), dict) if finish == "stop" else text[0],
    "finish_reason": finish,
    "text": text,
}
