"""Sends requests that are wrong."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, failure, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)


def sent(**fields):
    request = ChatCompletionRequest(**{"messages": HELLO, "model": "default", "max_tokens": 2, **fields})
    return runner.send_chat_completion_request(request)


result = {
    "messages": failure(lambda: ChatCompletionRequest(3, "default")),
    "max_tokens": failure(lambda: sent(max_tokens=0)),
    "grammar": failure(lambda: sent(grammar="x")),
    "grammar_type": failure(lambda: sent(grammar_type="regex")),
    "unknown_type": failure(lambda: sent(grammar="x", grammar_type="zzz")),
    "effort": failure(lambda: sent(reasoning_effort="bogus")),
    "both": failure(lambda: sent(reasoning_effort="low", enable_thinking=True)),
    "tools": failure(lambda: sent(tool_schemas=["["])),
    "session": failure(lambda: runner.import_session("s", "garbage")),
    "quant": failure(lambda: runner.send_re_isq("zz")),
}
