"""Arguments of requests: stop sequences, limits, and keywords beyond those of the signatures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._values import invalid
from ..terms import RequestOptions
from .errors import ValidationError

if TYPE_CHECKING:
    from .sampling import SamplingParams

_OPTIONS = frozenset(RequestOptions.__annotations__)
_ALIASES = {"mirostat_mode": "mirostat"}  # names of llama-cpp-python
_FIELDS = frozenset(
    (
        "add_generation_prompt",
        "cache_prompt",
        "chat_template_kwargs",
        "context_overflow",
        "continue_final_message",
        "dry_allowed_length",
        "dry_base",
        "dry_multiplier",
        "dry_penalty_last_n",
        "dry_sequence_breakers",
        "dynatemp_exponent",
        "dynatemp_range",
        "ignore_eos",
        "json_schema",
        "logit_bias",
        "logprobs",
        "mirostat",
        "mirostat_eta",
        "mirostat_tau",
        "n_keep",
        "parallel_tool_calls",
        "reasoning_budget_message",
        "reasoning_budget_tokens",
        "reasoning_effort",
        "reasoning_format",
        "samplers",
        "suffix",
        "top_logprobs",
        "top_n_sigma",
        "typical_p",
        "xtc_probability",
        "xtc_threshold",
    )
)


class Keywords(NamedTuple):
    """Keywords of a call, by what they are for."""

    sampling: SamplingParams
    fields: dict[str, Any]  # of the body
    options: dict[str, Any]  # see `RequestOptions`
    model: str | None  # name of the model in the response


def read_keywords(sampling: SamplingParams, given: Mapping[str, Any]) -> Keywords:
    """Returns the keywords of a call. None stands for an argument that is not given.

    Raises:
        ValidationError: A keyword is unknown, or a value out of range.
    """
    from .sampling import NAMES

    named = {_ALIASES.get(name, name): value for name, value in given.items() if value is not None}
    model = named.pop("model", None)
    if model is not None and not isinstance(model, str):
        raise ValidationError(invalid("model", model, "a name for the response"))
    for name in named:
        if name not in NAMES and name not in _FIELDS and name not in _OPTIONS:
            known = ", ".join(sorted({*NAMES, *_FIELDS, *_OPTIONS}))
            raise ValidationError(f"invalid keyword '{name}': expected one of {known}")
    return Keywords(
        sampling.changed({name: value for name, value in named.items() if name in NAMES}),
        {name: value for name, value in named.items() if name in _FIELDS},
        {name: value for name, value in named.items() if name in _OPTIONS},
        model,
    )


def read_max_tokens(value: object, *, optional: bool = False) -> dict[str, Any]:
    """Returns the field `max_tokens`; none if `value` is None, where that is allowed."""
    if value is None and optional:
        return {}
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValidationError(invalid("max_tokens", value, "an integer from 1"))
    return {"max_tokens": value}


def read_stop(value: object, ends: Collection[int], vocabulary: int) -> tuple[list[str], frozenset[int]]:
    """Returns stop texts, and stop tokens.

    Args:
        value: One text or token, several, or None.
        ends: Tokens that end every answer, which are left out.
        vocabulary: Number of tokens of the model; 0: unknown.

    Raises:
        ValidationError: An element is neither a text nor a token.
    """
    if value is None:
        return [], frozenset()
    if isinstance(value, (str, int)):
        value = [value]
    if not isinstance(value, Iterable):
        raise ValidationError(invalid("stop", value, "texts and tokens"))
    texts: list[str] = []
    tokens: set[int] = set()
    for at, one in enumerate(value):
        if isinstance(one, str) and one:
            texts.append(one)
        elif isinstance(one, int) and not isinstance(one, bool) and 0 <= one < (vocabulary or one + 1):
            tokens.add(one)
        else:
            expected = f"a non-empty text, or a token from 0 to {vocabulary - 1}"
            raise ValidationError(invalid(f"stop[{at}]", one, expected))
    return texts, frozenset(tokens.difference(ends))


def read_prompt(value: object) -> str | list[int]:
    """Returns a prompt: a text, or tokens.

    Raises:
        ValidationError: The prompt is empty, blank, or neither.
    """
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, (list, tuple)) and value and all(map(_is_token, value)):
        return list(value)
    raise ValidationError(invalid("prompt", value, "text that is not blank, or a list of tokens"))


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
