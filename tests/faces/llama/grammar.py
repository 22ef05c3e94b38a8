"""Lets a grammar decide what can be answered."""

import sys

from llama_cpp import Llama, LlamaGrammar

llm = Llama(sys.argv[1], n_ctx=256, flash_attn=False, verbose=False)
grammar = LlamaGrammar.from_string('root ::= ("yes" | "no") ", " [a-z]+ "."', verbose=False)
common = {"max_tokens": 24, "temperature": 0, "repeat_penalty": 1.0}
messages = [{"role": "user", "content": "Is the gate open?"}]
result = [
    llm("Is the gate open?", grammar=grammar, **common)["choices"],
    llm.create_chat_completion(messages, grammar=grammar, **common)["choices"],
]
