"""Answers with a regular expression."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest(
    HELLO, "default", temperature=0, max_tokens=16, grammar="(yes|no)", grammar_type="regex"
)
result = plain(runner.send_chat_completion_request(request))
