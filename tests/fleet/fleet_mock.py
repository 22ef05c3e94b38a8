"""A double of a control plane: keeps workloads in memory, records requests, fails as each test says."""

from __future__ import annotations

import json
from typing import Any

import sotto.fleet as fleet
from client_mock import MockServer, Reply, Request, delta, events, stream

READY = {"phase": "ready", "message": "serving", "elapsed_ms": 20}
CHAT = {
    "id": "chatcmpl-1",
    "model": "house",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "x_unknown": {"kept": [1]},
}
CHUNKS = (
    {"model": "house", "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]},
    {"model": "house", **delta("H")},
    {"model": "house", **delta("i")},
    {"model": "house", **delta("", "stop")},
)


class FakePlane(MockServer):
    """`workloads`: records by id. `failure`: the reply to every request, instead of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.workloads: dict[str, dict[str, Any]] = {}
        self.failure: Reply | None = None
        self.readiness: list[Reply] = []  # replies to successive connections; the last one repeats
        self.chat = Reply(CHAT)

    @property
    def writes(self) -> list[Request]:
        """Requests that change workloads."""
        return [one for one in self.requests if one.method != "GET" and one.path.startswith("/api/")]

    def fail(self, status: int, body: Any) -> None:
        """Answers every request with an error status."""
        self.failure = Reply(body, status)

    def reply_to(self, request: Request) -> Reply:
        """Returns the reply to a request."""
        if self.failure is not None:
            return self.failure
        path = request.path.split("/")[1:]
        if path[0] == "endpoint":
            return self._data("/".join(path[3:]), request)
        if path[-1] == "readiness-events":
            return self.readiness.pop(0) if len(self.readiness) > 1 else self.readiness[0]
        if path[:2] == ["api", "workloads"]:
            return self._change(path[2], request)
        if request.method == "POST":
            return self._create(path[2], request.body)
        return Reply(list(self.workloads.values()))

    def _create(self, project: str, body: dict[str, Any]) -> Reply:
        made = {
            "id": f"w{len(self.workloads)}",
            "project_id": project,
            "description": None,
            "config": {},
            "worker_id": None,
            "gpu_resource_id": None,
            "execution_policy": "fixed",
            "execution_policy_config": {},
            "created_at": "2026-11-30T10:00:00Z",
            "updated_at": "2026-11-30T10:00:00Z",
            **body,
        }
        self.workloads[made["id"]] = made
        return Reply(made, 201)

    def _change(self, id: str, request: Request) -> Reply:
        if request.method == "DELETE":
            del self.workloads[id]
            return Reply("", 204)
        self.workloads[id].update(request.body)
        return Reply(self.workloads[id])

    def _data(self, path: str, request: Request) -> Reply:
        if path == "v1/embeddings":
            data = [{"index": i, "embedding": [float(i), 0.5]} for i, _ in enumerate(request.body["input"])]
            return Reply({"model": "minilm", "data": data[::-1]})
        if path == "v1/rerank":
            scores = [{"index": 0, "score": -1.0}, {"index": 1, "relevance_score": 2.0}]
            return Reply({"model": "rank", "results": scores})
        if request.body.get("stream") and self.chat.body is CHAT:
            return stream(*(events(one, done=False) for one in CHUNKS), b"data: [DONE]\n\n")
        return self.chat


def told(*phases: dict[str, Any] | str) -> Reply:
    """Returns a stream of readiness events; a string is a phase."""
    full = [one if isinstance(one, dict) else {"phase": one, "message": one} for one in phases]
    return stream(*(f"event: readiness\ndata: {json.dumps(one)}\n\n".encode() for one in full))


def spec(**fields: Any) -> fleet.WorkloadSpec:
    """Returns a spec with a few fields of its own."""
    return fleet.WorkloadSpec(
        **{"name": "Smith", "slug": "smith", "model": "m", "backend": "llamacpp", **fields}
    )
