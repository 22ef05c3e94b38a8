"""Answers with a JSON schema."""

import json
import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
SCHEMA = {
    "type": "object",
    "properties": {"open": {"type": "boolean"}},
    "required": ["open"],
    "additionalProperties": False,
}
request = ChatCompletionRequest(
    HELLO, "default", temperature=0, max_tokens=32, grammar=json.dumps(SCHEMA), grammar_type="json_schema"
)
result = json.loads(runner.send_chat_completion_request(request).choices[0].message.content)
