"""Streams a chat until the end token."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import plain, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
request = ChatCompletionRequest(
    [{"role": "user", "content": "Good morning!"}], "default", temperature=0, max_tokens=64, stream=True
)
chunks = list(runner.send_chat_completion_request(request))
result = {
    "text": "".join(one.choices[0].delta.content or "" for one in chunks),
    "first": plain(chunks[0]),
    "last": [chunks[-1].choices[0].finish_reason, chunks[-1].object, plain(chunks[-1].usage)],
}
