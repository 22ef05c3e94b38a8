"""Prepares the plugin's sources for libclang: other macros, delegate signatures, the same lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MACROS = (
    "UCLASS",
    "USTRUCT",
    "UENUM",
    "UINTERFACE",
    "UDELEGATE",
    "UFUNCTION",
    "UPROPERTY",
    "UPARAM",
    "UMETA",
)
MACRO = re.compile(rf"(?<![\w#])({'|'.join(MACROS)})(?=\s*\()")
DELEGATE = re.compile(
    r"\b(DECLARE_(DYNAMIC_)?(MULTICAST_)?(?:DELEGATE|EVENT)(_RetVal)?(?:_\w+Params?)?)\s*\("
)
HOST = "LINUX"
BODY = re.compile(r"\bGENERATED_BODY\s*\(\s*\)")
HEAD = re.compile(r"\b(class|struct)\s+(?:\w+_API\s+)?(\w+)\s*(?:final\s*)?(?::\s*public\s+(\w+))?[^{};]*\{")
PLATFORM = re.compile(r"\bPLATFORM_(WINDOWS|LINUX|ANDROID|MAC|IOS)\b")
BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
RAW = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)


def blank(text: str) -> str:
    """Replaces comments and the insides of literals by spaces. Offsets and lines stay the same."""

    def spaces(found: re.Match[str]) -> str:
        quote = found[0][0]
        kept = re.sub(r"[^\n]", " ", found[0])
        return kept if quote == "/" else quote + kept[1:-1] + quote

    text = RAW.sub(lambda found: '"' + re.sub(r"[^\n]", " ", found[0])[1:-1] + '"', text)
    return BLANKED.sub(spaces, text)


def closing(text: str, opening: int) -> int:
    """Returns the offset of the bracket that closes the one at `opening`; `text` must be blanked."""
    pairs, depth = {"(": ")", "{": "}"}, 0
    begin, end = text[opening], pairs[text[opening]]
    for offset in range(opening, len(text)):
        depth += {begin: 1, end: -1}.get(text[offset], 0)
        if depth == 0:
            return offset
    raise ValueError(f"bracket '{begin}' at offset {opening} is never closed")


def split(text: str) -> list[str]:
    """Splits a macro's arguments at its commas."""
    return [part.strip() for part in text.split(",")]


@dataclass(frozen=True)
class Delegate:
    """A delegate that a macro declares."""

    name: str
    line: int
    dynamic: bool
    multicast: bool
    parameters: tuple[tuple[str, str], ...]  # type, name


@dataclass(frozen=True)
class Source:
    """A file of the plugin."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Source:
        """Reads a file; Unreal's sources are UTF-8."""
        return cls(path.resolve(), path.read_text(encoding="utf-8-sig"))

    @cached_property
    def blanked(self) -> str:
        """The text without comments and literals."""
        return blank(self.text)

    @property
    def is_header(self) -> bool:
        """Returns true for a header."""
        return self.path.suffix == ".h"

    def speaks_of(self, platform: str) -> bool:
        """Returns true if the file has branches for a platform."""
        return re.search(rf"\bPLATFORM_{platform}\b", self.blanked) is not None

    def line_of(self, offset: int) -> int:
        """Returns the line of an offset, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def includes(self) -> list[tuple[int, str]]:
        """Lines and names of the includes, in order."""
        found = re.finditer(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', self.text, re.M)
        return [(self.line_of(one.start(1)), one[1]) for one in found]

    def delegates(self) -> Iterator[tuple[int, Delegate]]:
        """Yields offset and facts of each delegate that the file declares."""
        for found in DELEGATE.finditer(self.blanked):
            if self.blanked.startswith("#", self.blanked.rfind("\n", 0, found.start()) + 1):
                continue
            inside = self.blanked[found.end() : closing(self.blanked, found.end() - 1)]
            first, *rest = split(inside)
            if found[4]:
                first, *rest = rest
            dynamic = bool(found[2])
            step = 2 if dynamic else 1
            types = rest[0::step]
            names = rest[1::2] if dynamic else [f"P{index}" for index in range(len(types))]
            yield (
                found.start(),
                Delegate(
                    first,
                    self.line_of(found.start()),
                    dynamic,
                    bool(found[3]),
                    tuple(zip(types, names, strict=False)),
                ),
            )

    def bodies(self) -> Iterator[tuple[int, int, str]]:
        """Yields what stands in place of each GENERATED_BODY()."""
        for found in BODY.finditer(self.blanked):
            heads = list(HEAD.finditer(self.blanked, 0, found.start()))
            text = ""
            if heads and heads[-1][1] == "class" and heads[-1][3]:
                text = f"public: using Super = {heads[-1][3]}; using ThisClass = {heads[-1][2]};"
                text += " static UClass* StaticClass(); private:"
            yield found.start(), found.end(), text

    def prepared(self, platform: str = HOST) -> str:
        """The text that libclang reads: the same lines, other macros, the branches of a platform."""
        edits = [(found.start(), found.start(), "HC_") for found in MACRO.finditer(self.blanked)]
        edits += self.bodies()
        for found in PLATFORM.finditer(self.blanked) if platform != HOST else ():
            edits.append((found.start(), found.end(), "1" if found[1] == platform else "0"))
        for offset, delegate in self.delegates():
            if delegate.dynamic:
                listed = ", ".join(f"{kind} {name}" for kind, name in delegate.parameters)
                edits.append(
                    (offset, offset, f"typedef void HeaderCheckSignature_{delegate.name}({listed}); ")
                )
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            line = text.rfind("\n", 0, start) + 1
            if new not in ("0", "1") and text[line:start].lstrip().startswith("#"):
                continue  # a macro's own definition
            text = text[:start] + new + text[end:]
        return text
