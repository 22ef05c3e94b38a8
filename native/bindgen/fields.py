"""Generates a C++ table, the reference's tables and a JSON Schema from native/request/fields.toml."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

TYPES = {"number", "integer", "boolean", "text", "choice", "other"}
INT32_MAX, UINT32_MAX = 2**31 - 1, 2**32 - 1
BEGIN, END = "<!-- fields: {} (generated from native/request/fields.toml) -->\n", "<!-- end of fields -->\n"
# JSON Schema of a message. core/codec/read_messages.cpp rejects further messages, which this schema accepts.
DEFINITIONS = {
    "message": {
        "type": "object",
        "required": ["role"],
        "properties": {
            "role": {"enum": ["system", "developer", "user", "assistant", "tool"]},
            "content": {"type": ["string", "array", "null"]},
            "name": {"type": ["string", "null"]},
            "reasoning_content": {"type": ["string", "null"]},
            "tool_call_id": {"type": ["string", "null"]},
            "tool_calls": {"type": ["array", "null"], "minItems": 1},
        },
    }
}


@dataclass(frozen=True, slots=True)
class Field:
    """One request field: a row of native/request/fields.toml."""

    name: str
    group: str
    type: str
    operations: tuple[str, ...]
    default: Any
    doc: str
    min: float | None = None
    max: float | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    items: int | None = None
    bytes: int | None = None
    choices: tuple[str, ...] = ()
    range: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The fields, the headings of their groups, and the values of the operations by name."""

    fields: tuple[Field, ...]
    groups: dict[str, str]
    operations: dict[str, int]


def load(path: Path, constants: dict[str, Any]) -> Table:
    """Reads and checks the table, with the headers' `constants`. Raises ValueError that names the field."""
    prefix = "SOTTO_OP_"
    values = {
        name.removeprefix(prefix).lower(): value
        for name, value in constants.items()
        if name.startswith(prefix)
    }
    source = tomllib.loads(path.read_text())
    sets: dict[str, list[str]] = source["sets"]
    fields = []
    for row in source["fields"]:
        named = [op for name in row.pop("operations") for op in sets.get(name, [name])]
        field = Field(**row, operations=tuple(named)) if "choices" not in row else choice(row, named)
        if set(named) - set(values) or field.type not in TYPES or field.group not in source["groups"]:
            raise ValueError(f"field {field.name}: unknown operation, type or group")
        if (field.type in ("number", "integer")) != (field.min is not None):
            raise ValueError(f"field {field.name}: expected min and max for numbers, and for nothing else")
        if (field.type == "other") != bool(field.range and field.schema):
            raise ValueError(f"field {field.name}: expected range and schema for type other alone")
        fields.append(field)
    if len({field.name for field in fields}) != len(fields):
        raise ValueError("a field occurs twice")
    return Table(tuple(fields), source["groups"], values)


def choice(row: dict[str, Any], named: list[str]) -> Field:
    """Returns a field of the type choice from its row. `named`: the field's operations."""
    return Field(**{**row, "choices": tuple(row["choices"])}, operations=tuple(named))


def header(table: Table, note: str) -> str:
    """Returns native/request/fields.hpp."""
    out = [
        f"// {note}",
        "// clang-format off",
        "#pragma once",
        "",
        '#include "request/field.hpp"',
        "",
        "namespace sotto::field {",
        "",
    ]
    fields = sorted(table.fields, key=lambda field: field.name)
    for field in fields:
        if field.choices:
            words = ", ".join(f'"{one}"' for one in field.choices)
            out.append(f"inline constexpr const char* k_{field.name}[] = {{{words}, nullptr}};")
        out.append(
            f"inline constexpr RequestField {field.name}{{{', '.join(members(field, table.operations))}}};"
        )
    names = "".join(f"    &{field.name},\n" for field in fields)
    out += [
        "",
        f"inline constexpr const RequestField* kAll[] = {{\n{names}}};",
        "",
        "} // namespace sotto::field",
    ]
    return "\n".join(out) + "\n"


def members(field: Field, values: dict[str, int]) -> list[str]:
    """Returns the designated initialisers of a RequestField, in its order."""
    operations = sum(1 << values[op] for op in field.operations)
    found = [
        f'.name = "{field.name}"',
        f".type = FieldType::{field.type.capitalize()}",
        f".operations = {operations:#x}",
    ]
    numeric = isinstance(field.default, (int, float))  # also bool: true is written as 1
    most = field.bytes if field.bytes is not None else field.max_bytes
    for name, value in (
        ("min", field.min),
        ("max", field.max),
        ("fallback", +field.default if numeric else None),
        ("items", field.items),
        ("min_bytes", field.min_bytes),
        ("max_bytes", most),
        ("choices", f"k_{field.name}" if field.choices else None),
    ):
        found += [f".{name} = {value}"] if value is not None else []
    return found


def page(text: str, table: Table) -> str:
    """Returns the reference page with each of its tables written anew."""
    for group in table.groups:
        begin = BEGIN.format(group)
        if begin not in text:
            raise ValueError(f"docs/pages/reference/requests.md lacks {begin!r}")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table_of(table, group)}\n{END}{rest.partition(END)[2]}"
    return text


def table_of(table: Table, group: str) -> str:
    """Returns the Markdown table of a group, with a column of operations if the operations differ."""
    fields = [field for field in table.fields if field.group == group]
    differ = len({field.operations for field in fields}) > 1
    rows = [
        ["field", "operations", "type and range", "default", "meaning"],
        ["---"] * 5,
        *(cells(field, table) for field in fields),
    ]
    return "".join("| " + " | ".join(row[:1] + row[1 if differ else 2 :]) + " |\n" for row in rows)


def cells(field: Field, table: Table) -> list[str]:
    """Returns a field's line of the reference."""
    default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
    return [f"`{field.name}`", operations(field, table), range_of(field), default, field.doc]


def operations(field: Field, table: Table) -> str:
    """Returns the operations that read a field, in words."""
    every = set(field.operations)
    without = [op for op in table.operations if op not in every]
    if len(without) < len(table.operations) / 2:
        return "all but " + ", ".join(without)
    if {"chat", "completion", "infill"} <= every:  # save_state takes the bodies of these operations
        named = "completions" if "respond" in every else "completions but respond"
        others = every - {"chat", "completion", "infill", "save_state", "respond"}
        return ", ".join([named, *sorted(others)])
    return ", ".join(field.operations)


def range_of(field: Field) -> str:
    """Returns the type and the range of a field in words."""
    if field.type in ("number", "integer"):
        least, most = plain(field.min), plain(field.max)
        return f"{field.type} from {least}" + (f" to {most}" if field.max != INT32_MAX else "")
    if field.type == "choice":
        return ", ".join(f"`{one}`" for one in field.choices)
    if field.type == "text" and field.max_bytes:
        return (
            f"text of {f'{field.min_bytes} to' if field.min_bytes else 'at most'} {field.max_bytes:,} bytes"
        )
    if field.type == "text":
        return "text that is not empty" if field.min_bytes else "text"
    return field.range or field.type


def plain(value: float | None) -> str:
    return f"{value:g}" if value is not None and value != UINT32_MAX else str(UINT32_MAX)


def schema(table: Table) -> str:
    """Returns a JSON Schema of request bodies, one definition an operation."""
    definitions: dict[str, Any] = dict(DEFINITIONS)
    for field in table.fields:
        definitions[f"field.{field.name}"] = {"description": field.doc, **nullable(field)}
    for op in table.operations:
        names = [field.name for field in table.fields if op in field.operations]
        properties = {name: {"$ref": f"#/$defs/field.{name}"} for name in names}
        definitions[op] = {"type": "object", "properties": properties}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in definitions.items())
    return (
        '{\n "$schema": "https://json-schema.org/draft/2020-12/schema",\n'
        ' "title": "Request bodies of Sotto: $defs has one schema an operation",\n'
        f' "$defs": {{\n{lines}\n }}\n}}\n'
    )


def nullable(field: Field) -> dict[str, Any]:
    """Returns the schema of a field's value, or null, which counts as absent."""
    if field.type == "other":
        return {"anyOf": [json.loads(field.schema), {"type": "null"}]}
    if field.type == "choice":
        return {"enum": [*field.choices, None]}
    found: dict[str, Any] = {"type": ["string" if field.type == "text" else field.type, "null"]}
    for name, value in (
        ("minimum", field.min),
        ("maximum", field.max),
        ("minLength", field.min_bytes),
        ("maxLength", field.max_bytes),
    ):
        found |= {name: value} if value is not None else {}
    return found
