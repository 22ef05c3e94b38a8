"""Part of `Llama`: tokens one by one, as llama-cpp-python's `eval()` and `sample()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .answers import Ending, Json, Whole
from .asking import read_keywords, read_prompt
from .errors import ValidationError, translated
from .grammar import grammar_of
from .sequences import prompt_of
from .state import KeepsState

_IGNORED = ("idx", "penalize_nl", "tfs_z")  # of llama-cpp-python, without an effect there too


class Steps(KeepsState):
    """Part of `Llama`: tokens one by one."""

    def eval(self, tokens: Sequence[int]) -> None:
        """Appends tokens to sequence 0. They are prefilled when a token after them is sampled.

        Raises:
            ValidationError: `tokens` is empty, or no list of tokens.
            ContextError: The sequence would not fit into the context.
        """
        added = read_prompt(tokens)
        if isinstance(added, str):
            raise ValidationError("invalid tokens: expected a list of tokens; use tokenize() for a text")
        with self._changing():
            prompt_of(self._sequences[0], added, self._context())
            self._sequences[0].append(added)

    def sample(self, *, temp: float = 0.8, grammar: Any = None, **kwargs: Any) -> int:
        """Returns the token that follows sequence 0, and leaves the sequence as it is.

        Args:
            temp: Temperature; 0: the likeliest token.
            grammar: A `LlamaGrammar`, or GBNF text, that the token begins.
            **kwargs: Other sampling parameters: `top_k`, `top_p`, `min_p`, `seed`, ...

        Returns:
            The token: `token_eos()` or `token_eot()` where the text ends.

        Raises:
            ValidationError: An argument is invalid, or the sequence is empty.
        """
        from .sampling import SamplingParams

        given = {name: value for name, value in kwargs.items() if name not in _IGNORED}
        defaults = SamplingParams(min_p=0.05, repeat_penalty=1.0)  # llama-cpp-python's
        words = read_keywords(defaults, {**given, "temperature": temp})
        self._turns.begin()
        ending = Ending(self._turns, self._count)
        try:
            ids = self._sequences[0].ids
            if not ids:
                raise ValidationError("sequence 0 is empty; call eval() with the tokens of a text first")
            body = {**self._body(), **words.sampling.body(), **words.fields, **grammar_of(grammar)}
            body |= {"prompt": ids, "max_tokens": 1}
            with translated():
                request = self._engine()._ask("completion", body, words.options)
        except BaseException:
            ending.end(None)
            raise
        return Whole(request, ending, self._first_token).finish()

    def _first_token(self, response: Json) -> int:
        """Returns the token of an answer of one token. An answer without one ended at once."""
        made: list[int] = response["choices"][0].get("tokens", [])
        return made[0] if made else min(self._ends())
