"""`CutOutput`: the beginning and the end of what a call printed."""

from __future__ import annotations

MAX_BYTES = 4 << 20  # of a call; code that prints more is ended


class CutOutput:
    """Collects output. Keeps at most `most` characters: the first half and the last.

    Args:
        most: Maximum characters.
    """

    def __init__(self, most: int) -> None:
        self.size = 0  # bytes
        self._most = most
        self._part = 4 * most  # bytes; a character has at most four
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Adds output."""
        self.size += len(data)
        free = self._part - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        if len(self._tail) > 2 * self._part:
            del self._tail[: -self._part]

    @property
    def text(self) -> str:
        """The output as text; bytes that are not UTF-8 are replaced."""
        if self.size <= len(self._head):
            return self._shortened(self._head.decode("utf-8", "replace"))
        whole = self.size == len(self._head) + len(self._tail)
        if whole:
            return self._shortened((self._head + self._tail).decode("utf-8", "replace"))
        half = self._most // 2
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        return f"{head[:half]}{_note(self.size)}{tail[-half:]}"

    def _shortened(self, text: str) -> str:
        if len(text) <= self._most:
            return text
        half = self._most // 2
        return f"{text[:half]}{_note(self.size)}{text[-half:]}"


def _note(size: int) -> str:
    return f"\n[cut: the output has {size} bytes]\n"
