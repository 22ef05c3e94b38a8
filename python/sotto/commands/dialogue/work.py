"""The translation of a file into one language."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path

from ..whole import write_whole
from .document import Document, Line
from .journal import Journal, key_of
from .rounds import Outcome, Rounds

_CHUNK = 64  # lines between two writes of the journal
Failed = list[tuple[Line, str]]  # lines that are not translated, and why


class Work:
    """Translates a document. `force`: also the lines that have a translation."""

    def __init__(self, document: Document, target: Path, language: str, *, force: bool) -> None:
        self._document, self._target, self._language, self._force = document, target, language, force

    def run(
        self, rounds: Rounds, settings: Mapping[str, object], report: Callable[[float], None]
    ) -> tuple[Failed, int]:
        """Translates what the journal lacks, and writes the file and the list of what failed.

        Args:
            rounds: Translates lines.
            settings: What the journal must have been written with to be used.
            report: Takes the fraction that is done.

        Returns:
            The lines that failed with the reasons, and the number of lines that were translated in parts.
        """
        journal = Journal(self._target.with_name(f".{self._target.name}.journal"), settings)
        done = False
        try:
            self._translate(rounds, journal, report)
            found = self._write(journal)
            done = True
        finally:
            journal.close(done=done)
        return found

    def _translate(self, rounds: Rounds, journal: Journal, report: Callable[[float], None]) -> None:
        wanted = dict.fromkeys(line.text for line in self._document.lines if self._is_translated(line))
        left = [text for text in wanted if key_of(text) not in journal.found]
        left.sort(key=len)  # lines of similar length make better batches
        for at in range(0, len(left), _CHUNK):
            report(1 - (len(left) - at) / len(wanted))
            chunk = left[at : at + _CHUNK]
            journal.add(zip(chunk, rounds.lines(chunk), strict=True))
        report(1.0)

    def _is_translated(self, line: Line) -> bool:
        return not line.reason and (self._force or not line.done)

    def _outcome(self, line: Line, journal: Journal) -> Outcome:
        if self._is_translated(line):
            return journal.found[key_of(line.text)]
        return Outcome(line.done, "" if line.done else line.reason)

    def _write(self, journal: Journal) -> tuple[Failed, int]:
        lines = self._document.lines
        outcomes = [self._outcome(line, journal) for line in lines]
        failed = [(line, one.reason) for line, one in zip(lines, outcomes, strict=True) if one.reason]
        listing = self._target.with_name(f"{self._target.name}.failed")
        if failed:
            write_whole(listing, _listing(failed))
        else:
            listing.unlink(missing_ok=True)
        write_whole(self._target, self._document.written([one.text for one in outcomes], self._language))
        return failed, sum(one.in_parts for one in outcomes)


def _listing(failed: Failed) -> bytes:
    """Returns the lines that were not translated, as CSV."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("place", "reason", "text"))
    writer.writerows((line.place, reason, line.text) for line, reason in failed)
    return out.getvalue().encode(errors="replace")
