"""Makes a grammar of a JSON schema."""

import json
import sys

from llama_cpp import Llama, LlamaGrammar

schema = {"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]}
grammar = LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)
llm = Llama(sys.argv[1], n_ctx=256, verbose=False)
answer = llm("The price as JSON: ", grammar=grammar, max_tokens=32, temperature=0, repeat_penalty=1.0)
text = answer["choices"][0]["text"]
result = {"text": text, "finish_reason": answer["choices"][0]["finish_reason"]}
