"""Takes the text out of an HTML page, in one pass: a page that is malformed or hostile costs no more time."""

from __future__ import annotations

import html
import re

_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]{0,15})")
_UNREAD = frozenset(
    ("script", "style", "template", "noscript", "svg", "textarea", "select", "iframe", "object")
)
_BLOCKS = re.compile(
    "address|article|aside|blockquote|br|d[dlt]|div|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|"
    "section|table|t[dhr]|title|ul"
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def page_text(page: str) -> str:
    """Returns the text of a page: paragraphs between empty lines, headings as those of Markdown."""
    lowered = page.lower()
    if len(lowered) != len(page):  # a few letters have lower cases of two characters
        lowered = page
    pieces: list[str] = []
    at = 0
    while at < len(page):
        begin = page.find("<", at)
        if begin < 0:
            pieces.append(page[at:])
            break
        pieces.append(page[at:begin])
        at = _after_tag(page, lowered, begin, pieces)
    text = _unescaped("".join(pieces))
    paragraphs = (" ".join(one.split()) for one in text.split("\0"))
    return "\n\n".join(one for one in paragraphs if one.strip("# "))


def _after_tag(page: str, lowered: str, begin: int, pieces: list[str]) -> int:
    """Returns where the text goes on after the tag or comment at `begin`."""
    if page.startswith("<!--", begin):
        end = page.find("-->", begin + 4)
        return len(page) if end < 0 else end + 3
    found = _NAME.match(page, begin + 1)
    if found is None and page[begin + 1 : begin + 2] not in ("!", "?"):
        pieces.append("<")
        return begin + 1
    end = page.find(">", begin)
    if end < 0:
        return len(page)
    name = found[1].lower() if found else ""
    closes = page[begin + 1] == "/"
    if _BLOCKS.fullmatch(name):
        pieces.append("\0" + ("" if closes else _HEADINGS.get(name, "")))
    if name in _UNREAD and not closes and page[end - 1] != "/":
        close = lowered.find(f"</{name}", end)
        end = -1 if close < 0 else page.find(">", close)
        return len(page) if end < 0 else end + 1
    return end + 1


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a number with thousands of digits
        return text
