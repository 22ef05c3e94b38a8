"""Output of all commands: only this module writes to the standard streams.

Text from a file, a recording, a model hub or a model may contain terminal control characters or characters
that change the text direction. This module replaces them in all output.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import Any

_WIDE = 10_000
# C0 except tab and newline, DEL, C1, bidirectional marks, line and paragraph separators, lone surrogates.
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Returns `text` with U+FFFD for every control character except tab and newline."""
    return _CONTROL.sub("\ufffd", text)


def say(text: str = "", *, end: str = "\n", flush: bool = False) -> None:
    """Prints to stdout."""
    print(printable(text), end=end, flush=flush)


def complain(text: str, *, end: str = "\n") -> None:
    """Prints to stderr. Ignores write errors."""
    with suppress(OSError, ValueError):
        print(printable(text), end=end, file=sys.stderr, flush=True)


def dump(value: Any) -> str:
    """Returns `value` as indented JSON, with control characters escaped."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=plain, indent=2)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def console(*, stderr: bool = False, **options: Any) -> Any:
    """Returns a `rich` console without automatic highlighting. In a pipe or a file, its lines do not wrap."""
    from rich.console import Console
    from rich.segment import Segment

    class Safe(Console):
        def render(self, renderable: Any, options: Any = None) -> Any:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(printable(part.text), part.style)

    made = Safe(stderr=stderr, highlight=False, **options)
    if not made.is_terminal:
        made.width = _WIDE
    return made
