"""The columns of a table that hold the texts and their translations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import ArgumentError
from .document import DEFAULT_COLUMNS, chosen

_IN_BRACKETS = re.compile(r"\(([^()]+)\)\s*$")  # Unity: "German(de)"
_SHORT = re.compile(r"[A-Za-z]{2}([-_]\w+)*")  # Godot: "de", "pt_BR"
_IDS = ("id",)  # also the code of Indonesian


class Columns(NamedTuple):
    """What is asked of the columns of a table.

    Attributes:
        source: Name of the column of the texts; None: that of `source_language`, or text, line or source.
        into: Name of the column of the translations; None: that of `language`, or that of the texts.
        source_language: Language tag of the texts, if known.
        language: Language tag of the translations.
    """

    source: str | None
    into: str | None
    source_language: str | None
    language: str

    def source_in(self, path: Path, header: Sequence[str]) -> str:
        """Returns the column of the texts. Raises `ArgumentError` that lists the columns if none fits."""
        known = any(name in header for name in DEFAULT_COLUMNS)
        if self.source is None and not known and self.source_language is not None:
            named = next((name for name in header if _is_of(name, self.source_language)), None)
            return chosen(path, header, named)
        return chosen(path, header, self.source)

    def target_in(self, path: Path, header: Sequence[str], source: str) -> str:
        """Returns the column of the translations.

        Raises `ArgumentError` if the table has columns for languages, but none for the target.
        """
        if self.into is not None:
            return chosen(path, header, self.into, option="--into")
        named = next((name for name in header if _is_of(name, self.language)), None)
        if named is not None:
            return chosen(path, header, named)
        others = [name for name in header if _language_of(name) is not None]
        if source in others or len(others) > 1 or any(map(_IN_BRACKETS.search, others)):
            raise ArgumentError(
                f"'{path}' has columns for languages, {', '.join(map(repr, others))}, and none for "
                f"'{self.language}': add a column '{self.language}', or name one with --into"
            )
        return source


def _language_of(name: str) -> str | None:
    """Returns the language that a column is named after: "de", "pt_BR", "German(de)"."""
    import langcodes

    found = _IN_BRACKETS.search(name)
    code = found[1].strip() if found else name.strip()
    if not found and (not _SHORT.fullmatch(code) or code.lower() in _IDS):
        return None
    return langcodes.standardize_tag(code) if langcodes.tag_is_valid(code) else None


def _is_of(name: str, language: str) -> bool:
    """Returns true if a column is named after a language."""
    import langcodes

    wanted: str = langcodes.standardize_tag(language)
    if name.strip().lower() == language.lower():
        return True
    return _language_of(name) == wanted
