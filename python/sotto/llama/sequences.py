"""Token sequences: what the KV cache of each sequence stands for, and operations on it.

A sequence is the list of its tokens. A request passes them all, and the engine reuses the KV cache of the
longest prefix that it still holds. So a sequence that is cut, copied or restored always continues as a fresh
run of its tokens does, and only tokens that the KV cache lacks are prefilled.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .._json import dump, load
from .._values import invalid
from .errors import ContextError, LlamaError, ValidationError

_MAGIC = b"SOTTOSEQ"
_VERSION = 1
_HEAD = struct.Struct("<8sIIQ")  # magic, version, checksum of the description, size of the description


class Tokens:
    """One sequence: tokens, each with its position. Positions rise, and may have gaps."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.positions: list[int] = []

    @property
    def end(self) -> int:
        """The last position; -1: the sequence is empty."""
        return self.positions[-1] if self.positions else -1

    def append(self, ids: Sequence[int]) -> None:
        """Appends tokens after the last position."""
        first = self.end + 1
        self.ids.extend(ids)
        self.positions.extend(range(first, first + len(ids)))

    def set(self, ids: Sequence[int], positions: Sequence[int]) -> None:
        """Replaces the sequence."""
        self.ids, self.positions = list(ids), list(positions)


class Sequences:
    """The sequences of one `Llama`, by number.

    `defer()` sets a function that computes the tokens of sequence 0 after a chat, whose prompt the engine
    rendered. It runs when the tokens are first needed.
    """

    def __init__(self, count: int) -> None:
        self._all = [Tokens() for _ in range(count)]
        self._pending: Callable[[], list[int]] | None = None

    def __getitem__(self, number: int) -> Tokens:
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not 0 <= number < len(self._all):
            most = len(self._all) - 1
            raise ValidationError(invalid("seq_id", number, f"0 to {most}; raise n_seq_max for more"))
        if number == 0:
            self._settle()
        return self._all[number]

    def clear(self) -> None:
        """Empties all sequences."""
        self._pending = None
        for one in self._all:
            one.set([], [])

    def restart(self) -> None:
        """Empties sequence 0."""
        self._pending = None
        self._all[0].set([], [])

    def defer(self, tokens: Callable[[], list[int]]) -> None:
        """Sets the tokens of sequence 0, which are computed when they are needed."""
        self._all[0].set([], [])
        self._pending = tokens

    def _settle(self) -> None:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            self._all[0].append(pending())
        except BaseException:
            self._pending = pending
            raise

    # Operations, with llama.cpp's arguments: positions from `first` to before `last`; -1: beginning, or end.

    def remove(self, number: int, first: int, last: int) -> bool:
        """Removes the tokens of a range. Returns True if there were any."""
        one = self[number]
        kept = [i for i, at in enumerate(one.positions) if not _within(at, first, last)]
        removed = len(kept) < len(one.ids)
        one.set([one.ids[i] for i in kept], [one.positions[i] for i in kept])
        return removed

    def copy(self, source: int, target: int, first: int, last: int) -> None:
        """Replaces the sequence `target` by the range of `source`."""
        from_, to = self[source], self[target]
        if from_ is to:
            return
        kept = [i for i, at in enumerate(from_.positions) if _within(at, first, last)]
        to.set([from_.ids[i] for i in kept], [from_.positions[i] for i in kept])

    def keep(self, number: int) -> None:
        """Empties all other sequences."""
        kept = self[number]
        for one in self._all:
            if one is not kept:
                one.set([], [])

    def shift(self, number: int, first: int, last: int, delta: int) -> None:
        """Adds `delta` to the positions of a range. Drops tokens whose position is then below 0.

        Raises:
            ValidationError: Two tokens would have the same position, or change places.
        """
        one = self[number]
        moved = [
            (at + delta if _within(at, first, last) else at, token)
            for at, token in zip(one.positions, one.ids, strict=True)
        ]
        kept = [(at, token) for at, token in moved if at >= 0]
        if any(left[0] >= right[0] for left, right in pairwise(kept)):
            raise ValidationError(
                invalid("delta", delta, "a shift after which all positions still rise; remove tokens first")
            )
        one.set([token for _, token in kept], [at for at, _ in kept])

    # States

    def pack(self, save: Callable[[list[int]], bytes]) -> bytes:
        """Returns the sequences as bytes. `save` returns the KV cache of tokens."""
        self._settle()
        last = max((n for n, one in enumerate(self._all) if one.ids), default=-1)
        kept = self._all[: last + 1]
        blobs = [save(one.ids) if one.ids else b"" for one in kept]
        described = [
            {"tokens": one.ids, "positions": one.positions, "bytes": len(blob)}
            for one, blob in zip(kept, blobs, strict=True)
        ]
        text = dump("state", {"sequences": described}).encode()
        return _HEAD.pack(_MAGIC, _VERSION, zlib.crc32(text), len(text)) + text + b"".join(blobs)

    def unpack(self, data: bytes, restore: Callable[[bytes], None]) -> int:
        """Restores sequences from bytes, all or none. `restore` loads a KV cache, or raises an error.

        Returns:
            The number of tokens.

        Raises:
            LlamaError: The bytes are damaged, or have more sequences than this model.
        """
        described, blobs = _read(data)
        if len(described) > len(self._all):
            raise LlamaError(
                f"the state has {len(described)} sequences, but this model {len(self._all)}; raise n_seq_max"
            )
        for blob in blobs:
            if blob:
                restore(blob)
        self.clear()
        for one, told in zip(self._all, described, strict=False):
            one.set(told["tokens"], told["positions"])
        return sum(len(told["tokens"]) for told in described)


def prompt_of(sequence: Tokens, added: Sequence[int], context: int) -> list[int]:
    """Returns the prompt that continues a sequence with the tokens `added`.

    Raises:
        ContextError: The prompt does not fit into the context.
    """
    prompt = [*sequence.ids, *added]
    if context and len(prompt) >= context:
        raise ContextError(
            f"the sequence would have {len(prompt)} tokens and no room for an answer, but the context holds "
            f"{context}; cut the sequence, pass reset_kv_cache=True, or raise n_ctx"
        )
    return prompt


def _within(at: int, first: int, last: int) -> bool:
    return at >= first and (last < 0 or at < last)


def _read(data: bytes) -> tuple[list[dict[str, Any]], list[bytes]]:
    if len(data) < _HEAD.size:
        raise LlamaError(f"the state is truncated: it has {len(data)} bytes; save it again")
    magic, version, checksum, size = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise LlamaError("the data are not a state of sotto.llama of this version; save the state again")
    text = data[_HEAD.size : _HEAD.size + size]
    if len(text) != size or zlib.crc32(text) != checksum:
        raise LlamaError("the state is damaged or truncated: its checksum does not match; save it again")
    described = _described(load(text.decode(errors="replace")))
    blobs, at = [], _HEAD.size + size
    for one in described:
        blobs.append(data[at : at + one["bytes"]])
        at += one["bytes"]
    if at != len(data):
        raise LlamaError(f"the state has {len(data)} of its {at} bytes; save it again")
    return described, blobs


def _described(told: Any) -> list[dict[str, Any]]:
    """Returns the descriptions of sequences. Raises `LlamaError` if they are not what `pack()` writes."""
    found = told.get("sequences") if isinstance(told, dict) else None
    if not isinstance(found, list) or not all(map(_is_sequence, found)):
        raise LlamaError("the state is damaged: its description is not one of sequences; save it again")
    return found


def _is_sequence(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    tokens, positions, size = (one.get(name) for name in ("tokens", "positions", "bytes"))
    if not isinstance(tokens, list) or not isinstance(positions, list) or len(tokens) != len(positions):
        return False
    if not all(type(number) is int and number >= 0 for number in (*tokens, *positions, size)):
        return False
    return all(left < right for left, right in pairwise(positions))
