"""An answer that breaks off: what has come of it, and the request for its rest. Free of I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LIMITS = ("max_tokens", "max_completion_tokens", "n_predict")
_EXCLUDED = (  # what another replica would begin anew
    "logprobs", "top_logprobs", "n_probs", "session", "echo", "grammar", "guided_grammar", "guided_regex"
)  # fmt: skip


def resumable(body: Any) -> bool:
    """Returns True if another replica may complete the answer to a chat request."""
    if not isinstance(body, Mapping) or body.get("n") not in (None, 1):
        return False
    messages = body.get("messages")
    whole = isinstance(messages, list) and bool(messages) and all(isinstance(one, dict) for one in messages)
    return whole and not any(body.get(name) for name in _EXCLUDED)


class Partial:
    """The part of an answer that has come.

    Attributes:
        resumed: True once another replica writes the rest.
        finished: True once a chunk had a reason for the end of the answer.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.resumed = self.finished = False
        self._body = body
        self._text, self._reasoning = "", ""
        self._head: dict[str, Any] = {}  # `id`, `created` and `model` of the first chunk
        self._tokens = 0
        self._before = 0  # tokens of the replica that broke off
        self._called = False

    def take(self, chunk: dict[str, Any]) -> dict[str, Any] | None:
        """Adds a chunk. Returns it as the client sees it; None: a chunk of the rest that says nothing new."""
        choice = _first(chunk)
        delta = choice.get("delta") if isinstance(choice.get("delta"), dict) else {}
        assert isinstance(delta, dict)
        text, reasoning = _text(delta, "content"), _text(delta, "reasoning_content")
        self._text += text
        self._reasoning += reasoning
        ids = choice.get("tokens")
        self._tokens += len(ids) if isinstance(ids, list) else bool(text or reasoning)
        self._called |= bool(delta.get("tool_calls") or delta.get("function_call"))
        self.finished |= choice.get("finish_reason") is not None
        if not self._head:
            self._head = {name: chunk[name] for name in ("id", "created", "model") if name in chunk}
        return self._joined(chunk, choice, delta) if self.resumed else chunk

    def rest(self) -> dict[str, Any] | None:
        """Returns the body of the request for the rest; None if the answer cannot be resumed."""
        if self.resumed or self._called or self.finished or not resumable(self._body):
            return None
        if not self._text and not self._reasoning:
            return dict(self._body)
        messages, content = list(self._body["messages"]), self._text
        if messages[-1].get("role") == "assistant":
            begun = messages.pop()
            if not self._body.get("continue_final_message") or not isinstance(begun.get("content"), str):
                return None
            content = begun["content"] + content
        message = {"role": "assistant", "content": content}
        if self._reasoning:
            message["reasoning_content"] = self._reasoning
        made = {**self._body, "messages": [*messages, message]}
        made.update(continue_final_message=True, add_generation_prompt=False)
        for name in _LIMITS:
            if _whole(self._body.get(name)) > 0:
                made[name] = max(self._body[name] - self._tokens, 0)
        return made

    def last(self) -> dict[str, Any] | None:
        """Returns the last chunk of an answer that had all its tokens when it broke off; else None."""
        limits = [self._body[name] for name in _LIMITS if _whole(self._body.get(name)) > 0]
        if not limits or self._tokens < min(limits):
            return None
        choice = {"index": 0, "delta": {}, "finish_reason": "length"}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice], "resumed": True}

    def resume(self) -> None:
        """Notes that the chunks that follow are of another replica."""
        self.resumed, self._before = True, self._tokens

    def _joined(
        self, chunk: dict[str, Any], choice: dict[str, Any], delta: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Returns a chunk of the rest as one of the whole answer, with the counts of the whole answer."""
        made = {**chunk, **{name: value for name, value in self._head.items() if name in chunk}}
        made["resumed"] = True
        if choice:
            said = {name: value for name, value in delta.items() if name != "role" and value is not None}
            if not said and choice.get("finish_reason") is None:
                return None
            made["choices"] = [{**choice, "delta": said}, *chunk["choices"][1:]]
        for name, prompt, completion in _COUNTS:
            if isinstance(counts := chunk.get(name), dict):
                more = _whole(counts.get(completion)) + self._before
                less = max(_whole(counts.get(prompt)) - self._before, 0)
                made[name] = {**counts, prompt: less, completion: more}
        return made


_COUNTS = (("usage", "prompt_tokens", "completion_tokens"), ("timings", "prompt_n", "predicted_n"))


def _first(chunk: Mapping[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _text(delta: Mapping[str, Any], name: str) -> str:
    found = delta.get(name)
    return found if isinstance(found, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
