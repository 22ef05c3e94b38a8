"""Tokenizers: that of a GGUF, and one of fewer tokens that is cut from it."""

from collections import Counter
from collections.abc import Iterable

import gguf
from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

import prompt

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def listed(reader: GGUFReader, key: str) -> list:
    """What a GGUF's tokenizer lists under a key."""
    return reader.fields[f"tokenizer.ggml.{key}"].contents()


def built(tokens: list[str], merges: list[tuple[str, str]], special: list[str]) -> Tokenizer:
    """Byte-level BPE that splits as GPT-2 does, whose digits stand alone: llama.cpp's `smollm`."""
    tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, split])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    return tokenizer


def merges_of(reader: GGUFReader) -> list[tuple[str, str]]:
    """The merges, those that come first first."""
    return [tuple(pair.split(" ", 1)) for pair in listed(reader, "merges")]


def tokenizer_of(reader: GGUFReader) -> Tokenizer:
    """The tokenizer that a GGUF of SmolLM2, or one cut from it, holds."""
    tokens, kinds = listed(reader, "tokens"), listed(reader, "token_type")
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind != gguf.TokenType.NORMAL]
    return built(tokens, merges_of(reader), special)


def reduced(reader: GGUFReader, texts: Iterable[str], size: int) -> Tokenizer:
    """A tokenizer of `size` tokens: bytes, what `texts` need most, then what English needs most.

    A token is kept with all that it is merged from. The merges of a BPE are in order of their frequency, so
    the first ones of the whole tokenizer are the most frequent of its language.
    """
    whole, merges = tokenizer_of(reader), merges_of(reader)
    parents: dict[str, tuple[str, str]] = {}
    for left, right in merges:
        parents.setdefault(left + right, (left, right))
    counts = Counter(token for text in texts for token in whole.encode(text).tokens)
    rank = {left + right: at for at, (left, right) in reversed(list(enumerate(merges)))}
    wanted = [token for token, count in counts.most_common() if token in rank and count >= 8]
    wanted += sorted((token for token in rank if token.isascii() or token[0] == "Ġ"), key=rank.__getitem__)

    special = ["<|endoftext|>", prompt.START, prompt.END, prompt.CALL, prompt.CALL_END]
    kept, limit = set(BYTES), size - len(special)
    for token in wanted:
        chain, todo = set(), [token]
        while todo:
            part = todo.pop()
            if part not in kept and part not in chain:
                chain.add(part)
                todo += parents.get(part, ())
        if len(kept) + len(chain) <= limit:
            kept |= chain
    tokens = [*special, *BYTES, *sorted(kept - set(BYTES), key=rank.__getitem__)]
    left = [pair for pair in merges if {*pair, "".join(pair)} <= kept]
    return built(tokens, left, special)
