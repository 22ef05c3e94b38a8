"""Ends a text at another one."""

import sys

from mistralrs import CompletionRequest, Runner, Which
from runner_plain import plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = CompletionRequest("The smith said:", "default", temperature=0, max_tokens=12, stop_seqs=["said"])
result = plain(runner.send_completion_request(request))
