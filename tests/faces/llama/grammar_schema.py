"""Makes a grammar of a JSON schema."""

import json
import sys

from llama_cpp import Llama, LlamaGrammar

price = {"type": "integer", "minimum": 1, "maximum": 99}
schema = {"type": "object", "properties": {"price": price}, "required": ["price"]}
grammar = LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)
llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
answer = llm("The price as JSON: ", grammar=grammar, max_tokens=64, temperature=0, repeat_penalty=1.0)
text = answer["choices"][0]["text"]
result = {"text": text, "finish_reason": answer["choices"][0]["finish_reason"]}
