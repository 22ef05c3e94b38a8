"""Names a model that is not there."""

import sys

from mistralrs import ChatCompletionRequest, Runner, Which
from runner_plain import HELLO, failure, where

runner = Runner(Which.GGUF(*where(sys.argv[1])), max_seqs=4)
result = {
    "default": failure(lambda: runner.set_default_model_id("zz")),
    "unload": failure(lambda: runner.unload_model("zz")),
    "reload": failure(lambda: runner.reload_model("zz")),
    "remove": failure(lambda: runner.remove_model("zz")),
    "chat": failure(
        lambda: runner.send_chat_completion_request(ChatCompletionRequest(HELLO, "default"), "zz")
    ),
}
