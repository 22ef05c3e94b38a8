"""Dialogue in gettext's PO files: `msgstr` is filled; translations that there are already are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polib

from ...errors import ArgumentError
from .document import Line, Text, read_text

_FORMS_HANDLED = 2  # of plurals: what `msgid` and `msgid_plural` are
_FUZZY = "fuzzy"
_PLURALS = (
    "plural forms are translated only where the header names the target language and at most "
    f"{_FORMS_HANDLED} forms: make the file with msginit, or translate the entry by hand"
)


class Catalog:
    """A PO or POT file."""

    updates = True

    def __init__(self, path: Path, language: str) -> None:
        self._source = read_text(path)
        self._catalog = _read(path, self._source)
        if not self._catalog:
            raise ArgumentError(f"invalid file '{path}': expected a PO file with entries")
        self._language = language
        self._find_slots()

    def _find_slots(self) -> None:
        self._forms = _plural_forms(self._catalog, self._language)
        self._slots = [slot for entry in _current(self._catalog) for slot in self._slots_of(entry)]

    @property
    def lines(self) -> list[Line]:
        """The forms of all entries, without obsolete ones."""
        return [self._line(entry, form) for entry, form in self._slots]

    def update(self, target: Path) -> None:
        """Takes over the translations, comments and plural forms of a target that exists.

        Translations of entries that the source lacks become obsolete entries.
        """
        found = _read(target, read_text(target))
        if _plural_forms(found, self._language):
            self._catalog.metadata.update(found.metadata)
            self._find_slots()
        ours = {_key(entry): entry for entry in _current(self._catalog)}
        gone = {_key(entry) for entry in self._catalog if entry.obsolete}
        for theirs in found:
            entry = None if theirs.obsolete else ours.get(_key(theirs))
            if entry is not None:
                self._take(entry, theirs)
            elif _key(theirs) not in gone and (theirs.msgstr or any(theirs.msgstr_plural.values())):
                theirs.obsolete = True
                self._catalog.append(theirs)

    def _take(self, entry: Any, theirs: Any) -> None:
        entry.tcomment = entry.tcomment or theirs.tcomment
        if _FUZZY in theirs.flags:
            return
        if not entry.msgid_plural:
            done = bool(theirs.msgstr)
            entry.msgstr = theirs.msgstr or entry.msgstr
        else:
            done = any(theirs.msgstr_plural.values())
            entry.msgstr_plural.update({form: text for form, text in theirs.msgstr_plural.items() if text})
        if done and _FUZZY in entry.flags:
            entry.flags.remove(_FUZZY)

    def _slots_of(self, entry: Any) -> list[tuple[Any, int | None]]:
        if not entry.msgid_plural:
            return [(entry, None)]
        return [(entry, form) for form in (range(self._forms) or sorted(entry.msgstr_plural or (0, 1)))]

    def _line(self, entry: Any, form: int | None) -> Line:
        place = f"line {entry.linenum}" + (f" (form {form})" if form is not None else "")
        done = entry.msgstr if form is None else entry.msgstr_plural.get(form, "")
        if _FUZZY in entry.flags:
            done = ""
        if form is None:
            return Line(place, entry.msgid, done)
        reason = "" if 0 < self._forms <= _FORMS_HANDLED else _PLURALS
        last = form == self._forms - 1
        return Line(place, entry.msgid_plural if last else entry.msgid, done, reason)

    def written(self, targets: Sequence[str], language: str) -> bytes:
        """Returns the catalog with `targets` as the translations, for a language."""
        catalog = self._catalog
        catalog.metadata["Language"] = language
        catalog.metadata_is_fuzzy = False
        for (entry, form), target in zip(self._slots, targets, strict=True):
            if _FUZZY in entry.flags:
                if not target:
                    continue
                entry.flags.remove(_FUZZY)
            if form is None:
                entry.msgstr = target
            else:
                entry.msgstr_plural[form] = target
        for entry in {id(entry): entry for entry, form in self._slots if form is not None}.values():
            if self._forms:
                entry.msgstr_plural = {form: entry.msgstr_plural.get(form, "") for form in range(self._forms)}
        text = str(catalog).rstrip("\n") + "\n"
        return self._source.encode(text.replace("\n", "\r\n") if "\r\n" in self._source.text else text)


def _read(path: Path, source: Text) -> Any:
    try:
        return polib.pofile(source.text.replace("\r\n", "\n"), wrapwidth=0)
    except (OSError, ValueError, LookupError) as error:
        raise ArgumentError(f"invalid file '{path}': expected a PO file; {error}") from None


def _current(catalog: Any) -> Iterator[Any]:
    return (entry for entry in catalog if not entry.obsolete)


def _key(entry: Any) -> tuple[str | None, str, str]:
    return entry.msgctxt, entry.msgid, entry.msgid_plural


def _plural_forms(catalog: Any, language: str) -> int:
    """Returns the number of plural forms if the catalog's header is one of `language`, else 0."""
    found = re.search(r"nplurals\s*=\s*(\d{1,2})\b", catalog.metadata.get("Plural-Forms", ""))
    same = (
        catalog.metadata.get("Language", "").replace("_", "-").lower() == language.replace("_", "-").lower()
    )
    return int(found[1]) if found and same else 0
