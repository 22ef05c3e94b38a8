"""Makes the model call a function."""

import json
import sys

from llama_cpp import Llama

llm = Llama(sys.argv[1], n_ctx=512, flash_attn=False, verbose=False)
tools = [
    {
        "type": "function",
        "function": {
            "name": "sell",
            "description": "Sells a ware.",
            "parameters": {
                "type": "object",
                "properties": {"ware": {"type": "string", "enum": ["sword", "bread"]}},
                "required": ["ware"],
            },
        },
    }
]
answer = llm.create_chat_completion(
    messages=[{"role": "user", "content": "One sword, please."}],
    tools=tools,
    tool_choice={"type": "function", "function": {"name": "sell"}},
    max_tokens=48,
    temperature=0,
    repeat_penalty=1.0,
)
message = answer["choices"][0]["message"]
call = message["tool_calls"][0]
result = {
    "finish_reason": answer["choices"][0]["finish_reason"],
    "content": message.get("content"),
    "calls": len(message["tool_calls"]),
    "type": call["type"],
    "name": call["function"]["name"],
    "arguments": json.loads(call["function"]["arguments"]),
}
