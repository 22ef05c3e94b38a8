"""Parts of a search, on random texts: passages, clean texts, citations, pages."""

from __future__ import annotations

import random
import re
import unicodedata

from sotto.agent import Hit
from sotto.agent.search.chunks import passages
from sotto.agent.search.citing import Citations
from sotto.agent.search.hit import clean, one_line
from sotto.agent.search.page_text import page_text

ROUNDS = 400
PIECES = [
    "word ",
    "One. ",
    "\n",
    "\n\n",
    "# Head\n",
    "## ",
    "x" * 40,
    "。",
    '!" ',
    "\t",
    " ",
    "[1] ",
    "[ 2 ]",
]
TAGS = ["<p>", "</p>", "<script>", "</script>", "<!--", "-->", "<", ">", "&lt;", "&#", "<h1>", "<br/>", "</"]
URLS = ["", "a", "b:1", "http://127.0.0.1/" + "p" * 200]


def odd(draw: random.Random) -> str:
    """A character of any plane."""
    return chr(draw.choice([draw.randrange(128), draw.randrange(0x3000), draw.randrange(0x110000)]))


def texts(pieces: list[str], seed: int, most: int = 60) -> list[tuple[random.Random, str]]:
    """Random sequences of pieces and characters, with the state of their randomness."""
    found = []
    for number in range(ROUNDS):
        draw = random.Random(seed * ROUNDS + number)
        parts = [
            draw.choice(pieces) if draw.random() < 0.8 else odd(draw) for _ in range(draw.randrange(most))
        ]
        found.append((draw, "".join(parts)))
    return found


def squeezed(text: str) -> str:
    return "".join(text.split())


def count(text: str) -> int:
    """Tokens: words, and other characters."""
    return len(re.findall(r"\w+|\W", text))


def test_passages_lose_nothing_but_headings() -> None:
    for draw, text in texts(PIECES, 1, 120):
        size = draw.randrange(100, 300)
        found = list(passages(text, size))
        assert all(0 < len(one.text) <= size and "\n" not in one.text for one in found)
        rest = [line for line in text.split("\n") if not re.fullmatch(r"#{1,6} +.*", line.strip())]
        assert squeezed("".join(one.text for one in found)) == squeezed("\n".join(rest))
        lines = [one.line for one in found]
        assert lines == sorted(lines) and all(1 <= one <= text.count("\n") + 1 for one in lines)


def test_clean_texts_stay_clean() -> None:
    for _, text in texts(["a", "\r\n", "\u202e", "\U000e0041", "\u200d"], 2):
        found = clean(text)
        assert clean(found) == found and len(one_line(text).splitlines()) <= 1
        kinds = {unicodedata.category(one) for one in found if one not in "\n\t\u200c\u200d"}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"} and found.encode()[:0] == b""


def test_citations_keep_to_their_allowance() -> None:
    for draw, text in texts(PIECES, 3, 120):
        cuts = sorted(draw.randrange(len(text) + 1) for _ in range(5))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        hits = [Hit(draw.choice(parts), one, draw.choice(URLS)) for one in parts]
        hits = [one for one in hits if one.text.strip()]
        most = draw.randrange(32, 200)
        citations = Citations(count, most)
        citations.add(hits)
        assert count(citations.text) <= most and bool(hits) == bool(citations.sources)
        numbers = re.findall(r"\[ *(\d+) *\]", citations.text)
        assert numbers == [str(one.number) for one in citations.sources]


def test_pages_of_any_form_are_read() -> None:
    for _, page in texts(["a b", *TAGS], 4):
        found = page_text(page)
        assert "\0" not in found and len(found) <= 2 * len(page) + 2
    for _, plain in texts(["a b", "\n", "c."], 5):
        if not set("<&\0") & set(plain) and plain.strip("# "):
            assert squeezed(page_text(plain)) == squeezed(plain)
