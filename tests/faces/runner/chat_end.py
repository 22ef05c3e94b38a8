"""Answers until the end token."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest(
    [{"role": "user", "content": "Good morning!"}], "default", temperature=0, max_tokens=64
)
result = plain(runner.send_chat_completion_request(request))
