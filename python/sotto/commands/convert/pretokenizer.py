"""Recognizes how a byte-level tokenizer splits text, by its own rules, as llama.cpp names them."""

from __future__ import annotations

from typing import Any

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
_REST = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
_THREE_DIGITS = f"{_CONTRACTIONS}\\p{{N}}{{1,3}}{_REST}"
_ONE_DIGIT = f"{_CONTRACTIONS}\\p{{N}}{_REST}"
_BYTES = ("ByteLevel", True)  # with GPT-2's expression
_BYTES_ONLY = ("ByteLevel", False)
# By the parts, and whether a word that is a token is taken without merges.
_NAMES: dict[object, str] = {
    ((_BYTES,), False): "gpt-2",
    ((("Digits", True), _BYTES), False): "smollm",
    ((("Split", _THREE_DIGITS), _BYTES_ONLY), True): "llama-bpe",
    ((("Split", _THREE_DIGITS), _BYTES_ONLY), False): "dbrx",
    ((("Split", _ONE_DIGIT), _BYTES_ONLY), False): "qwen2",
}


def pretokenizer_of(tokenizer: dict[str, Any]) -> str:
    """Returns llama.cpp's name for the rules of a tokenizer.json. Raises `ValueError` for unknown rules."""
    rules = tokenizer.get("pre_tokenizer") or {}
    parts = rules.get("pretokenizers", []) if rules.get("type") == "Sequence" else [rules]
    form = tuple(map(_form, parts)), bool(tokenizer.get("model", {}).get("ignore_merges"))
    name = _NAMES.get(form)
    if name is None:
        kinds = ", ".join(str(part.get("type")) for part in parts)
        raise ValueError(f"the pre_tokenizer of tokenizer.json ({kinds}) is none that llama.cpp knows")
    return name


def _form(part: dict[str, Any]) -> tuple[object, ...]:
    """Returns what decides how a part splits; a form of its own for options that no known rules have."""
    kind = part.get("type")
    if kind == "ByteLevel" and not part.get("add_prefix_space"):
        return kind, bool(part.get("use_regex", True))
    if kind == "Digits":
        return kind, part.get("individual_digits")
    if kind == "Split" and part.get("behavior") == "Isolated" and not part.get("invert"):
        return kind, part.get("pattern", {}).get("Regex")
    return kind, "other options"
