"""Dialogue in gettext's PO files: `msgstr` is filled; translations that there are already are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polib

from ...errors import ArgumentError
from .document import Line, read_text

_FORMS_HANDLED = 2  # of plurals: what `msgid` and `msgid_plural` are


class Catalog:
    """A PO or POT file."""

    def __init__(self, path: Path, language: str) -> None:
        self._source = read_text(path)
        self._path = path
        self._catalog = self._read()
        if not self._catalog:
            raise ArgumentError(f"invalid file '{path}': expected a PO file with entries")
        self._slots = [
            slot for entry in self._catalog if not entry.obsolete for slot in self._slots_of(entry)
        ]
        forms = _plural_forms(self._catalog, language)
        self.lines = [self._line(entry, form, forms) for entry, form in self._slots]

    def _read(self) -> Any:
        try:
            return polib.pofile(self._source.text.replace("\r\n", "\n"))
        except OSError as error:
            raise ArgumentError(f"invalid file '{self._path}': expected a PO file; {error}") from None

    def _slots_of(self, entry: Any) -> list[tuple[Any, int | None]]:
        if not entry.msgid_plural:
            return [(entry, None)]
        return [(entry, form) for form in sorted(entry.msgstr_plural or {0: "", 1: ""})]

    def _line(self, entry: Any, form: int | None, forms: int) -> Line:
        place = f"line {entry.linenum}" + (f" (form {form})" if form is not None else "")
        if form is None:
            return Line(place, entry.msgid, entry.msgstr)
        done = entry.msgstr_plural.get(form, "")
        reason = (
            ""
            if 0 < forms <= _FORMS_HANDLED
            else (
                "plural forms are translated only where the header names the target language and at most "
                f"{_FORMS_HANDLED} forms: make the file with msginit, or translate the entry by hand"
            )
        )
        last = form == forms - 1
        return Line(place, entry.msgid_plural if last else entry.msgid, done, reason)

    def written(self, targets: Sequence[str], language: str) -> bytes:
        """Returns the catalog with `targets` as the translations, for a language."""
        catalog = self._read()
        catalog.metadata["Language"] = language
        catalog.metadata_is_fuzzy = False
        entries = [entry for entry in catalog if not entry.obsolete]
        slots = [slot for entry in entries for slot in self._slots_of(entry)]
        for (entry, form), target in zip(slots, targets, strict=True):
            if form is None:
                entry.msgstr = target
            else:
                entry.msgstr_plural[form] = target
        text = str(catalog)
        return self._source.encode(text if text.endswith("\n") else f"{text}\n")


def _plural_forms(catalog: Any, language: str) -> int:
    """Returns the number of plural forms if the catalog's header is one of `language`, else 0."""
    found = re.search(r"nplurals\s*=\s*(\d+)", catalog.metadata.get("Plural-Forms", ""))
    same = (
        catalog.metadata.get("Language", "").replace("_", "-").lower() == language.replace("_", "-").lower()
    )
    return int(found[1]) if found and same else 0
