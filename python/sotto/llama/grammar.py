"""`LlamaGrammar`: what an answer must match."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._json import load
from .._values import invalid
from .errors import ValidationError

_RULE = re.compile(r"^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*::=", re.M)
_LARK_RULE = re.compile(r"^[ \t]*[?!]{0,2}(_?[a-z][a-z0-9_]*)(?:\.-?\d+)?[ \t]*:", re.M)
_TYPES = {"regex": "regular expression", "lark": "Lark text"}


class LlamaGrammar:
    """A grammar for answers: GBNF, Lark, a regular expression, or a JSON schema. Serves any number of models.

    The model compiles the grammar when a request uses it, and then reports mistakes in it.

    >>> grammar = LlamaGrammar.from_string('root ::= "yes" | "no"')
    >>> llm.create_chat_completion(messages, grammar=grammar)
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = dict(fields)

    @classmethod
    def from_string(cls, gbnf: str, root: str = "root", *, verbose: bool = False) -> LlamaGrammar:
        """Returns the grammar of a GBNF text.

        Args:
            gbnf: The rules.
            root: Name of the rule that the whole answer matches.
            verbose: Accepted, as by llama-cpp-python; has no effect.

        Raises:
            ValidationError: The text has no rule of that name.
        """
        if not isinstance(gbnf, str) or not gbnf.strip():
            raise ValidationError(invalid("gbnf", gbnf, "the rules of a GBNF grammar"))
        rules = set(_RULE.findall(gbnf))
        if root not in rules:
            known = ", ".join(sorted(rules)) or "none"
            raise ValidationError(invalid("gbnf", gbnf, f"a rule '{root}'; its rules are: {known}"))
        if root == "root":
            return cls({"grammar": gbnf})
        if "root" in rules:
            raise ValidationError(invalid("root", root, "'root', which the grammar has; rename that rule"))
        return cls({"grammar": f"{gbnf}\nroot ::= {root}\n"})

    @classmethod
    def from_json_schema(cls, schema: Mapping[str, Any] | str, *, verbose: bool = False) -> LlamaGrammar:
        """Returns the grammar of the JSON values that match a schema.

        Args:
            schema: The schema, also as JSON text.
            verbose: Accepted, as by llama-cpp-python; has no effect.

        Raises:
            ValidationError: `schema` is not a JSON object.
        """
        found = load(schema) if isinstance(schema, str) else schema
        if not isinstance(found, Mapping):
            raise ValidationError(invalid("schema", schema, "a JSON schema, an object"))
        return cls({"json_schema": dict(found)})

    @classmethod
    def from_regex(cls, regex: str) -> LlamaGrammar:
        """Returns the grammar of the texts that a regular expression (ECMAScript) matches as a whole.

        Raises:
            ValidationError: `regex` is not text, or is empty.
        """
        if not isinstance(regex, str) or not regex:
            raise ValidationError(invalid("regex", regex, "a regular expression"))
        return cls({"grammar": regex, "grammar_type": "regex"})

    @classmethod
    def from_lark(cls, lark: str, start: str = "start") -> LlamaGrammar:
        """Returns the grammar of a text in a subset of the syntax of Lark, a parser library.

        Args:
            lark: The rules and terminals.
            start: Name of the rule that the whole answer matches.

        Raises:
            ValidationError: The text has no rule of that name.
        """
        if not isinstance(lark, str) or not lark.strip():
            raise ValidationError(invalid("lark", lark, "the rules of a grammar in Lark's syntax"))
        rules = set(_LARK_RULE.findall(lark))
        if start not in rules:
            known = ", ".join(sorted(rules)) or "none"
            raise ValidationError(invalid("lark", lark, f"a rule '{start}'; its rules are: {known}"))
        if start != "start":
            if "start" in rules:
                raise ValidationError(
                    invalid("start", start, "'start', which the grammar has; rename that rule")
                )
            lark = f"{lark}\nstart: {start}\n"
        return cls({"grammar": lark, "grammar_type": "lark"})

    def body(self) -> dict[str, Any]:
        """Returns the fields of a request: `grammar` and its type, or `json_schema`."""
        return dict(self._fields)

    def __repr__(self) -> str:
        kinds = {"grammar": "GBNF text", "json_schema": "JSON schema"}
        (field, text), *rest = self._fields.items()
        kind = _TYPES[rest[0][1]] if rest else kinds[field]
        return f"<LlamaGrammar of a {kind}: {text!r:.60}>"


def grammar_of(value: object) -> dict[str, Any]:
    """Returns the field of a request for an argument `grammar`: a `LlamaGrammar`, GBNF text or None."""
    if value is None:
        return {}
    if isinstance(value, str):
        value = LlamaGrammar.from_string(value)
    if not isinstance(value, LlamaGrammar):
        raise ValidationError(invalid("grammar", value, "a LlamaGrammar"))
    return value.body()
