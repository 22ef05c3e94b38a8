"""Part of `Llama`: tokens and facts about the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._json import load
from .._values import invalid
from .answers import Json
from .base import Base
from .errors import LlamaError, ValidationError, translated


class Text(str):
    """Text of tokens. Its `decode()` lets it stand for the bytes that llama-cpp-python returns."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Returns the text. Both arguments are ignored."""
        return str(self)


class Describes(Base):
    """Part of `Llama`: tokens and facts about the model."""

    def tokenize(
        self,
        text: str | bytes,
        add_special: bool | None = None,
        parse_special: bool | None = None,
        *,
        add_bos: bool | None = None,
        special: bool | None = None,
    ) -> list[int]:
        """Returns the tokens of a text.

        Args:
            text: The text; bytes are UTF-8.
            add_special: Adds the tokens that the model begins a text with; None: `config.add_bos`.
            parse_special: Reads special tokens in the text as such; None: `config.parse_special`.
            add_bos: llama-cpp-python's name of `add_special`.
            special: llama-cpp-python's name of `parse_special`.

        Raises:
            ValidationError: The text is not text.
        """
        if isinstance(text, (bytes, bytearray)):
            try:
                text = text.decode()
            except UnicodeDecodeError as error:
                raise ValidationError(invalid("text", text, f"UTF-8: {error.reason}")) from error
        if not isinstance(text, str):
            raise ValidationError(invalid("text", text, "a str"))
        add = _first(add_special, add_bos, self.config.add_bos)
        return self._tokenize(text, add, _first(parse_special, special, self.config.parse_special))

    def detokenize(
        self,
        tokens: Iterable[int],
        remove_special: bool = True,
        unparse_special: bool = False,
        *,
        special: bool | None = None,
    ) -> Text:
        """Returns the text of tokens: a `str` that also has `decode()`, as llama-cpp-python's bytes do.

        Args:
            tokens: The tokens.
            remove_special: Leaves out the tokens that a text begins and ends with.
            unparse_special: Writes special tokens as text; False leaves them out.
            special: llama-cpp-python's name of `unparse_special`; True also keeps those tokens.

        Raises:
            ValidationError: A token is not one of the model's.
        """
        found = list(tokens)
        if remove_special and not special:
            found = self._without_ends(found)
        return Text(self._detokenize(found, _first(special, None, unparse_special)))

    def _without_ends(self, tokens: list[int]) -> list[int]:
        """Returns tokens without those that the model begins and ends a text with."""
        details = self._model().details
        if details.get("adds_bos") and tokens[:1] == [self.token_bos()]:
            tokens = tokens[1:]
        if details.get("adds_eos") and tokens[-1:] == [self.token_eos()]:
            tokens = tokens[:-1]
        return tokens

    def n_tokens(self, text: str, add_special: bool = False) -> int:
        """Returns the number of tokens of a text."""
        return len(self.tokenize(text, add_special))

    def token_to_piece(self, token: int) -> str:
        """Returns the text of a token, also of a special one."""
        return self._detokenize([token], special=True)

    def token_bos(self) -> int:
        """Returns the token that a text begins with; -1: the model has none."""
        return self._special("bos")

    def token_eos(self) -> int:
        """Returns the token that ends a text; -1: the model has none."""
        return self._special("eos")

    def token_eot(self) -> int:
        """Returns the token that ends a turn; -1: the model has none."""
        return self._special("eot")

    def token_nl(self) -> int:
        """Returns the token of a new line; -1: the model has none."""
        return self._special("nl")

    def n_ctx(self) -> int:
        """Returns the tokens of one sequence, prompt and answer together."""
        return self._context()

    def n_vocab(self) -> int:
        """Returns the number of tokens of the model."""
        return int(self._fact("vocabulary"))

    def n_embd(self) -> int:
        """Returns the number of values of an embedding."""
        return int(self._fact("embedding_length"))

    def n_layer(self) -> int:
        """Returns the number of layers."""
        return int(self._fact("layers"))

    def n_params(self) -> int:
        """Returns the number of parameters."""
        return int(self._fact("parameters"))

    def model_size(self) -> int:
        """Returns the bytes of all tensors."""
        return int(self._fact("size"))

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the model's file, without arrays and chat templates."""
        found: dict[str, str] = self._fact("metadata")
        return found

    def get_chat_template(self, name: str = "") -> str:
        """Returns a chat template of the model's file; "" if it has none of that name."""
        templates: Mapping[str, str] = self._model().details.get("chat_templates", {})
        return templates.get(name or "default", "")

    # Embeddings

    def embed(self, text: str | list[str]) -> list[float] | list[list[float]]:
        """Returns the embedding of a text, `n_embd()` values; of several texts, a list of them.

        Raises:
            ValidationError: `config.embeddings` is False.
            GenerationError: A text is longer than the context.
        """
        vectors = [one["embedding"] for one in self.create_embedding(text)["data"]]
        return vectors[0] if isinstance(text, str) else vectors

    def create_embedding(self, input: str | list[str], model: str | None = None) -> Json:
        """Returns the embeddings of texts in OpenAI's shape, not normalized.

        Args:
            input: One text, or several.
            model: Name in the response; None: the model's file.

        Raises:
            ValidationError: `config.embeddings` is False, or `input` is neither.
            GenerationError: A text is longer than the context.
        """
        opened = self._model()
        if not self.config.embeddings:
            raise ValidationError("invalid embeddings 'False': expected True in LlamaConfig for embed()")
        texts = [input] if isinstance(input, str) else input
        if not isinstance(texts, (list, tuple)) or not all(isinstance(one, str) for one in texts):
            raise ValidationError(invalid("input", input, "a text, or a list of texts"))
        with self._turns, translated():
            body = {"model": opened.embedder(), "input": list(texts), "normalize": False}
            response: Json = load(opened.engine.embed(body))
        return {**response, "model": model or self._name()}

    def _fact(self, name: str) -> Any:
        opened = self._model()
        if name not in opened.details:
            backend = opened.card.get("backend")
            raise LlamaError(
                f"backend '{backend}' does not report the {name.replace('_', ' ')} of its models"
            )
        return opened.details[name]

    def _special(self, name: str) -> int:
        return int(self._model().details.get("special_tokens", {}).get(name, {"id": -1})["id"])


def _first(value: bool | None, alias: bool | None, default: bool) -> bool:
    return default if value is None and alias is None else bool(alias if value is None else value)
