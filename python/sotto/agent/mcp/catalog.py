"""`Catalog`: the tools that a server lists, and which of them an agent gets."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ...errors import ArgumentError
from ..shape import Schema
from .schema import line, portable

_LONGEST_DESCRIPTION = 1024  # characters
_OTHER = re.compile(r"[./ ]")  # what MCP allows in a name, and a request does not
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Offer:
    """A tool of a server as an agent gets it.

    Attributes:
        remote: Its name at the server.
        schema: Its entry of `tools` in an OpenAI request.
        mark: Hash of the schema that the server gave.
    """

    remote: str
    schema: Schema
    mark: str

    @property
    def name(self) -> str:
        """Its name for the model."""
        return str(self.schema["function"]["name"])


@dataclass(frozen=True)
class Rules:
    """Which tools of a server an agent gets, and under which names.

    Attributes:
        prefix: Begins each name, with "_"; "": none.
        include: Patterns of the server's names; None: all.
        exclude: Patterns of names that are left out.
        most: Maximum number of tools.
    """

    prefix: str = ""
    include: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    most: int = 64

    def wanted(self, name: str) -> bool:
        """Returns True if the filters let a tool pass."""
        kept = self.include is None or any(fnmatchcase(name, one) for one in self.include)
        return kept and not any(fnmatchcase(name, one) for one in self.exclude)


@dataclass(frozen=True)
class Catalog:
    """What a server offers.

    Attributes:
        offers: The tools.
        problems: Why tools were left out, a sentence each.
        marks: Hash of the schema of each tool that the server lists, by its name there.
    """

    offers: tuple[Offer, ...] = ()
    problems: tuple[str, ...] = ()
    marks: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(listed: Iterable[Any], rules: Rules) -> Catalog:
        """Reads the tools as the package `mcp` has them. Tools that cannot be used are left out."""
        tools = list(listed)
        counts = Counter(one.name for one in tools)
        problems = [f"lists {many} tools '{line(name, 64)}'" for name, many in counts.items() if many > 1]
        offers: dict[str, Offer] = {}
        left_out = 0
        for one in tools:
            if counts[one.name] > 1 or not rules.wanted(one.name):
                continue
            try:
                offer = _offer(one, rules.prefix)
            except ArgumentError as error:
                problems.append(f"tool '{line(one.name, 64)}': {error}")
                continue
            if offer.name in offers:
                other = offers[offer.name].remote
                problems.append(f"tools '{other}' and '{one.name}' would both be called '{offer.name}'")
            elif len(offers) >= rules.most:
                left_out += 1
            else:
                offers[offer.name] = offer
        if left_out:
            problems.append(
                f"{left_out} tools are more than the {rules.most} of max_tools; "
                "choose with include or exclude"
            )
        marks = {one.name: _mark(one.input_schema) for one in tools if counts[one.name] == 1}
        return Catalog(tuple(offers.values()), tuple(problems), marks)


def _offer(tool: Any, prefix: str) -> Offer:
    plain = _OTHER.sub("_", tool.name)
    name = f"{prefix}_{plain}" if prefix else plain
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"expected a name of 1 to 64 letters, digits, '_' or '-', with the prefix '{prefix}'"
        )
    function = {
        "name": name,
        "description": line(tool.description or "", _LONGEST_DESCRIPTION),
        "parameters": portable(tool.input_schema),
    }
    return Offer(tool.name, {"type": "function", "function": function}, _mark(tool.input_schema))


def _mark(schema: Any) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True, default=str).encode()).hexdigest()
