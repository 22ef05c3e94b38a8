"""Answers in progress: whole, as chunks, or as text. They hold the turn of their `Llama` until they end."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from .._handle import Request, Unique
from .._json import load
from ..stream import TokenStream
from .errors import translated
from .turns import Turns

Json = dict[str, Any]
Result = TypeVar("Result")
Detokenize = Callable[[list[int]], str]
Criterion = Callable[[list[int], None], bool]


class TokenProb(NamedTuple):
    """A generated token, its log probability, and the likeliest tokens with theirs."""

    token: int
    logprob: float
    top_logprobs: list[tuple[int, float]]


class Outcome(NamedTuple):
    """What is known of an answer when it ends: its tokens, its message, and the engine's timings."""

    tokens: list[int]
    message: Json
    timings: Json


class Ending:
    """Ends an answer once: stores what it left behind, and gives the turn back."""

    def __init__(self, turns: Turns, store: Callable[[Outcome], None]) -> None:
        self._turns = turns
        self._store = store
        self._ended = False

    def end(self, outcome: Outcome | None) -> None:
        """Ends the answer. A second call does nothing. `outcome` None: the request failed."""
        if self._ended:
            return
        self._ended = True
        try:
            if outcome is not None:
                self._store(outcome)
        finally:
            self._turns.end()


class Whole(Unique, Generic[Result]):
    """An answer that is waited for as a whole. `cancel()` works from any thread."""

    def __init__(self, request: Request, ending: Ending, shape: Callable[[Json], Result]) -> None:
        self._request = request
        self._ending = ending
        self._shape = shape

    def finish(self) -> Result:
        """Waits for the answer and returns it in its shape."""
        outcome = None
        try:
            with translated():
                response: Json = load(self._request.finish().json)
            choice = response["choices"][0]
            outcome = Outcome(
                choice.get("tokens", []), choice.get("message", {}), response.get("timings", {})
            )
        finally:
            self._ending.end(outcome)
        return self._shape(response)

    def cancel(self) -> None:
        """Cancels the request, and ends the answer if no thread waits for it."""
        self._request.drop()
        self._ending.end(None)


class Folded(Unique, Generic[Result]):
    """An answer that is waited for as a whole, and ends early at tokens: the fold of its chunks."""

    def __init__(self, chunks: Chunks, shape: Callable[[Json], Result]) -> None:
        self._chunks = chunks
        self._shape = shape

    def finish(self) -> Result:
        """Waits for the answer and returns it in its shape."""
        return self._shape(fold(self._chunks))

    def cancel(self) -> None:
        """Cancels the request."""
        self._chunks.close()


class StoppingCriteriaList(list[Criterion]):
    """Functions of llama-cpp-python that end a completion: one of them returns True.

    Each gets the tokens so far, prompt and answer, and None in the place of logits.
    """

    def __call__(self, input_ids: list[int], logits: None = None) -> bool:
        """Returns True if the completion ends here."""
        return any(criterion(input_ids, logits) for criterion in self)


class Chunks(Unique):
    """Iterates over the engine's chunks as dicts, and ends an answer early.

    Args:
        stream: The chunks.
        ending: Called at the end.
        stops: Tokens that end the answer.
        detokenize: Returns the text of tokens.
        criterion: Gets the tokens of the answer so far, and returns True if it ends there; None: never.
    """

    def __init__(
        self,
        stream: TokenStream,
        ending: Ending,
        stops: Collection[int],
        detokenize: Detokenize,
        criterion: Callable[[list[int]], bool] | None = None,
    ) -> None:
        self._stream = stream
        self._ending = ending
        self._stops = stops
        self._criterion = criterion
        self._detokenize = detokenize
        self._tokens: list[int] = []
        self.message: Json = {"role": "assistant", "content": ""}
        self._timings: Json = {}
        self._done = False

    def __iter__(self) -> Iterator[Json]:
        return self

    def __next__(self) -> Json:
        if self._done:
            raise StopIteration
        try:
            with translated():
                chunk: Json = load(next(self._stream))
                return self._read(chunk)
        except StopIteration:
            self.close()
            raise
        except BaseException:
            self._fail()
            raise

    def _read(self, chunk: Json) -> Json:
        choice = next(iter(chunk.get("choices") or ()), None)
        if choice is None:
            return chunk
        tokens = choice.get("tokens", [])
        at = self._end(tokens)
        if at is not None:
            self._cut(choice, tokens[:at])
            tokens = tokens[:at]
        self._tokens += tokens
        delta = choice.get("delta") or {"content": choice.get("text")}
        merge(self.message, delta)
        self._timings = chunk.get("timings", self._timings)
        if at is not None:
            self._timings = {"predicted_n": len(self._tokens)}
            self.close()
        return chunk

    def _end(self, tokens: list[int]) -> int | None:
        """Returns how many of a chunk's tokens are kept if the answer ends in it; None: it goes on."""
        for at, token in enumerate(tokens):
            if token in self._stops:
                return at
            if self._criterion is not None and self._criterion([*self._tokens, *tokens[:at]]):
                return at
        return None

    def _cut(self, choice: Json, tokens: list[int]) -> None:
        """Ends a choice after `tokens`, the part of its tokens that it keeps."""
        text = self._detokenize(tokens) if tokens else ""
        if "delta" in choice:
            choice["delta"] = {"content": text} if text else {}
        else:
            choice["text"] = text
        for name in ("completion_probabilities", "logprobs"):
            if isinstance(choice.get(name), list):
                choice[name] = choice[name][: len(tokens)]
        choice["tokens"], choice["finish_reason"] = tokens, "stop"

    def close(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._done = True
        self._stream.close()
        self._ending.end(Outcome(self._tokens, self.message, self._timings))

    def _fail(self) -> None:
        self._done = True
        self._stream.close()
        self._ending.end(None)


class Started:
    """A request that was submitted."""

    def __init__(self, chunks: Chunks | None, request: Any, ending: Ending, prompt_tokens: int) -> None:
        self.chunks = chunks
        self.request = request
        self.ending = ending
        self.prompt_tokens = prompt_tokens

    def whole(self, shape: Callable[[Json], Result]) -> Whole[Result] | Folded[Result]:
        """Returns the answer, which is waited for as a whole."""
        return Whole(self.request, self.ending, shape) if self.chunks is None else Folded(self.chunks, shape)

    def streamed(self) -> Chunks:
        """Returns the chunks of a request that was submitted as a stream."""
        assert self.chunks is not None
        return self.chunks


class Stream(Unique):
    """Base class of streams: closing one, or dropping it, cancels the rest of the answer."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self._end = weakref.finalize(self, chunks.close)
        self._end.atexit = False  # an interpreter that ends closes its engines

    def close(self) -> None:
        """Cancels the rest of the answer. A second call does nothing."""
        self._end()

    def __exit__(self, *exc: object) -> None:
        self.close()


class TextStream(Stream):
    """Iterates over the text of an answer, each part as soon as it is decoded. Parts are whole characters.

    >>> with llm.generate_stream("Tell me a story") as story:
    ...     for text in story:
    ...         print(text, end="", flush=True)
    """

    def __init__(self, chunks: Chunks, before: str = "") -> None:
        super().__init__(chunks)
        self._before = before

    def __enter__(self) -> TextStream:
        return self

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        before, self._before = self._before, ""
        if before:
            return before
        while True:
            for choice in next(self._chunks).get("choices") or ():
                if choice.get("text"):
                    return str(choice["text"])


class ChunkStream(Stream):
    """Iterates over OpenAI chunks as dicts, each as soon as it is decoded."""

    def __init__(self, chunks: Chunks, shape: Callable[[Json], Json | None]) -> None:
        super().__init__(chunks)
        self._shape = shape

    def __enter__(self) -> ChunkStream:
        return self

    def __iter__(self) -> Iterator[Json]:
        return self

    def __next__(self) -> Json:
        while True:
            shaped = self._shape(next(self._chunks))
            if shaped is not None:
                return shaped


def merge(message: Json, delta: Json) -> None:
    """Adds a part of an answer to its message."""
    for name in ("content", "reasoning_content"):
        if delta.get(name):
            message[name] = (message.get(name) or "") + delta[name]
    for part in delta.get("tool_calls") or ():
        calls = message.setdefault("tool_calls", [])
        if part["index"] >= len(calls):
            calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call = calls[part["index"]]
        call["id"] += part.get("id") or ""
        for name, value in part.get("function", {}).items():
            call["function"][name] += value or ""


def fold(chunks: Chunks) -> Json:
    """Waits for the chunks of an answer and returns the response that they make."""
    response: Json = {}
    choice: Json = {"index": 0, "tokens": [], "finish_reason": None}
    probabilities: list[Json] = []
    for chunk in chunks:
        response |= chunk
        for one in chunk.get("choices") or ():
            choice["tokens"] += one.get("tokens", [])
            choice["finish_reason"] = one.get("finish_reason") or choice["finish_reason"]
            probabilities += one.get("completion_probabilities", [])
    if probabilities:
        choice["completion_probabilities"] = probabilities
    choice |= {"text": chunks.message["content"], "message": chunks.message}
    return {**response, "choices": [choice]}


def token_probs(choice: Json) -> list[TokenProb]:
    """Returns the log probabilities of a choice."""
    return [
        TokenProb(one["id"], one["logprob"], [(top["id"], top["logprob"]) for top in one["top_logprobs"]])
        for one in choice.get("completion_probabilities", [])
    ]
