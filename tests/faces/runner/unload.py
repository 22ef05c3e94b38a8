"""Unloads a model and loads it again on request."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
(name,) = runner.list_models()
request = ChatCompletionRequest(HELLO, "default", temperature=0, max_tokens=8)
before = runner.send_chat_completion_request(request).choices[0].message.content
runner.unload_model(name)
result = [runner.get_model_status(name), runner.list_unloaded_models(), runner.is_model_loaded(name)]
after = runner.send_chat_completion_request(request, model_id=name).choices[0].message.content
result += [runner.get_model_status(name), before == after, before]
