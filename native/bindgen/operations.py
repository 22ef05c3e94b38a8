"""Reads the operations of requests from the headers, and writes their names for the library and Python."""

from __future__ import annotations

from typing import Any


def load(constants: dict[str, Any]) -> dict[str, int]:
    """Returns the value of each SOTTO_OP_ constant by name, such as "chat", in ascending order.

    Raises ValueError if two operations have one value, or if a SOTTO_OPERATION_ bit is not that of its
    operation.
    """
    found = {name.removeprefix("SOTTO_OP_"): value for name, value in constants.items() if is_one(name)}
    values = dict(sorted(found.items(), key=lambda one: one[1]))
    if len(set(values.values())) != len(values) or min(values.values()) < 1:
        raise ValueError(f"SOTTO_OP_ constants: expected different values from 1, got {values}")
    for name, bit in constants.items():
        operation = name.removeprefix("SOTTO_OPERATION_")
        if operation != name and bit != 1 << values[operation]:
            raise ValueError(f"{name}: expected bit {values[operation]}, the value of SOTTO_OP_{operation}")
    return {name.lower(): value for name, value in values.items()}


def is_one(name: str) -> bool:
    """Returns True for the name of a SOTTO_OP_ constant."""
    return name.startswith("SOTTO_OP_")


def header(operations: dict[str, int], note: str) -> str:
    """Returns native/request/operations.hpp."""
    last = max(operations.values())
    by_value = {value: f'"{name}"' for name, value in operations.items()}
    names = "".join(f"    {by_value.get(value, 'nullptr')},\n" for value in range(1, last + 1))
    return (
        f"// {note}\n#pragma once\n\n#include <cstdint>\n\nnamespace sotto {{\n\n"
        f"inline constexpr std::int32_t kLastOperation = {last};\n"
        "// clang-format off: one name a line\ninline constexpr const char* kOperationNames[] = {\n"
        f"    nullptr, // 0 is no operation\n{names}}};\n// clang-format on\n\n}} // namespace sotto\n"
    )


def python(operations: dict[str, int], note: str) -> str:
    """Returns python/sotto/_ops.py."""
    literals = "".join(f'    "{name}",\n' for name in operations)
    values = "".join(f'    "{name}": {value},\n' for name, value in operations.items())
    return (
        f'"""Names of the operations of requests. {note}"""\n\n'
        "from collections.abc import Mapping\nfrom typing import Literal\n\n"
        f"Op = Literal[\n{literals}]\n\nOPS: Mapping[str, int] = {{\n{values}}}\n"
    )
