"""One side of runner.py: does what each line of standard input asks for, and prints what it took.

`runner_side.py MODULE MODEL`. Runs in the Python of either side.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from importlib import import_module
from typing import Any

TOGETHER = 4  # chats at a time


class Side:
    """A module's `Runner` with a model."""

    def __init__(self, module: str, model: str) -> None:
        self.module = import_module(module)
        which = self.module.Which.GGUF(os.path.dirname(model), os.path.basename(model))
        self.runner = self.module.Runner(which, max_seqs=TOGETHER)
        (self.name,) = self.runner.list_models()

    def request(self, said: str, tokens: int, **fields: Any) -> Any:
        """Returns a greedy chat request."""
        messages = [{"role": "user", "content": said}]
        return self.module.ChatCompletionRequest(
            messages, "default", max_tokens=tokens, temperature=0.0, **fields
        )

    def chat(self, said: str, tokens: int) -> dict[str, float]:
        """Streams an answer. Returns the seconds to its first token, and of the tokens after it."""
        began = time.perf_counter()
        first, last, usage = 0.0, began, None
        for chunk in self.runner.send_chat_completion_request(self.request(said, tokens, stream=True)):
            if chunk.choices[0].delta.content:
                last = time.perf_counter()
                first = first or last - began
            usage = chunk.usage or usage
        made = usage.completion_tokens if usage is not None else 0
        return {
            "first": first,
            "tokens": made,
            "seconds": last - began - first,
            "prompt": usage.prompt_tokens,
        }

    def together(self, lines: list[str], tokens: int) -> dict[str, float]:
        """Answers several chats at once. Returns their tokens, and the seconds of all."""
        made: list[int] = []

        def answer(line: str) -> None:
            told = self.runner.send_chat_completion_request(self.request(line, tokens))
            made.append(told.usage.completion_tokens)

        threads = [threading.Thread(target=answer, args=(line,)) for line in lines]
        began = time.perf_counter()
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return {"tokens": sum(made), "seconds": time.perf_counter() - began}

    def loaded(self, said: str) -> dict[str, float]:
        """Unloads the model, and answers one token, which loads it. Returns the seconds."""
        began = time.perf_counter()
        self.runner.unload_model(self.name)
        self.runner.send_chat_completion_request(self.request(said, 1), self.name)
        return {"seconds": time.perf_counter() - began}


def main() -> None:
    """Answers lines until the input ends. Keeps standard output for the answers: libraries may print."""
    module, model = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    began = time.perf_counter()
    side = Side(module, model)
    opened = {"seconds": time.perf_counter() - began}
    for line in sys.stdin:
        asked = json.loads(line)
        do = asked.pop("do")
        out.write(json.dumps(opened if do == "opened" else getattr(side, do)(**asked)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
