"""Files and folders that flags name."""

from __future__ import annotations

from pathlib import Path

from ...errors import ArgumentError

_MAX_BYTES = 1 << 20


def read_text(flag: str, path: str) -> str:
    """Returns the text of a file. Raises `ArgumentError`."""
    file = Path(path)
    if not file.is_file():
        raise ArgumentError(f"invalid {flag} '{path}': expected a file")
    if file.stat().st_size > _MAX_BYTES:
        raise ArgumentError(f"invalid {flag} '{path}': expected at most {_MAX_BYTES:,} bytes")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ArgumentError(f"invalid {flag} '{path}': expected UTF-8") from None


def folder(flag: str, path: str | None) -> Path | None:
    """Returns a folder; None for no path. Raises `ArgumentError`."""
    if path and not Path(path).is_dir():
        raise ArgumentError(f"invalid {flag} '{path}': expected a folder that exists")
    return Path(path) if path else None
