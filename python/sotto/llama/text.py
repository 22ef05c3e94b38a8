"""Part of `Llama`: continues texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from .._values import invalid, truth
from . import shapes
from .answers import (
    Chunks,
    ChunkStream,
    Criterion,
    Ending,
    Folded,
    Json,
    Outcome,
    Started,
    TextStream,
    Whole,
    token_probs,
)
from .asking import read_keywords, read_max_tokens, read_prompt, read_stop
from .base import Base
from .errors import ValidationError, translated
from .grammar import grammar_of
from .sequences import prompt_of

if TYPE_CHECKING:
    from .sampling import SamplingParams

Stop = str | int | Sequence[str | int] | None
Prompt = str | list[int]
_MAX_LOGPROBS = 20


class Generates(Base):
    """Part of `Llama`: text completions."""

    @overload
    def generate(
        self,
        prompt: Prompt,
        max_tokens: int = 128,
        sampling: SamplingParams | None = None,
        stop: Stop = None,
        echo: bool = False,
        logprobs: None = None,
        stream: Literal[False] = False,
        seed: int | None = None,
        reset_kv_cache: bool = True,
    ) -> str: ...

    @overload
    def generate(
        self,
        prompt: Prompt,
        max_tokens: int = 128,
        sampling: SamplingParams | None = None,
        stop: Stop = None,
        echo: bool = False,
        *,
        stream: Literal[True],
        seed: int | None = None,
        reset_kv_cache: bool = True,
    ) -> TextStream: ...

    @overload
    def generate(
        self,
        prompt: Prompt,
        max_tokens: int = 128,
        sampling: SamplingParams | None = None,
        stop: Stop = None,
        echo: bool = False,
        *,
        logprobs: int,
        seed: int | None = None,
        reset_kv_cache: bool = True,
    ) -> Json: ...

    @overload
    def generate(self, prompt: Prompt, *args: Any, **kwargs: Any) -> str | TextStream | Json: ...

    def generate(
        self,
        prompt: Prompt,
        max_tokens: int = 128,
        sampling: SamplingParams | None = None,
        stop: Stop = None,
        echo: bool = False,
        logprobs: int | None = None,
        stream: bool = False,
        seed: int | None = None,
        reset_kv_cache: bool = True,
    ) -> str | TextStream | Json:
        """Continues a text.

        Args:
            prompt: The text, or its tokens.
            max_tokens: Maximum number of tokens of the answer.
            sampling: How tokens are drawn; None: the instance's `sampling`.
            stop: Texts or tokens that end the answer. They are not part of it.
            echo: Puts the prompt before the answer.
            logprobs: 0 to 20: returns a dict with the log probabilities of each token and of that number
                of alternatives.
            stream: Returns a stream of text.
            seed: Seed of this answer; None: that of `sampling`, else that of the configuration.
            reset_kv_cache: False: continues sequence 0, after the prompts and answers before.

        Returns:
            The text; with `stream`, a `TextStream`; with `logprobs`, a dict with `text`, `tokens` and
            `token_probs`, a list of `TokenProb`.

        Raises:
            ValidationError: An argument is invalid, or `stream` comes with `logprobs`.
            GenerationError: The model failed, or the prompt does not fit into the context.
            LlamaError: This instance is closed, or a stream of the same thread is not finished.
        """
        if _flag("stream", stream):
            if logprobs is not None:
                raise ValidationError("invalid logprobs with stream=True: pass stream=False, or no logprobs")
            return self._text_stream(prompt, max_tokens, sampling, stop, echo, seed, reset_kv_cache)
        return self._text(prompt, max_tokens, sampling, stop, echo, logprobs, seed, reset_kv_cache).finish()

    def generate_stream(
        self,
        prompt: Prompt,
        max_tokens: int = 128,
        sampling: SamplingParams | None = None,
        stop: Stop = None,
        seed: int | None = None,
        reset_kv_cache: bool = True,
    ) -> TextStream:
        """Continues a text, and streams the answer. Arguments and errors are those of `generate()`."""
        return self._text_stream(prompt, max_tokens, sampling, stop, False, seed, reset_kv_cache)

    @overload
    def __call__(
        self,
        prompt: Prompt,
        max_tokens: int | None = 128,
        stop: Stop = None,
        echo: bool = False,
        stream: Literal[False] = False,
        **kwargs: Any,
    ) -> Json: ...

    @overload
    def __call__(
        self,
        prompt: Prompt,
        max_tokens: int | None = 128,
        stop: Stop = None,
        echo: bool = False,
        *,
        stream: Literal[True],
        **kwargs: Any,
    ) -> ChunkStream: ...

    @overload
    def __call__(self, prompt: Prompt, *args: Any, **kwargs: Any) -> Json | ChunkStream: ...

    def __call__(
        self,
        prompt: Prompt,
        max_tokens: int | None = 128,
        stop: Stop = None,
        echo: bool = False,
        stream: bool = False,
        **kwargs: Any,
    ) -> Json | ChunkStream:
        """Continues a text, as `create_completion()` does."""
        words: dict[str, Any] = {"stream": stream, **kwargs}
        answer: Json | ChunkStream = self.create_completion(prompt, max_tokens, stop, echo, **words)
        return answer

    @overload
    def create_completion(
        self,
        prompt: Prompt,
        max_tokens: int | None = 128,
        stop: Stop = None,
        echo: bool = False,
        stream: Literal[False] = False,
        **kwargs: Any,
    ) -> Json: ...

    @overload
    def create_completion(
        self,
        prompt: Prompt,
        max_tokens: int | None = 128,
        stop: Stop = None,
        echo: bool = False,
        *,
        stream: Literal[True],
        **kwargs: Any,
    ) -> ChunkStream: ...

    @overload
    def create_completion(self, prompt: Prompt, *args: Any, **kwargs: Any) -> Json | ChunkStream: ...

    def create_completion(
        self,
        prompt: Prompt,
        max_tokens: int | None = 128,
        stop: Stop = None,
        echo: bool = False,
        stream: bool = False,
        logprobs: int | None = None,
        grammar: Any = None,
        reset_kv_cache: bool = True,
        stopping_criteria: Criterion | None = None,
        **kwargs: Any,
    ) -> Json | ChunkStream:
        """Continues a text, and returns an OpenAI text completion.

        Args:
            prompt: The text, or its tokens.
            max_tokens: Maximum number of tokens; None: until the end token or the end of the context.
            stop: Texts or tokens that end the answer.
            echo: Puts the prompt before the answer.
            stream: Returns a stream of chunks.
            logprobs: Number of alternatives of each token, 0 to 20.
            grammar: A `LlamaGrammar`, or GBNF text, that the answer matches.
            reset_kv_cache: False: continues sequence 0.
            stopping_criteria: A `StoppingCriteriaList`, or another function of the tokens so far, prompt and
                answer, and None: returns True if the answer ends before the next token.
            **kwargs: Sampling (`temperature`, `top_p`, `seed`, ...), other fields of requests, `model`, and
                `priority`, `deadline` and `target_tps`.

        Returns:
            The completion; with `stream`, a `ChunkStream`.

        Raises:
            ValidationError: An argument is invalid.
            GenerationError: The model failed, or the prompt does not fit into the context.
        """
        words = read_keywords(self.sampling, kwargs)
        name, before = words.model or self._name(), self._echo(prompt, echo)
        started = self._start(
            read_prompt(prompt),
            {**read_max_tokens(max_tokens, optional=True), **_logprobs(logprobs), **grammar_of(grammar)}
            | words.fields,
            words.sampling,
            stop,
            reset=reset_kv_cache,
            stream=_flag("stream", stream),
            options=words.options,
            criteria=stopping_criteria,
        )
        shape = shapes.TextShape(name, before, len(prompt) if isinstance(prompt, str) else 0)
        if not stream:
            return started.whole(lambda told: shape.whole(told, started.prompt_tokens)).finish()
        return ChunkStream(started.streamed(), shape.chunk)

    # Internal

    def _text(
        self,
        prompt: Prompt,
        max_tokens: int,
        sampling: SamplingParams | None,
        stop: Stop,
        echo: bool,
        logprobs: int | None,
        seed: int | None,
        reset: bool,
        thread: int | None = None,
    ) -> Whole[str | Json] | Folded[str | Json]:
        """Submits `generate()`."""
        before = self._echo(prompt, echo)
        fields = {**read_max_tokens(max_tokens), **_logprobs(logprobs)}
        drawn = self._drawn(sampling, seed)
        started = self._start(read_prompt(prompt), fields, drawn, stop, reset=reset, thread=thread)

        def shape(told: Json) -> str | Json:
            choice = told["choices"][0]
            text: str = before + choice["text"]
            if logprobs is None:
                return text
            return {"text": text, "tokens": choice["tokens"], "token_probs": token_probs(choice)}

        return started.whole(shape)

    def _text_stream(
        self,
        prompt: Prompt,
        max_tokens: int,
        sampling: SamplingParams | None,
        stop: Stop,
        echo: bool,
        seed: int | None,
        reset: bool,
        thread: int | None = None,
    ) -> TextStream:
        """Submits `generate_stream()`."""
        before, drawn = self._echo(prompt, echo), self._drawn(sampling, seed)
        fields = read_max_tokens(max_tokens)
        started = self._start(
            read_prompt(prompt), fields, drawn, stop, reset=reset, stream=True, thread=thread
        )
        return TextStream(started.streamed(), before)

    def _start(
        self,
        prompt: Prompt,
        fields: Mapping[str, Any],
        sampling: SamplingParams,
        stop: Stop,
        *,
        reset: bool,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
        thread: int | None = None,
        criteria: Criterion | None = None,
    ) -> Started:
        """Waits for the turn and submits a text completion, which continues sequence 0."""
        texts, tokens = read_stop(stop, self._ends(), self._model().details.get("vocabulary", 0))
        body = {**self._body(), **sampling.body(), **fields}
        if texts:
            body["stop"] = texts
        self._turns.begin(thread)
        try:
            if _flag("reset_kv_cache", reset):
                self._sequences.restart()
            before = self._sequences[0]
            added = self._prompt_tokens(prompt, first=not before.ids)
            body["prompt"] = prompt_of(before, added, self._context())
            self._conversation = None

            def store(outcome: Outcome) -> None:
                before.append([*added, *outcome.tokens])
                self._count(outcome)

            ending = Ending(self._turns, store)
            with translated():
                if stream or tokens or criteria:
                    chunks = self._engine().llm_text_completion_stream(body, **(options or {}))
                    made = Chunks(chunks, ending, tokens, self._detokenize, _ended(criteria, body["prompt"]))
                    return Started(made, None, ending, len(body["prompt"]))
                request = self._engine()._ask("completion", body, options or {})
                return Started(None, request, ending, len(body["prompt"]))
        except BaseException:
            self._turns.end()
            raise

    def _prompt_tokens(self, prompt: Prompt, first: bool) -> list[int]:
        """Returns the tokens of a prompt; those that a text begins with only if it is the first one."""
        if not isinstance(prompt, str):
            return prompt
        return self._tokenize(prompt, self.config.add_bos and first, self.config.parse_special)

    def _drawn(self, sampling: SamplingParams | None, seed: int | None) -> SamplingParams:
        if sampling is not None:
            from .sampling import SamplingParams

            if not isinstance(sampling, SamplingParams):
                raise ValidationError(invalid("sampling", sampling, "a SamplingParams, or None"))
        return (sampling or self.sampling).changed({"seed": seed})

    def _echo(self, prompt: Prompt, echo: bool) -> str:
        """Returns the text that goes before an answer."""
        if not _flag("echo", echo):
            return ""
        return prompt if isinstance(prompt, str) else self._detokenize(read_prompt(prompt))  # type: ignore[arg-type]


def _ended(criteria: Criterion | None, prompt: list[int]) -> Callable[[list[int]], bool] | None:
    """Returns the criteria as a function of the answer's tokens."""
    return None if criteria is None else lambda tokens: bool(criteria([*prompt, *tokens], None))


def _flag(name: str, value: bool) -> bool:
    with translated():
        return truth(name, value)


def _logprobs(value: int | None) -> Json:
    if value is None:
        return {}
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_LOGPROBS:
        raise ValidationError(invalid("logprobs", value, f"an integer from 0 to {_MAX_LOGPROBS}, or None"))
    return {"logprobs": value}
