"""Decoder models: chats and text completions, token by token, several requests in one batch."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Generator as PyGenerator
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2

from ...errors import ArgumentError, ModelLoadError
from ..base import Model, Part, Request
from .batch import Batch
from .files import kv_bytes_in, need, positions_in, read_json, shapes_in
from .memory import Measure
from .options import Options, check_number
from .prompt import Prompt, PromptWriter
from .sampling import refuse_missing, sampling_of

_MOST_STREAMS, _MOST_CONTEXT = 64, 1 << 20


@dataclass(frozen=True, slots=True)
class GeneratorOptions(Options):
    """Checked load options of a decoder model."""

    context: int = 1024  # tokens of a prompt and its answer
    streams: int = 4  # requests at the same time
    batches: int = 2  # that are generated at the same time
    static_tokens: int = 1024  # of system messages whose KV cache is kept

    def check(self) -> None:
        """Raises `ArgumentError` for a bad value."""
        Options.check(self)
        check_number("context", self.context, int, 16, _MOST_CONTEXT)
        check_number("streams", self.streams, int, 1, _MOST_STREAMS)
        check_number("batches", self.batches, int, 1, _MOST_STREAMS)
        check_number("static_tokens", self.static_tokens, int, 0, _MOST_CONTEXT)


@dataclass(slots=True, eq=False)
class _Ask:
    """A request: what is generated for it, and the batch that does it."""

    prompt: Prompt
    sampling: dict[str, Any]
    ignores_end: bool
    most: int  # tokens of the answer
    caches: bool = False  # the KV cache of its system message
    seen: int = 0  # how often requests had begun at its last step
    batch: Batch | None = None
    at: int = 0  # within the batch


class Generator(Model):
    """An open decoder model."""

    def __init__(self, folder: Path, options: Mapping[str, Any], streams: int = 0) -> None:
        self._options = GeneratorOptions.read(options)
        need(folder, "tokenizer.json", "config.json")
        shapes = shapes_in(folder)
        kv_bytes = kv_bytes_in(shapes)
        self._streams = min(self._options.streams, streams or self._options.streams)
        config = read_json(folder / "config.json", dict, {})
        positions = positions_in(shapes) or config.get("max_position_embeddings") or self._options.context
        self._context = min(self._options.context, positions)
        self._prompts = PromptWriter(folder)
        self._batches: list[Batch] = []
        self._collected: list[_Ask] = []
        self._rounds = 0  # how often requests began
        self._static: set[tuple[str, ...]] = set()  # system messages in the library's cache, which keeps all
        self._static_left = self._options.static_tokens
        measure = Measure(folder)
        try:
            self._generator = ctranslate2.Generator(
                str(folder),
                device="cpu",
                compute_type=self._options.compute_type,
                inter_threads=self._options.batches,
                intra_threads=self._options.threads,
                max_queued_batches=-1,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelLoadError(f"'{folder}' cannot be loaded: {error}") from None
        cached = self._streams * self._context + self._options.batches * self._options.static_tokens
        self.info = measure.info(
            self._warm_up,
            compute=kv_bytes * cached,
            streams=self._streams,
            context=self._context,
            description={
                "architecture": "decoder",
                "compute_type": self._generator.compute_type,
                "kv_cache_bytes_per_token": kv_bytes,
            },
        )

    def _warm_up(self) -> None:
        """Works once, so that the memory of a step is counted."""
        start = list(self._prompts.tokens("Hello"))
        self._generator.generate_batch([start] * self._streams, max_length=2, include_prompt_in_result=False)

    def units(self, request: Request) -> int:
        """Tokens of the prompt. Renders the template."""
        refuse_missing(request.body)
        prompt = self._prompt(request)
        request.cached = len(prompt.static) if prompt.static in self._static else 0
        most = request.body.get("max_completion_tokens", request.body.get("max_tokens", self._context))
        ignores_end = bool(request.body.get("ignore_eos", False))
        request.state = _Ask(prompt, sampling_of(request.body), ignores_end, most)
        return max(1, len(prompt))

    def _prompt(self, request: Request) -> Prompt:
        body = request.body
        if request.op == "completion":
            if not isinstance(body["prompt"], str):
                raise ArgumentError(
                    "invalid prompt: expected one text; this backend takes no lists of tokens"
                )
            return self._fitting(self._prompts.completion(body["prompt"]))
        messages = request.messages
        oldest = 1 if messages[0].get("role") == "system" else 0

        def without(count: int) -> Prompt:
            return self._prompts.chat(messages[:oldest] + messages[oldest + count :], body)

        most = 0 if body.get("context_overflow") == "error" else max(0, len(messages) - oldest - 1)
        counts = range(most)  # fewest messages to leave out; `most` if even one fewer does not fit
        request.dropped = bisect_left(counts, True, key=lambda count: len(without(count)) < self._context)
        return self._fitting(without(request.dropped))

    def _fitting(self, prompt: Prompt) -> Prompt:
        if not len(prompt):
            raise ArgumentError("invalid prompt '': expected at least one token")
        if len(prompt) >= self._context:
            raise ArgumentError(
                f"the prompt has {len(prompt)} tokens: expected fewer than {self._context}; shorten it, or "
                "raise the load option context"
            )
        return prompt

    def begin(self, requests: Sequence[Request]) -> None:
        """Collects requests. They start in the first step in which no other one begins."""
        self._collected += [request.state for request in requests]
        self._rounds += 1

    def _batch_of(self, ask: _Ask) -> Batch | None:
        """The batch that generates for a request; None in a step in which others began."""
        if ask.batch is None and ask.seen == self._rounds:
            self._start_collected()
        ask.seen = self._rounds
        return ask.batch

    def _start_collected(self) -> None:
        """Starts batches of the requests that sample alike after the same system message."""
        groups: dict[tuple[object, ...], list[_Ask]] = {}
        for ask in self._collected:
            ask.caches = self._caches(ask.prompt.static)
            key = (ask.caches and ask.prompt.static, ask.ignores_end, *sorted(ask.sampling.items()))
            groups.setdefault(key, []).append(ask)
        self._collected.clear()
        for asks in groups.values():
            self._start(asks)

    def _caches(self, static: tuple[str, ...]) -> bool:
        """True if the KV cache of a system message is kept, or may be from now on."""
        if static and static not in self._static and len(static) <= self._static_left:
            self._static.add(static)
            self._static_left -= len(static)
        return static in self._static

    def _start(self, asks: Sequence[_Ask]) -> None:
        static = asks[0].prompt.static if asks[0].caches else ()
        prompts = [(*ask.prompt.static, *ask.prompt.rest)[len(static) :] for ask in asks]
        free = self._context - len(static) - max(map(len, prompts))
        length = max(1, min(free, max(ask.most for ask in asks)))
        options: dict[str, Any] = {**asks[0].sampling, "max_length": length}
        if static:
            options["static_prompt"] = list(static)
        if self._prompts.ends:
            options["end_token"] = list(self._prompts.ends.values())
        if asks[0].ignores_end:
            options["min_length"] = length
        batch = Batch(self._generator, prompts, options)
        for at, ask in enumerate(asks):
            ask.batch, ask.at = batch, at
        self._batches = [one for one in self._batches if not one.done] + [batch]
        for waited_for in self._batches[: -self._options.batches]:
            waited_for.run_free()

    def chat(self, request: Request) -> PyGenerator[str | Part, None, str | None]:
        """Yields the text of each token."""
        ask: _Ask = request.state
        decoder = self._prompts.decoder()
        try:
            while (batch := self._batch_of(ask)) is None:
                yield Part()
            with closing(batch.tokens(ask.at, request.cancelled)) as tokens:
                for token in tokens:
                    if token in self._prompts.ends and not ask.ignores_end:
                        return None
                    yield decoder.text(token)
            return "length"
        finally:
            if ask in self._collected:
                self._collected.remove(ask)

    completion = chat

    def close(self) -> None:
        """Frees the model."""
        for batch in self._batches:
            batch.close()
        self._batches.clear()
        self._generator.unload_model()
        del self._generator
        gc.collect()
