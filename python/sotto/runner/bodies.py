"""Request bodies of the engine, from the requests of `Runner`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._json import load
from .._values import invalid, wrong_type
from .errors import RunnerError
from .refusals import refuse
from .requests import ChatCompletionRequest, CompletionRequest, EmbeddingRequest, ToolChoice

Json = dict[str, Any]

_SAMPLING = {  # fields of both requests, and their names in the engine
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "repetition_penalty": "repeat_penalty",
    "stop_seqs": "stop",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "max_tokens": "max_tokens",
    "dry_multiplier": "dry_multiplier",
    "dry_base": "dry_base",
    "dry_allowed_length": "dry_allowed_length",
    "dry_sequence_breakers": "dry_sequence_breakers",
}
_EFFORTS = ("off", "none", "low", "medium", "high", "xhigh")
_GRAMMARS = ("regex", "lark", "json_schema", "llguidance")
_MAX_CHOICES = 128


def chat_body(request: ChatCompletionRequest) -> Json:
    """Returns the fields of a chat but for its model, messages and tools.

    Raises:
        RunnerError: Fields contradict each other, or one is refused.
    """
    body = _common(request)
    if request.top_logprobs is not None and not request.logprobs:
        raise RunnerError("invalid top_logprobs without logprobs: expected logprobs=True beside it")
    if request.logprobs:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs or 0}
    if request.enable_thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": request.enable_thinking}
    if request.reasoning_effort is not None:
        if request.enable_thinking is not None:
            raise RunnerError("invalid reasoning_effort with enable_thinking: expected one of them")
        body["reasoning_effort"] = _effort(request.reasoning_effort)
    return body


def text_body(request: CompletionRequest) -> Json:
    """Returns the fields of a text completion but for its model. Errors are those of `chat_body()`."""
    body = _common(request)
    if tools_of(request.tool_schemas):
        raise RunnerError("invalid tool_schemas in a CompletionRequest: expected none; send a chat")
    best, count = request.best_of, request.n_choices
    if not 1 <= best <= _MAX_CHOICES:
        raise RunnerError(invalid("best_of", best, f"an integer from 1 to {_MAX_CHOICES}"))
    if best > count:
        body |= {"n": best, "logprobs": 0}
    if request.suffix is not None:
        body["suffix"] = request.suffix
    return body


def prompt_body(request: ChatCompletionRequest) -> Json:
    """Returns the fields of a chat whose template was applied already, which is a text completion."""
    body = chat_body(request)
    for name in ("chat_template_kwargs", "reasoning_effort"):
        if name in body:
            raise RunnerError(
                f"invalid messages as text with {'enable_thinking' if 'kwargs' in name else name}: expected "
                "a list of messages, which the chat template is applied to"
            )
    if request.tool_schemas:
        raise RunnerError("invalid messages as text with tool_schemas: expected a list of messages")
    if body.pop("logprobs", None):
        body["logprobs"] = body.pop("top_logprobs")
    return body


def embed_body(request: EmbeddingRequest) -> Json:
    """Returns the fields of an embedding request but for its model.

    Raises:
        RunnerError: There is no text, or no token.
    """
    given = request.input
    if not given or (
        isinstance(given, list | tuple) and any(isinstance(one, list) and not one for one in given)
    ):
        raise RunnerError(invalid("input", given, "at least one text, or the tokens of one"))
    return {"input": given, "truncate": request.truncate_sequence}


def tools_of(schemas: list[str] | None) -> list[Json]:
    """Returns the tools of `tool_schemas`.

    Raises:
        RunnerError: An element is not the JSON of an object.
    """
    found = []
    for at, text in enumerate(schemas or ()):
        value = load(text)
        if not isinstance(value, Mapping):
            raise RunnerError(invalid(f"tool_schemas[{at}]", text, "the JSON of an OpenAI tool, an object"))
        found.append(dict(value))
    return found


def _common(request: ChatCompletionRequest | CompletionRequest) -> Json:
    """Returns the fields that chats and text completions share."""
    body: Json = {"temperature": request.temperature or 0, "repeat_last_n": -1, "dry_penalty_last_n": -1}
    for name, ours in _SAMPLING.items():
        value = getattr(request, name)
        if value is not None:
            body[ours] = value
    if request.logit_bias is not None:
        body["logit_bias"] = {str(token): bias for token, bias in request.logit_bias.items()}
    if not 1 <= request.n_choices <= _MAX_CHOICES:
        raise RunnerError(invalid("n_choices", request.n_choices, f"an integer from 1 to {_MAX_CHOICES}"))
    if request.n_choices > 1:
        body["n"] = request.n_choices
    if request.ignore_eos:
        body["ignore_eos"] = True
    if request.tool_choice is ToolChoice.NoTools and request.tool_schemas:
        body["tool_choice"] = "none"
    body["context_overflow"] = "truncate" if request.truncate_sequence else "error"
    return body | _grammar(request.grammar, request.grammar_type)


def _grammar(grammar: str | None, kind: str | None) -> Json:
    if grammar is None and kind is None:
        return {}
    if grammar is None:
        raise RunnerError(f"invalid grammar_type '{kind}' without grammar: expected both, or neither")
    if kind is None:
        raise RunnerError(f"missing grammar_type: expected one of {', '.join(_GRAMMARS[:3])} beside grammar")
    if kind == "llguidance":
        refuse("grammar_type='llguidance'")
    if kind not in _GRAMMARS:
        raise RunnerError(invalid("grammar_type", kind, f"one of {', '.join(_GRAMMARS[:3])}"))
    if kind != "json_schema":
        return {"grammar": grammar, "grammar_type": kind}
    schema = load(grammar)
    if not isinstance(schema, Mapping):
        raise RunnerError(invalid("grammar", grammar, "a JSON schema, an object"))
    return {"json_schema": schema}


def _effort(value: str) -> str:
    wanted = value.strip().lower()
    if wanted not in _EFFORTS:
        raise RunnerError(invalid("reasoning_effort", value, f"one of {', '.join(_EFFORTS)}"))
    return "none" if wanted == "off" else wanted


def check_messages(messages: object) -> None:
    """Raises `RunnerError` if there are no messages, `TypeError` if one has no role."""
    if not messages:
        raise RunnerError(invalid("messages", messages, "at least one message, or a prompt"))
    for at, one in enumerate(messages if isinstance(messages, list | tuple) else ()):
        if not isinstance(one.get("role"), str):
            raise wrong_type(f"messages[{at}].role", one.get("role"), "a str")
