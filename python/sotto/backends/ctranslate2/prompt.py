"""Chats as a converted model's template writes them, in tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from ..._values import invalid
from ...errors import ArgumentError, ModelLoadError
from .files import read_json

_LEAST_STATIC = 16  # tokens of a system message that are worth a cache
_MARK = "\ue000{}\ue001"  # of a special token that a message spells out; private characters
_MARKED = re.compile("\ue000(\\d+)\ue001")


class Prompt(NamedTuple):
    """A prompt in tokens.

    Attributes:
        static: The beginning that ends with the system message; empty without one.
        rest: What follows.
    """

    static: tuple[str, ...]
    rest: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.static) + len(self.rest)


class PromptWriter:
    """The tokenizer and the chat template of a model."""

    def __init__(self, folder: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises plain ones
            raise ModelLoadError(f"'{folder / 'tokenizer.json'}' cannot be read: {error}") from None
        self._tokenizer.no_truncation()
        self._literal = Tokenizer.from_str(self._tokenizer.to_str())
        self._literal.encode_special_tokens = True  # reads special tokens that a text spells out as text
        self.vocabulary = self._tokenizer.get_vocab_size()
        added = self._tokenizer.get_added_tokens_decoder().values()
        special = sorted((token.content for token in added if token.special), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, special)) or "(?!)")
        self._merges_system = False  # the template has no system role
        self._config = read_json(folder / "tokenizer_config.json", dict, {})
        self._template = self._compile(folder)
        self.ends = _ends(folder, self._config, self._tokenizer)

    def _compile(self, folder: Path) -> Any:
        file = folder / "chat_template.jinja"
        text = file.read_text(encoding="utf-8") if file.is_file() else self._config.get("chat_template")
        if isinstance(text, list):  # several, by name
            named = {one.get("name"): one.get("template") for one in text if isinstance(one, dict)}
            text = named.get("default")
        if text is not None and not isinstance(text, str):
            raise ModelLoadError(
                f"the chat template of '{folder}' is damaged: expected a text; convert again"
            )
        if not text:
            return None
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        try:
            return environment.from_string(text)
        except TemplateError as error:
            raise ModelLoadError(f"the chat template of '{folder}' cannot be read: {error}") from None

    def chat(self, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> Prompt:
        """Returns the prompt of a chat. The system message, if it is the first, is its static part."""
        if self._template is None:
            raise ArgumentError(
                "the model has no chat template: use a completion, or add chat_template.jinja to its folder"
            )
        spelled: list[str] = []
        plain = [{**one, "content": self._hidden(_plain(one.get("content")), spelled)} for one in messages]
        opens = not fields.get("continue_final_message", False)
        variables = dict(fields.get("chat_template_kwargs") or {})
        variables["add_generation_prompt"] = opens and fields.get("add_generation_prompt", True)
        whole = self._render(plain, variables)
        if not opens:
            whole = _cut_after(whole, plain[-1]["content"])
        static = ""
        if plain[0].get("role") == "system" and len(plain) > 1 and not self._merges_system:
            static = self._render(plain[:1], {**variables, "add_generation_prompt": False})
        return self._split(whole, static, spelled)

    def _hidden(self, content: str, spelled: list[str]) -> str:
        """Replaces special tokens that a message spells out, so that no player's text ends its turn."""

        def replace(found: re.Match[str]) -> str:
            spelled.append(found[0])
            return _MARK.format(len(spelled) - 1)

        return self._special.sub(replace, _MARKED.sub("", content))

    def _render(self, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
        given = _without_system(messages) if self._merges_system else messages
        special = {name: _text_of(self._config.get(name)) for name in ("bos_token", "eos_token")}
        try:
            return str(self._template.render(messages=given, **special, **variables))
        except (TemplateError, TypeError) as error:
            if not self._merges_system and messages[0].get("role") == "system" and len(messages) > 1:
                return self._render_merged(messages, variables)
            raise ArgumentError(f"the chat template refused the messages: {error}") from None

    def _render_merged(self, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> str:
        """Renders for a template that may have no system role, as llama.cpp does; remembers it if so."""
        self._merges_system = True
        try:
            return self._render(messages, variables)
        except ArgumentError:
            self._merges_system = False
            raise

    def _split(self, whole: str, static: str, spelled: Sequence[str]) -> Prompt:
        """Returns the tokens of `whole`, apart at the end of `static` if a token ends there."""
        tokens = self._tokens(whole, spelled)
        if static and whole.startswith(static):
            first = self._tokens(static, spelled)
            if _LEAST_STATIC <= len(first) < len(tokens) and tokens[: len(first)] == first:
                return Prompt(first, tokens[len(first) :])
        return Prompt((), tokens)

    def _tokens(self, text: str, spelled: Sequence[str]) -> tuple[str, ...]:
        made: list[str] = []
        for at, part in enumerate(_MARKED.split(text)):
            made += self._literal_tokens(spelled[int(part)]) if at % 2 else self.tokens(part)
        return tuple(made)

    def _literal_tokens(self, text: str) -> list[str]:
        return list(self._literal.encode(text, add_special_tokens=False).tokens)

    def completion(self, text: str) -> Prompt:
        """Returns the prompt of a completion, with the tokens that the model expects in front."""
        return Prompt((), tuple(self._tokenizer.encode(text).tokens))

    def tokens(self, text: str) -> tuple[str, ...]:
        """Returns the tokens of a text."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).tokens)

    def decoder(self) -> TextDecoder:
        """Returns a decoder for one answer."""
        return TextDecoder(self._tokenizer)


class TextDecoder:
    """Turns the tokens of one answer into text, whole characters at a time."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)

    def text(self, token: int) -> str:
        """Returns the text that a token completes; "" if a character is not complete."""
        return self._stream.step(self._tokenizer, token) or ""


def _ends(folder: Path, config: Mapping[str, Any], tokenizer: Tokenizer) -> dict[int, str]:
    """The tokens that end an answer, by their ids."""
    given = read_json(folder / "generation_config.json", dict, {}).get("eos_token_id")
    ids = [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, int)]
    text = _text_of(config.get("eos_token"))
    if not ids and text and (found := tokenizer.token_to_id(text)) is not None:
        ids = [found]
    return {one: token for one in ids if (token := tokenizer.id_to_token(one)) is not None}


def _text_of(token: object) -> str:
    """The text of a special token, which some files hold as an object."""
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")


def _without_system(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Puts the text of a system message in front of the first message after it."""
    if len(messages) < 2 or messages[0].get("role") != "system":
        return list(messages)
    first = messages[1]
    return [{**first, "content": f"{messages[0]['content']}\n\n{first['content']}"}, *messages[2:]]


def _plain(content: object) -> str:
    if isinstance(content, list):
        kinds = {part.get("type") for part in content}
        if kinds - {"text"}:
            raise ArgumentError(
                invalid("messages", ", ".join(sorted(map(str, kinds))), "parts of type text alone")
            )
        return "".join(part["text"] for part in content)
    return str(content or "")


def _cut_after(whole: str, content: str) -> str:
    """Drops what the template writes after the last message."""
    at = whole.rfind(content)
    return whole if at < 0 else whole[: at + len(content)]


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)
