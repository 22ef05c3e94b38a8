"""Answers with log probabilities."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest(HELLO, "default", temperature=0, max_tokens=4, logprobs=True, top_logprobs=2)
result = plain(runner.send_chat_completion_request(request))
