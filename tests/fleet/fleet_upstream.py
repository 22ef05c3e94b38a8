"""A workload's double behind the gateway: answers as `sotto serve` does, and records what came."""

from __future__ import annotations

from typing import Any

from client_mock import MockServer, Reply, Request, delta, events, stream

CHAT = {
    "model": "house",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20},
}
LAST = {
    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    "timings": {"cache_n": 3, "prompt_n": 4, "predicted_n": 2},
}


class Upstream(MockServer):
    """`answer`: the reply to every request but those for health, instead of the usual one."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: Reply | None = None

    def reply_to(self, request: Request) -> Reply:
        """Returns the reply to a request."""
        if request.path == "/health":
            return Reply({"status": "ok"})
        if self.answer is not None:
            return self.answer
        if request.path == "/v1/embeddings":
            data = [{"index": i, "embedding": [0.5]} for i, _ in enumerate(request.body["input"])]
            return Reply({"model": "minilm", "data": data, "usage": {"prompt_tokens": 5}})
        if request.path == "/v1/rerank":
            return Reply({"model": "rank", "results": [{"index": 0, "relevance_score": 0.5}]})
        if request.body and request.body.get("stream"):
            return stream(events(delta("H"), done=False), events(delta("i"), done=False), events(LAST))
        return Reply(CHAT)


def body(**more: Any) -> dict[str, Any]:
    """Returns the body of a chat."""
    return {"model": "smith", "messages": [{"role": "user", "content": "Hi"}], **more}
