"""Decoder models: chats and text completions, token by token, several requests in one batch."""

from __future__ import annotations

import gc
import threading
from bisect import bisect_left
from collections.abc import Generator as PyGenerator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2

from ...errors import ArgumentError, ModelLoadError
from ..base import Model, Part, Request
from .batch import Batch
from .files import Weights, need, positions_in, read_json, weights_in
from .memory import Measure
from .options import Options, check_number
from .prompt import Prompt, PromptWriter
from .sampling import refuse_missing, sampling_of

_MOST_STREAMS, _MOST_CONTEXT = 64, 1 << 20
_FLOAT = 4  # bytes
_KV_GROWTH = 1.2  # the library copies a layer's cache for each token, which leaves gaps in its memory
_THREAD = 22 << 20  # bytes that the library's matrix products keep for each of its threads (oneDNN, AVX2)
_WARM_UP_S = 30.0  # how long its threads have to start
_ROOMS = 8  # parts of the context; an answer that it ends loses less than one of them in a batch


@dataclass(frozen=True, slots=True)
class GeneratorOptions(Options):
    """Checked load options of a decoder model."""

    context: int = 1024  # tokens of a prompt and its answer
    streams: int = 4  # requests at the same time
    prefix_cache_tokens: int = 512  # of system messages whose KV cache is kept

    def check(self) -> None:
        """Raises `ArgumentError` for a bad value."""
        Options.check(self)
        check_number("context", self.context, int, 16, _MOST_CONTEXT)
        check_number("streams", self.streams, int, 1, _MOST_STREAMS)
        check_number("prefix_cache_tokens", self.prefix_cache_tokens, int, 0, _MOST_CONTEXT)


@dataclass(slots=True, eq=False)
class _Answer:
    """A request while it is answered."""

    prompt: Prompt
    sampling: dict[str, Any]
    ignores_end: bool
    limit: int  # tokens of the answer
    keeps_prefix: bool  # the KV cache of its system message
    rounds: int = 0  # of the model, at its last step
    batch: Batch | None = None
    at: int = 0  # within the batch


class Generator(Model):
    """An open decoder model."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._options = GeneratorOptions.read(options)
        need(folder, "tokenizer.json", "config.json")
        weights = weights_in(folder)
        self._context = _context(folder, weights, self._options)
        measure = Measure(folder, self._options.compute_type)  # the tokenizer is the model's too
        self._prompts = PromptWriter(folder)
        self._batches: list[Batch] = []
        self._prefixes: set[tuple[str, ...]] = set()  # in the library's cache, which keeps all
        self._prefix_room = self._options.prefix_cache_tokens
        self._collected: list[_Answer] = []
        self._rounds = 0  # how often requests began
        try:
            self._generator = ctranslate2.Generator(
                str(folder),
                device="cpu",
                compute_type=self._options.compute_type,
                inter_threads=self._options.streams,  # so that no batch waits for another
                intra_threads=self._options.threads,
                max_queued_batches=-1,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelLoadError(f"'{folder}' cannot be loaded: {error}") from None
        self.info = measure.info(
            self._warm_up,
            compute=self._per_request(weights, self._options),
            streams=self._options.streams,
            context=self._context,
            most_work=2 * self._options.streams * _THREAD,
            description={
                "architecture": "decoder",
                "compute_type": self._generator.compute_type,
                "kv_cache_bytes_per_token": _kv_bytes(weights),
            },
        )

    @staticmethod
    def planned(weights: Weights, options: Mapping[str, Any]) -> int:
        """Returns the bytes beside the weights: what requests take at most, and the library's threads."""
        given = GeneratorOptions.read(options)
        return Generator._per_request(weights, given) + given.streams * _THREAD

    @staticmethod
    def _per_request(weights: Weights, options: GeneratorOptions) -> int:
        """Returns the bytes of the whole KV cache, and of a prefill of the whole context."""
        cached = options.streams * (options.context + options.prefix_cache_tokens) * _kv_bytes(weights)
        return int(_KV_GROWTH * cached) + _prefill_bytes(weights, options.context)

    def _warm_up(self) -> None:
        """Generates once on each of the library's threads.

        So the memory of each is counted, and no request waits while its thread allocates that.
        """
        count = self._options.streams
        start = list(self._prompts.tokens("Hello"))
        options: dict[str, Any] = {"max_length": 2, "include_prompt_in_result": False}
        self._generator.generate_batch([start] * count, **options)
        all_run = threading.Barrier(count)  # a thread that is done must not take another's batch

        def wait_for_others(result: Any) -> bool:
            if result.step == 0:
                with suppress(threading.BrokenBarrierError):
                    all_run.wait(_WARM_UP_S)
            return False

        begun = [
            self._generator.generate_batch([start], asynchronous=True, callback=wait_for_others, **options)
            for _ in range(count)
        ]
        for batch in begun:
            batch[0].result()

    def units(self, request: Request) -> int:
        """Tokens of the prompt. Renders the template."""
        body = request.body
        refuse_missing(body)
        prompt = self._prompt(request)
        request.state = _Answer(
            prompt,
            sampling_of(body, self._prompts.vocabulary),
            bool(body.get("ignore_eos", False)),
            min(body.get("max_completion_tokens", body.get("max_tokens", self._context)), self._context),
            body.get("cache_prompt", True) is not False,
        )
        if self._options.streams == 1 and prompt.static in self._prefixes:
            request.cached = len(prompt.static)  # else it depends on the thread that the library takes
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
        whole = self._prompts.chat(messages, body)
        if len(whole) < self._context or body.get("context_overflow") == "error":
            return self._fitting(whole)
        first = 1 if messages[0].get("role") == "system" else 0
        # A talk begins with a user's message; a template may insist on that.
        begins = [at for at in range(first + 1, len(messages)) if messages[at].get("role") == "user"]
        if not begins:
            return self._fitting(whole)

        def since(at: int) -> Prompt:
            return self._prompts.chat(messages[:first] + messages[at:], body)

        found = bisect_left(begins[:-1], True, key=lambda at: len(since(at)) < self._context)
        request.dropped = begins[found] - first
        return self._fitting(since(begins[found]))

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
        """Collects requests. They start in the first step in which no other begins; a lone one at once."""
        self._collected += [request.state for request in requests]
        self._rounds += 1

    def _batch_of(self, answer: _Answer) -> Batch | None:
        """The batch that generates an answer; None in a step in which others began, or may have."""
        if answer.batch is None and (answer.rounds == self._rounds or self._options.streams == 1):
            self._start_collected()
        answer.rounds = self._rounds
        return answer.batch

    def _start_collected(self) -> None:
        """Starts batches of the answers that sample alike after the same system message."""
        groups: dict[tuple[object, ...], list[_Answer]] = {}
        for answer in self._collected:
            answer.keeps_prefix = answer.keeps_prefix and self._keeps(answer.prompt.static)
            free = self._context - len(answer.prompt)
            key = (
                answer.keeps_prefix and answer.prompt.static,
                answer.ignores_end,
                # The library has one limit for a batch: answers that the context ends have similar room.
                free * _ROOMS // self._context if answer.limit > free else None,
                *sorted(answer.sampling.items()),
            )
            groups.setdefault(key, []).append(answer)
        self._collected.clear()
        self._batches = [batch for batch in self._batches if not batch.done]
        for answers in groups.values():
            for some in _fitting_batches(answers, self._context):
                self._start(some)

    def _keeps(self, static: tuple[str, ...]) -> bool:
        """True if the KV cache of a system message is kept, or may be from now on."""
        if static and static not in self._prefixes and len(static) <= self._prefix_room:
            self._prefixes.add(static)
            self._prefix_room -= len(static)
        return static in self._prefixes

    def _start(self, answers: Sequence[_Answer]) -> None:
        first = answers[0]
        static = first.prompt.static if first.keeps_prefix else ()
        prompts = [(*one.prompt.static, *one.prompt.rest)[len(static) :] for one in answers]
        free = min(self._context - len(one.prompt) for one in answers)
        limit = max(one.limit for one in answers)
        length = free if first.limit > self._context - len(first.prompt) else limit
        options: dict[str, Any] = {**first.sampling, "max_length": length}
        if static:
            options["static_prompt"] = list(static)
        if self._prompts.ends:
            options["end_token"] = list(self._prompts.ends.values())
        if first.ignores_end:
            options["min_length"] = length
        batch = Batch(self._generator, prompts, options)
        self._batches.append(batch)
        for at, answer in enumerate(answers):
            answer.batch, answer.at = batch, at

    def chat(self, request: Request) -> PyGenerator[str | Part, None, str | None]:
        """Yields the text of each token."""
        answer: _Answer = request.state
        decoder = self._prompts.decoder()
        try:
            while (batch := self._batch_of(answer)) is None:
                yield Part()
            with closing(batch.tokens(answer.at, request)) as tokens:
                for token in tokens:
                    if token in self._prompts.ends and not answer.ignores_end:
                        return None
                    yield decoder.text(token)
            return "length"
        finally:
            if answer.batch is not None:
                answer.batch.cancel(answer.at)
            elif answer in self._collected:
                self._collected.remove(answer)

    completion = chat

    def close(self) -> None:
        """Frees the model."""
        for batch in self._batches:
            batch.cancel()
        for batch in self._batches:
            batch.wait()
        self._batches.clear()
        self._generator.unload_model()
        del self._generator
        gc.collect()


def _context(folder: Path, weights: Weights, options: GeneratorOptions) -> int:
    config = read_json(folder / "config.json", dict, {})
    told = config.get("max_position_embeddings")
    known = [positions_in(weights), told if isinstance(told, int) else 0]
    return min([options.context, *(positions for positions in known if positions > 0)])


def _kv_bytes(weights: Weights) -> int:
    """Bytes of a token in the KV cache, which holds the keys and values of all heads as float32."""
    return sum(
        2 * _FLOAT * weight.shape[1]
        for name, weight in weights.items()
        if name.endswith("self_attention/linear_1/weight")
    )


def _prefill_bytes(weights: Weights, tokens: int) -> int:
    """Bytes of a layer's values while one prompt of `tokens` tokens is evaluated; fitted to Llama models."""
    heads = weights["decoder/num_heads"].value if "decoder/num_heads" in weights else 1
    layer = "decoder/layer_0"
    hidden, width = (
        weights[name].shape[0] if name in weights else 0
        for name in (f"{layer}/ffn/linear_0/weight", f"{layer}/self_attention/linear_1/weight")
    )
    return _FLOAT * tokens * (2 * heads * tokens + 3 * hidden + 6 * width)


def _fitting_batches(answers: Sequence[_Answer], context: int) -> Iterator[list[_Answer]]:
    """Yields batches of prompts of similar length, whose prefill takes no more than one of the context."""
    batch: list[_Answer] = []
    for answer in sorted(answers, key=lambda one: len(one.prompt)):
        if batch and (len(batch) + 1) * len(answer.prompt) ** 2 > context**2:
            yield batch
            batch = []
        batch.append(answer)
    if batch:
        yield batch
