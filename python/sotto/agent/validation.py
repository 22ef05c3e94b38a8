"""Checks the arguments of tools that come with a JSON schema, with the package `jsonschema`."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from .shape import Read, Schema


def reader(tool: str, schema: Schema) -> Read:
    """Returns a function that checks arguments with a schema and returns them.

    References to other documents are never fetched.

    Raises:
        ArgumentError: The schema is not a JSON schema.
        ImportError: The extra `agent` is not installed.
    """
    try:
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.exceptions import best_match
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ImportError:
        raise ImportError(
            "a tool with a JSON schema needs the package jsonschema: pip install sotto-runtime[agent]"
        ) from None
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ArgumentError(
            f"invalid parameters of tool '{tool}': expected a JSON schema; {error.json_path}: {error.message}"
        ) from None
    validator = Draft202012Validator(schema, registry=Registry())

    def read(value: Any, path: str) -> Any:
        try:
            error = best_match(validator.iter_errors(value))
        except Unresolvable as cause:
            raise ArgumentError(f"invalid parameters of tool '{tool}': {cause}") from None
        if error is not None:
            raise ArgumentError(f"invalid {path}{error.json_path[1:]}: {error.message[:400]}")
        return value

    return read
