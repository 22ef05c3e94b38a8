"""Pages for people: each one file without external resources, with a style and a script that they share."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


_SHARED = re.compile(r"^/\* (base\.(?:css|js)) \*/$", re.MULTILINE)
_FOLDER = Path(__file__).parent


@cache
def page(file: Path = _FOLDER / "index.html") -> tuple[bytes, dict[str, str]]:
    """Returns a page and its headers, which allow its own script and style alone.

    Lines `/* base.css */` and `/* base.js */` stand for what all pages share.
    """
    text = _SHARED.sub(lambda found: _read(_FOLDER / found[1]), _read(file))
    hashes = {kind: f"'sha256-{_digest(inline)}'" for kind, inline in _INLINE.findall(text)}
    policy = (
        f"default-src 'none'; script-src {hashes['script']}; style-src {hashes['style']}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }
    return text.encode(), headers


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
