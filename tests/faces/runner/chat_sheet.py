"""Answers a chat with a system message."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, SHEET, plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest([SHEET, *HELLO], "default", temperature=0, max_tokens=12)
result = plain(runner.send_chat_completion_request(request))
