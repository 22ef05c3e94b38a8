"""The page for people: one file without external resources."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


@cache
def page() -> tuple[bytes, dict[str, str]]:
    """Returns the page and its headers, which allow its own script and style alone."""
    text = Path(__file__).with_name("index.html").read_text(encoding="utf-8")
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


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
