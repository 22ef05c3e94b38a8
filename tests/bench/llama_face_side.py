"""One side of llama_face.py: does what each line of standard input asks for, and prints what it took.

`llama_face_side.py MODULE MODEL THREADS`. Runs in the Python of either side.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

CONTEXT = 1024
GREEDY = {"temperature": 0.0, "repeat_penalty": 1.0}
TOGETHER = 4  # conversations at a time


class Side:
    """A module's `Llama` on a model."""

    def __init__(self, module: str, model: str, threads: int) -> None:
        self.ours = module.startswith("sotto")
        self.module = import_module(module)
        self.model, self.threads = model, threads
        self.four: list[Any] = []
        self.llm: Any = None

    def opened(self, **options: Any) -> Any:
        """Returns a new instance."""
        sizes = {"n_ctx": CONTEXT, "n_batch": 512, "n_ubatch": 512}
        threads = {"n_threads": self.threads, "n_threads_batch": self.threads}
        return self.module.Llama(self.model, **sizes, **threads, verbose=False, **options)

    def one(self) -> Any:
        """Returns the instance for one conversation at a time."""
        self.llm = self.llm or self.opened()
        return self.llm

    def completed(self, prompt: str, max_tokens: int) -> dict[str, float]:
        """Continues a text. Returns its tokens, those of the answer, and the seconds of both."""
        llm, began = self.one(), time.perf_counter()
        usage = llm.create_completion(prompt, max_tokens=max_tokens, **GREEDY)["usage"]
        seconds = time.perf_counter() - began
        return {"prompt": usage["prompt_tokens"], "tokens": usage["completion_tokens"], "seconds": seconds}

    def chat(self, system: str, lines: list[str]) -> dict[str, list[float]]:
        """Says lines one after the other. Returns the seconds to the first token of each answer."""
        llm, messages, first = self.one(), [{"role": "system", "content": system}], []
        for line in lines:
            messages.append({"role": "user", "content": line})
            kept = {"reset_kv_cache": len(messages) == 2} if self.ours else {}
            text, began = "", time.perf_counter()
            for chunk in llm.create_chat_completion(messages, max_tokens=8, stream=True, **GREEDY, **kept):
                part = chunk["choices"][0]["delta"].get("content")
                if part and not text:
                    first.append(time.perf_counter() - began)
                text += part or ""
            if len(first) < len(messages) // 2:
                first.append(time.perf_counter() - began)  # an answer without text
            messages.append({"role": "assistant", "content": text})
        return {"first": first}

    def together(self, system: str, lines: list[str]) -> dict[str, float]:
        """Asks four chats at the same time. Returns the tokens of all answers, and the seconds."""
        if not self.four:
            self.four = self.instances()
        counts = [0] * TOGETHER

        def speak(at: int) -> None:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": lines[at]}]
            told = self.four[at].create_chat_completion(messages, max_tokens=64, **GREEDY)
            counts[at] = told["usage"]["completion_tokens"]

        threads = [threading.Thread(target=speak, args=(at,)) for at in range(TOGETHER)]
        began = time.perf_counter()
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return {"tokens": sum(counts), "seconds": time.perf_counter() - began}

    def instances(self) -> list[Any]:
        """Returns four instances: ours on one engine."""
        if not self.ours:
            return [self.opened() for _ in range(TOGETHER)]
        engine = import_module("sotto").Engine("cpu", mode="prioritize_compute", threads=self.threads)
        return [self.opened(engine=engine) for _ in range(TOGETHER)]

    def memory(self) -> dict[str, float]:
        """Returns the MB of this process; pages that others share count in part."""
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return {"mb": next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024}


def main() -> None:
    """Answers until the input ends. Libraries may print: standard output is kept for answers."""
    module, model, threads = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = Side(module, model, int(threads))
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(getattr(side, asked.pop("do"))(**asked)), file=out, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
