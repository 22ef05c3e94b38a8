"""Writes the client for asyncio from the blocking one. `test_client_twin.py` compares; --write writes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "python" / "sotto" / "client"
FILES = ("api.py", "client.py", "native.py", "server.py")
NOTE = "Written from `_sync/{file}` by tests/python/client_twin.py; do not edit."
CLASSES = (
    "LlamaCppClient ChatCompletionsAPI EmbeddingsClientAPI ModelsClientAPI SlotsClientAPI LoraClientAPI "
    "NativeCalls ServerCalls Stream Transport"
)
WAITS = r"self\.(_transport\.(?:send|stream|sleep|close)|_health|_is_ready|_chat\.create|complete|close)\("
RULES = (
    (rf"\b({CLASSES.replace(' ', '|')})\b(?!`\.)", r"Async\1"),
    (r"(?<!@property\n)    def (?!__init__|__repr__)(\w+)\(", r"    async def \1("),
    (r"__(enter|exit)__", r"__a\1__"),
    (WAITS, r"await self.\1("),
    (r"\bif (await self\.[^\n]+\)):", r"if \1:"),
    (r">>> with ", ">>> async with "),
    (r"print\(client\.", "print((await client."),
    (r"n_predict=32\)\.", "n_predict=32))."),
    (r"a `with` statement", "an `async with` statement"),
    (r"\bThreads may share it", "Tasks of one event loop may share it"),
    (
        r", or with\n    the object\.",
        ";\n    an object that is dropped leaves that to the garbage collector.",
    ),
    (r"an iterator", "an asynchronous iterator"),
)


def translated(file: str) -> str:
    """Returns a file of the client for asyncio."""
    text = (CLIENT / "_sync" / file).read_text(encoding="utf-8")
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"\(await self\._transport\.send\(", "(await self._transport.send(", text)
    text = re.sub(r"return (await self\._transport\.send\([^\n]*\))\.text\(\)", r"return (\1).text()", text)
    first, rest = text.split("\n", 1)
    return f"{first}\n\n# {NOTE.format(file=file)}\n{rest}"


def differs(file: str) -> bool:
    """Returns True if the file in the tree is another program than the translated one."""
    path = CLIENT / "_async" / file
    return not path.exists() or ast.dump(ast.parse(path.read_text())) != ast.dump(ast.parse(translated(file)))


def main() -> int:
    """Writes the files with --write; else returns 1 if one differs."""
    if "--write" in sys.argv:
        paths = [CLIENT / "_async" / file for file in FILES]
        for path in paths:
            path.write_text(translated(path.name), encoding="utf-8")
        subprocess.run([Path(sys.executable).parent / "ruff", "format", "-q", *paths], check=True)
        subprocess.run([Path(sys.executable).parent / "ruff", "check", "-q", "--fix", *paths], check=False)
    wrong = [file for file in FILES if differs(file)]
    if wrong:
        print(f"client_twin: {', '.join(wrong)} differ; run it with --write")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
