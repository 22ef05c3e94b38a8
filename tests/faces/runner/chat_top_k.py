"""Keeps one token."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest(HELLO, "default", temperature=0, max_tokens=8, top_k=1, top_p=0.9, min_p=0.05)
result = plain(runner.send_chat_completion_request(request))
