"""Writes the page on the C API: each header, and each of its declarations with its comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# A comment and the declaration after it: a function, a struct, a typedef with or without an enum, or a macro.
ENTRY = re.compile(
    r"^/\*\*((?:(?!\*/).)*)\*/\n"
    r"(SOTTO_API.*?;\n|typedef struct (\w+) \{.*?\n\} \3;\n|typedef [^;{]*;\n(?:enum \{.*?\n\};\n)?"
    r"|#define [^\n]*\n)",
    re.M | re.S,
)
TAGS = {"return": "Returns", "owner": "Owner", "thread": "Threads"}
INTRO = """# C API

The public headers, in the order in which they build on each other; `sotto/sotto.h` includes those of games.
`include/sotto` in the source, or `sotto config --cflags`, has them. This page is generated from them.
"""


def write(include: Path, names: list[str]) -> str:
    """Returns the page."""
    return INTRO + "".join(header((include / name).read_text(), name) for name in names)


def header(source: str, name: str) -> str:
    """Returns the section of one header."""
    opening = re.match(r"/\*\*\n((?:(?!\*/).)*)\*/", source, re.S)
    assert opening is not None, f"{name} begins without a comment"
    about = re.sub(r"^@file .*\n", "", plain(opening[1]))
    return f"\n## {name}\n\n{markdown(about)}\n" + "".join(entries(source[opening.end() :]))


def entries(source: str) -> Iterator[str]:
    """Yields each declaration with its comment."""
    for match in ENTRY.finditer(source):
        comment, code = plain(match[1]), match[2].rstrip()
        tagged = re.split(r"^@", comment, flags=re.M)
        yield f"\n### {symbol(code)}\n\n{markdown(tagged[0])}\n\n```c++\n{code}\n```\n"
        if tags := list(described(tagged[1:])):
            yield "\n" + "\n".join(tags) + "\n"


def symbol(code: str) -> str:
    """Returns the name that a declaration declares."""
    for pattern in (r"SOTTO_API[^(]*?(\w+)\(", r"\} (\w+);$", r"\(SOTTO_CALL\* ?(\w+)\)", r"#define (\w+)"):
        if found := re.search(pattern, code):
            return found[1]
    found = re.search(r"(\w+);", code)
    assert found is not None, code
    return found[1]


def described(tagged: list[str]) -> Iterator[str]:
    """Yields the tags of a comment as list items."""
    for tag in tagged:
        name, _, text = tag.partition(" ")
        text = re.sub(r"\n +", "\n  ", text.strip())
        if name == "param":
            argument, _, text = text.partition(" ")
            yield f"* `{argument}`: {markdown(text.strip())}"
        elif name in TAGS:
            yield f"* {TAGS[name]}: {markdown(text)}"


def plain(comment: str) -> str:
    """Returns a comment without its stars."""
    return re.sub(r"^ ?\* ?|^ +$", "", comment, flags=re.M).strip()


def markdown(text: str) -> str:
    """Returns prose in which the names of the API are marked as code."""
    lines = []
    for line in text.strip().split("\n"):
        if not line.startswith("    "):
            pieces = re.split(r"(`[^`]*`)", line)
            pieces[::2] = [
                re.sub(r"(?<![\w/.])((?:sotto_|SOTTO_|_)\w+(?:\.\w+)?(?:\(\))?)", r"`\1`", piece)
                for piece in pieces[::2]
            ]
            line = "".join(pieces)
        lines.append(line)
    return "\n".join(lines)
