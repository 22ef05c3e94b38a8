"""`Outcome`: figures of one answer, for metrics and traces. It never holds what was said."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

_MODEL = re.compile(r'"model":("(?:[^"\\]|\\.)*")')
_FINISH = re.compile(r'"finish_reason":"(\w+)"')
_STATUS = re.compile(r'"status":"(completed|incomplete)"')


@dataclass
class Outcome:
    """Figures of one answer. What the engine did not report keeps its default.

    Attributes:
        op: The engine's operation: "chat", "completion", "respond", "infill", "embed", ...
        pace: Tokens per second that the request asked for; None: the engine's pace.
        stream: Whether the answer is a stream.
        began: When the request was submitted, on the monotonic clock in seconds.
        ended: When the answer was complete or failed, on the same clock.
        model: Id of the model that answered.
        prompt_tokens: Tokens of the prompt, cached ones included.
        cached_tokens: Those that were reused from the prefix cache.
        completion_tokens: Tokens of the answer, all choices together.
        prefill_s: Seconds of prefill.
        decode_s: Seconds of decoding.
        first_s: Time to first token in seconds.
        waited_s: Seconds that the answer waited for a slot.
        parked: How often its slot was preempted.
        finishes: Why each choice ended.
        error: Kind of the error that ended the answer; empty: none.
    """

    op: str
    pace: float | None = None
    stream: bool = False
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    model: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    first_s: float | None = None
    waited_s: float | None = None
    parked: int | None = None
    finishes: Sequence[str] = ()
    error: str = ""

    def begin(self) -> None:
        """Notes that the first part of a stream is there."""
        if self.first_s is None:
            self.first_s = time.monotonic() - self.began

    def read(self, told: str) -> None:
        """Reads figures of a response or of a chunk, both as the engine wrote them.

        Quotation marks inside a string are escaped, so no text of an answer looks like a field.
        """
        if not self.model and (found := _MODEL.search(told)):
            self.model = json.loads(found[1])
        if finishes := _FINISH.findall(told):
            self.finishes = (*self.finishes, *finishes)
        elif self.op == "respond" and (found := _STATUS.search(told)):
            self.finishes = ("stop" if found[1] == "completed" else "length",)
        self._read_usage(_last_object(told, "usage"))
        self._read_timings(_last_object(told, "timings"))

    def _read_usage(self, usage: dict[str, object]) -> None:
        prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
        completion = usage.get("completion_tokens", usage.get("output_tokens"))
        details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
        if isinstance(prompt, int):
            self.prompt_tokens = prompt
        if isinstance(completion, int):
            self.completion_tokens = completion
        if isinstance(details, dict) and isinstance(cached := details.get("cached_tokens"), int):
            self.cached_tokens = cached

    def _read_timings(self, timings: dict[str, object]) -> None:
        figures = {name: value for name, value in timings.items() if isinstance(value, int | float)}
        if not figures:
            return
        cached, prefilled = int(figures.get("cache_n", 0)), int(figures.get("prompt_n", 0))
        self.cached_tokens, self.prompt_tokens = cached, cached + prefilled
        self.completion_tokens = int(figures.get("predicted_n", 0))
        self.prefill_s = figures.get("prompt_ms", 0) / 1000
        self.decode_s = figures.get("predicted_ms", 0) / 1000
        if "queue_wait_ms" in figures:
            self.waited_s = figures["queue_wait_ms"] / 1000
        if "parked_n" in figures:
            self.parked = int(figures["parked_n"])
        if self.first_s is None and "first_token_ms" in figures:
            self.first_s = figures["first_token_ms"] / 1000


def _last_object(told: str, name: str) -> dict[str, object]:
    """Returns the last object that is the member `name`; empty without one."""
    at = told.rfind(f'"{name}":{{')
    if at < 0:
        return {}
    read, _ = json.JSONDecoder().raw_decode(told, at + len(name) + 3)
    return read if isinstance(read, dict) else {}
