"""Public headers and the Python package have no house words in their comments: see CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AVOIDED = re.compile(
    r"\b(is told|are told|tells|worked through|works through|so many|so much|nobody|whoever|whom|is no [a-z]"
    r"|there is none|let in|gives? way|give up (?:its|their) place|for ever|in its stead|kMost\w*)\b",
    re.IGNORECASE,
)
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Remark = tuple[int, str]  # line, text


def of_header(path: Path) -> Iterator[Remark]:
    """Yields the comments of a header."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"/\*.*?\*/", text, re.S):
        words = re.sub(r"\n\s*\*", " ", found[0])
        yield text.count("\n", 0, found.start()) + 1, " ".join(words.split())


def of_python(path: Path) -> Iterator[Remark]:
    """Yields the docstrings and comments of a Python file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, WITH_DOCSTRING) and (text := ast.get_docstring(node)) is not None:
            yield getattr(node, "lineno", 1), " ".join(text.split())
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def main() -> int:
    """Prints each place. Returns 1 if there are any."""
    headers = sorted((ROOT / "include").rglob("*.h"))
    sources = sorted(path for path in (ROOT / "python").rglob("*.py") if path.name != "_cdef.py")
    remarks = [(path, *one) for path in headers for one in of_header(path)]
    remarks += [(path, *one) for path in sources for one in of_python(path)]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word[0]!r}"
        for path, line, text in remarks
        for word in AVOIDED.finditer(text)
    ]
    print("\n".join([*found, f"language: {len(remarks)} comments, {len(found)} house words"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
