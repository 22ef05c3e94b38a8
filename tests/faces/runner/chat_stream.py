"""Streams a chat."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest(HELLO, "default", temperature=0, max_tokens=6, stream=True)
chunks = list(runner.send_chat_completion_request(request))
result = {
    "text": "".join(one.choices[0].delta.content or "" for one in chunks),
    "first": plain(chunks[0]),
    "last": [chunks[-1].choices[0].finish_reason, chunks[-1].object, plain(chunks[-1].usage)],
}
