"""Part of `LlamaCppClient`: llama.cpp's own endpoints for completions, vectors, tokens, ranking."""

from __future__ import annotations

from typing import Any, Literal, overload

from .. import _read
from .._wire import fields
from ..types import CompletionResponse, RerankResponse, TokenizeResponse
from .transport import Stream, Transport


class NativeCalls:
    """Endpoints in llama.cpp's form."""

    _transport: Transport

    @overload
    def complete(self, prompt: str | list[str | int], *, stream: Literal[True], **kwargs: Any) -> Stream: ...
    @overload
    def complete(
        self, prompt: str | list[str | int], *, stream: Literal[False] = False, **kwargs: Any
    ) -> CompletionResponse: ...
    @overload
    def complete(
        self, prompt: str | list[str | int], *, stream: bool, **kwargs: Any
    ) -> CompletionResponse | Stream: ...
    def complete(
        self,
        prompt: str | list[str | int],
        n_predict: int = -1,
        temperature: float = 0.8,
        top_k: int = 40,
        top_p: float = 0.95,
        min_p: float = 0.05,
        repeat_penalty: float = 1.1,
        repeat_last_n: int = 64,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        mirostat: int = 0,
        mirostat_tau: float = 5.0,
        mirostat_eta: float = 0.1,
        grammar: str | None = None,
        json_schema: dict[str, Any] | None = None,
        seed: int = -1,
        stop: list[str] | None = None,
        stream: bool = False,
        cache_prompt: bool = True,
        n_probs: int = 0,
        samplers: list[str] | None = None,
        dry_multiplier: float = 0.0,
        dry_base: float = 1.75,
        dry_allowed_length: int = 2,
        dry_penalty_last_n: int = -1,
        xtc_probability: float = 0.0,
        xtc_threshold: float = 0.1,
        dynatemp_range: float = 0.0,
        dynatemp_exponent: float = 1.0,
        typical_p: float = 1.0,
        id_slot: int = -1,
        return_tokens: bool = False,
        **kwargs: Any,
    ) -> CompletionResponse | Stream:
        """Continues a prompt, without a chat template: `/completion`.

        Sends every parameter that is not None, but no `dry_penalty_last_n` of -1: llama-server refuses that.

        Args:
            prompt: A text, or a list of token ids and texts that form one prompt.
            n_predict: Most tokens; -1: no limit but the context; 0: evaluates the prompt alone.
            temperature: Randomness; 0.0 takes the most likely token.
            top_k: Number of candidates; 0 switches it off.
            top_p: Nucleus sampling; 1.0 switches it off.
            min_p: Smallest probability relative to the likeliest token; 0.0 switches it off.
            repeat_penalty: Penalty for repetition; 1.0 switches it off.
            repeat_last_n: Tokens that the penalties look at; 0: none; -1: the whole context.
            presence_penalty: Penalty for tokens that occurred.
            frequency_penalty: Penalty by the number of occurrences.
            mirostat: 0: off; 1 or 2: version of Mirostat.
            mirostat_tau: Target entropy of Mirostat.
            mirostat_eta: Learning rate of Mirostat.
            grammar: GBNF grammar of the text.
            json_schema: JSON schema of the text.
            seed: Seed of the sampler; -1: random.
            stop: Texts that end the completion, which omits them.
            stream: True returns the chunks as they arrive.
            cache_prompt: True reuses the KV cache of a prompt with the same beginning.
            n_probs: Number of probabilities per token; see `Choice.logprobs`.
            samplers: Names of the samplers, in the order of use.
            dry_multiplier: Strength of DRY; 0.0 switches it off.
            dry_base: Base of DRY's penalty.
            dry_allowed_length: Longest repetition that DRY does not penalise, in tokens.
            dry_penalty_last_n: Tokens that DRY looks at; 0: none; -1: the server's default.
            xtc_probability: Chance of XTC per token; 0.0 switches it off.
            xtc_threshold: Probability above which XTC removes tokens.
            dynatemp_range: Range of the temperature around its value; 0.0 switches it off.
            dynatemp_exponent: Exponent of the dynamic temperature.
            typical_p: Locally typical sampling; 1.0 switches it off.
            id_slot: Number of the slot; -1: any.
            return_tokens: True returns token ids; see `Choice.tokens`.
            **kwargs: Further fields of the body; a field of a parameter's name replaces it.

        Returns:
            The completion, whose text is `choices[0].text`; with `stream` an iterator
            of chunks that have `content`, `tokens` and `stop`.

        Raises:
            ApiError: The server refused the request or failed.
            ArgumentError: A value is not JSON.
            DeadlineExceeded: The completion did not end within the client's `timeout`.
            TransportError: The server cannot be reached, or the connection broke off.
        """
        named = {
            "prompt": prompt,
            "n_predict": n_predict,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
            "repeat_penalty": repeat_penalty,
            "repeat_last_n": repeat_last_n,
            "presence_penalty": presence_penalty,
            "frequency_penalty": frequency_penalty,
            "mirostat": mirostat,
            "mirostat_tau": mirostat_tau,
            "mirostat_eta": mirostat_eta,
            "grammar": grammar,
            "json_schema": json_schema,
            "seed": seed,
            "stop": stop,
            "stream": stream,
            "cache_prompt": cache_prompt,
            "n_probs": n_probs,
            "samplers": samplers,
            "dry_multiplier": dry_multiplier,
            "dry_base": dry_base,
            "dry_allowed_length": dry_allowed_length,
            "dry_penalty_last_n": None if dry_penalty_last_n == -1 else dry_penalty_last_n,
            "xtc_probability": xtc_probability,
            "xtc_threshold": xtc_threshold,
            "dynatemp_range": dynatemp_range,
            "dynatemp_exponent": dynatemp_exponent,
            "typical_p": typical_p,
            "id_slot": id_slot,
            "return_tokens": return_tokens,
        }
        body = fields(named, kwargs)
        if body.get("stream") is True:
            return self._transport.stream("POST", "/completion", body)
        return _read.native(self._transport.send("POST", "/completion", body))

    def simple_completion(self, prompt: str, **kwargs: Any) -> str | CompletionResponse | Stream:
        """Continues a prompt, and returns the text alone.

        Args:
            prompt: The text.
            **kwargs: Arguments of `complete()`.

        Returns:
            The text; the whole response if the text is empty; an iterator with `stream=True`.
        """
        answer: CompletionResponse | Stream = self.complete(prompt, **kwargs)
        if isinstance(answer, CompletionResponse) and len(answer.choices) == 1:
            return answer.choices[0].text or answer
        return answer

    @overload
    def infill(
        self, input_prefix: str, input_suffix: str, *, stream: Literal[True], **kwargs: Any
    ) -> Stream: ...
    @overload
    def infill(
        self, input_prefix: str, input_suffix: str, *, stream: Literal[False] = False, **kwargs: Any
    ) -> CompletionResponse: ...
    @overload
    def infill(
        self, input_prefix: str, input_suffix: str, *, stream: bool, **kwargs: Any
    ) -> CompletionResponse | Stream: ...
    def infill(
        self,
        input_prefix: str,
        input_suffix: str,
        input_extra: list[dict[str, str]] | None = None,
        prompt: str | None = None,
        stream: bool = False,
        **kwargs: Any,
    ) -> CompletionResponse | Stream:
        """Writes the text between a prefix and a suffix. The model must have tokens for it.

        Args:
            input_prefix: Text before the cursor.
            input_suffix: Text after the cursor.
            input_extra: Files as context: dicts of `filename` and `text`.
            prompt: Text after the token that starts the middle.
            stream: True returns the chunks as they arrive.
            **kwargs: Any field of a completion, such as `n_predict`.

        Raises:
            ApiError: The model has no tokens for it (status 501), or the server failed.
        """
        named = {
            "input_prefix": input_prefix,
            "input_suffix": input_suffix,
            "input_extra": input_extra,
            "prompt": prompt,
            "stream": stream,
        }
        body = fields(named, kwargs)
        if body.get("stream") is True:
            return self._transport.stream("POST", "/infill", body)
        return _read.native(self._transport.send("POST", "/infill", body))

    def embed(self, content: str | list[str], embd_normalize: int = 2) -> list[list[float]]:
        """Embeds texts: `/embedding`.

        Args:
            content: One text or several.
            embd_normalize: Norm of a vector: -1: none; 0: largest absolute value; 1: taxicab; 2: Euclidean.

        Returns:
            One vector per text. On a server without pooling, one per token of a single text.
        """
        count = None if isinstance(content, str) else len(content)
        body = {"content": content, "embd_normalize": embd_normalize}
        return _read.vectors(self._transport.send("POST", "/embedding", body), count)

    def tokenize(
        self, content: str, add_special: bool = False, parse_special: bool = True, with_pieces: bool = False
    ) -> TokenizeResponse:
        """Splits a text into tokens.

        Args:
            content: The text.
            add_special: True adds the tokens that begin and end a text.
            parse_special: True reads the names of special tokens in the text as these tokens.
            with_pieces: True returns dicts of `id` and `piece`. A piece that is not UTF-8 is a list of bytes.
        """
        body = {
            "content": content,
            "add_special": add_special,
            "parse_special": parse_special,
            "with_pieces": with_pieces,
        }
        return _read.tokens(self._transport.send("POST", "/tokenize", body))

    def detokenize(self, tokens: list[int]) -> str:
        """Returns the text of token ids."""
        return _read.text_of(self._transport.send("POST", "/detokenize", {"tokens": tokens}), "content")

    def apply_template(self, messages: list[dict[str, Any]]) -> str:
        """Returns the prompt that the chat template makes of messages, without an answer."""
        return _read.text_of(
            self._transport.send("POST", "/apply-template", {"messages": messages}), "prompt"
        )

    def rerank(self, query: str, documents: list[str], top_n: int | None = None) -> RerankResponse:
        """Ranks documents by their relevance to a query. The server's model must be a reranker.

        Args:
            query: The query.
            documents: The documents.
            top_n: Number of results; None: all.

        Returns:
            The results, the most relevant first, with the texts of the documents.

        Raises:
            ApiError: The query or `documents` is empty, or the model is no reranker.
        """
        body = fields({"query": query, "documents": documents, "top_n": top_n}, {})
        return _read.rerank(self._transport.send("POST", "/v1/rerank", body), documents)
