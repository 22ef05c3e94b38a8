"""Part of `Llama`: answers chats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from .._json import load
from .._values import invalid
from . import shapes
from .answers import Chunks, ChunkStream, Ending, Folded, Json, Outcome, Started, Whole
from .asking import Keywords, read_keywords, read_max_tokens, read_stop
from .base import Base, Message
from .errors import ValidationError, translated
from .grammar import grammar_of
from .text import Stop, _flag

_RENDERED = (  # fields that change the prompt
    "add_generation_prompt",
    "chat_template_kwargs",
    "continue_final_message",
    "grammar",
    "json_schema",
    "messages",
    "model",
    "parallel_tool_calls",
    "reasoning_effort",
    "reasoning_format",
    "response_format",
    "tool_choice",
    "tools",
)


class Chats(Base):
    """Part of `Llama`: chat completions."""

    @overload
    def create_chat_completion(
        self,
        messages: Sequence[Message],
        max_tokens: int | None = 128,
        stream: Literal[False] = False,
        stop: Stop = None,
        **kwargs: Any,
    ) -> Json: ...

    @overload
    def create_chat_completion(
        self,
        messages: Sequence[Message],
        max_tokens: int | None = 128,
        *,
        stream: Literal[True],
        **kwargs: Any,
    ) -> ChunkStream: ...

    @overload
    def create_chat_completion(
        self, messages: Sequence[Message], *args: Any, **kwargs: Any
    ) -> Json | ChunkStream: ...

    def create_chat_completion(
        self,
        messages: Sequence[Message],
        max_tokens: int | None = 128,
        stream: bool = False,
        stop: Stop = None,
        response_format: Mapping[str, Any] | None = None,
        grammar: Any = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        reset_kv_cache: bool = True,
        **kwargs: Any,
    ) -> Json | ChunkStream:
        """Answers a chat, and returns an OpenAI chat completion.

        Args:
            messages: The conversation: dicts with `role` and `content`.
            max_tokens: Maximum number of tokens; None: until the end token or the end of the context.
            stream: Returns a stream of chunks.
            stop: Texts or tokens that end the answer. They are not part of it.
            response_format: `{"type": "json_object"}`, also with a `schema`, or OpenAI's `json_schema`.
            grammar: A `LlamaGrammar`, or GBNF text, that the answer matches.
            tools: Functions that the model may call.
            tool_choice: "auto", "none", "required", or the function that has to be called.
            reset_kv_cache: False: the messages continue the chat before. Messages that begin with that chat
                replace it.
            **kwargs: Sampling (`temperature`, `top_p`, `seed`, ...), other fields of requests, `model`, and
                `priority`, `deadline` and `target_tps`.

        Returns:
            The completion; with `stream`, a `ChunkStream`. `finish_reason` is "stop", "length",
            "tool_calls" or "content_filter".

        Raises:
            ValidationError: An argument is invalid, or sequence 0 holds no chat that can be continued.
            GenerationError: The model failed, or the conversation does not fit into the context.
        """
        words = read_keywords(self.sampling, kwargs)
        fields = chat_fields(max_tokens, response_format, grammar, tools, tool_choice)
        if _flag("stream", stream):
            return self._chat_stream(messages, fields, words, stop, reset_kv_cache)
        return self._chat(messages, fields, words, stop, reset_kv_cache).finish()

    # Internal

    def _chat(
        self,
        messages: Sequence[Message],
        fields: Json,
        words: Keywords,
        stop: Stop,
        reset: bool,
        thread: int | None = None,
    ) -> Whole[Json] | Folded[Json]:
        """Submits a chat that is waited for as a whole."""
        name = words.model or self._name()
        started = self._submit(messages, fields, words, stop, reset, False, thread)
        return started.whole(lambda told: shapes.chat_completion(told, name, started.prompt_tokens))

    def _chat_stream(
        self,
        messages: Sequence[Message],
        fields: Json,
        words: Keywords,
        stop: Stop,
        reset: bool,
        thread: int | None = None,
    ) -> ChunkStream:
        """Submits a chat whose answer is streamed."""
        name = words.model or self._name()
        started = self._submit(messages, fields, words, stop, reset, True, thread)
        return ChunkStream(started.streamed(), lambda chunk: shapes.chat_chunk(chunk, name))

    def _submit(
        self,
        messages: Sequence[Message],
        fields: Json,
        words: Keywords,
        stop: Stop,
        reset: bool,
        stream: bool,
        thread: int | None,
    ) -> Started:
        """Waits for the turn and submits a chat."""
        texts, tokens = read_stop(stop, self._ends(), self._model().details.get("vocabulary", 0))
        said = read_messages(messages)
        body = {**self._body(), **words.sampling.body(), **fields, **words.fields}
        if texts:
            body["stop"] = texts
        self._turns.begin(thread)
        try:
            body["messages"] = said if _flag("reset_kv_cache", reset) else self._continued(said)

            def store(outcome: Outcome) -> None:
                self._conversation = [*body["messages"], outcome.message]
                if "return_tokens" in body:
                    self._sequences.defer(lambda: self._rendered(body) + outcome.tokens)
                self._count(outcome)

            ending = Ending(self._turns, store)
            with translated():
                if stream or tokens:
                    count = len(self._rendered(body)) if tokens else 0
                    chunks = self._engine().llm_chat_completion_stream(body, **words.options)
                    return Started(Chunks(chunks, ending, tokens, self._detokenize), None, ending, count)
                return Started(None, self._engine()._ask("chat", body, words.options), ending, 0)
        except BaseException:
            self._turns.end()
            raise

    def _continued(self, messages: list[Message]) -> list[Message]:
        """Returns the conversation that the messages continue, with them."""
        before = self._conversation
        if before is None:
            if self._sequences[0].ids:
                raise ValidationError(
                    "invalid reset_kv_cache 'False': expected True; sequence 0 holds a text, which only "
                    "generate() continues"
                )
            return messages
        said = [_heard(one) for one in before]
        if [_heard(one) for one in messages[: len(said)]] == said:
            return messages
        return [*before, *messages]

    def _rendered(self, body: Json) -> list[int]:
        """Returns the tokens of a chat's prompt."""
        asked = {name: body[name] for name in _RENDERED if name in body}
        with translated():
            prompt = load(self._engine().apply_template(asked))["prompt"]
        return self._tokenize(prompt, True, True)


def chat_fields(
    max_tokens: int | None,
    response_format: Mapping[str, Any] | None,
    grammar: Any,
    tools: Sequence[Mapping[str, Any]] | None,
    tool_choice: str | Mapping[str, Any] | None,
) -> Json:
    """Returns the fields of a chat's body for these arguments."""
    given = {"response_format": response_format, "tools": tools or None, "tool_choice": tool_choice}
    return {
        **read_max_tokens(max_tokens, optional=True),
        **grammar_of(grammar),
        **{name: value for name, value in given.items() if value is not None},
    }


def read_messages(messages: object) -> list[Message]:
    """Returns the messages of a chat. Raises `ValidationError` if they are not a sequence of dicts."""
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise ValidationError(invalid("messages", messages, "a list with at least one message"))
    for at, one in enumerate(messages):
        if not isinstance(one, Mapping):
            raise ValidationError(invalid(f"messages[{at}]", one, "a dict with role and content"))
    return [_joined(one) for one in messages]


def _joined(message: Message) -> Message:
    """Returns a message whose parts are one text, if all of them are texts."""
    parts = message.get("content")
    if not isinstance(parts, list) or not all(isinstance(one, Mapping) and "text" in one for one in parts):
        return message
    return {**message, "content": "".join(str(one["text"]) for one in parts)}


def _heard(message: Message) -> tuple[object, object, object]:
    return message.get("role"), message.get("content") or "", message.get("tool_calls") or None
